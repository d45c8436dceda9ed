"""Print what pyproject.toml asks for, one requirement a line, for `make lock`."""

import tomllib
from pathlib import Path

document = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text("utf-8"))
wanted = (
    document["build-system"]["requires"] + document["project"]["dependencies"] + document["dependency-groups"]["dev"]
)
print("\n".join(wanted))
