"""Sphinx's settings for the manual. `make docs` builds it into out/docs; a warning is an error."""

import gc
import logging
import os
import re
import tomllib
from pathlib import Path

from pygments.lexers.shell import BashSessionLexer
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]

# Looking through the trees of all pages again and again took a seventh of the time.
gc.set_threshold(50_000, 20, 100)

project = "Sluicegate"
version = release = tomllib.loads(ROOT.joinpath("Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"]
copyright = "The Sluicegate developers. MIT licence."
language = "en-GB"
smartquotes = False  # quotes and dashes are what is typed: --set, "20 ms"

extensions = ["myst_nb", "sphinx_copybutton"]
exclude_patterns = ["_build", "examples"]
nitpicky = True

myst_heading_anchors = 4
highlight_language = "text"

# Notebooks are kept without outputs and run from top to bottom for each build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 100
nb_merge_streams = True
# They see none of the user's own settings, and say nothing of sockets that only this machine reaches.
profile = ROOT / "out/ipython/profile_default"
profile.mkdir(parents=True, exist_ok=True)
profile.joinpath("ipython_kernel_config.py").write_text("c = get_config()\nc.IPKernelApp.log_level = 40\n", "utf-8")
os.environ["IPYTHONDIR"] = str(profile.parent)
logging.getLogger("traitlets").setLevel(logging.WARNING)

copybutton_prompt_text = "$ "

html_theme = "furo"
html_title = f"Sluicegate {version}"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_copy_source = False
html_show_sourcelink = False
# The summaries would be fetched page by page, which browsers refuse for files: search must work without a server.
html_show_search_summary = False


class Session(BashSessionLexer):
    """A console block: only `$ ` is a prompt. Printed lines may begin with `#`, such as remarks of `sluicegate tc`."""

    _ps1rgx = re.compile(r"^(\$ )(.*\n?)")


def setup(app: Sphinx) -> None:
    app.add_lexer("console", Session)
    app.add_lexer("mermaid", TextLexer)  # forges draw it; here it stays the list of arrows that it is
