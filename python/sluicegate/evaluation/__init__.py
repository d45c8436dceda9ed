"""The suite of an RFC, run on any discipline: `suite` has its building blocks, `rfc7928` its scenarios, `metrics` what
is measured in a run; `evaluate` runs it, `outcome` is what came of it, and `report` writes the page."""
