"""Sphinx configuration: ``make docs`` builds with warnings as errors."""

from pathlib import Path

import pymc_mrf

project = "pymc-mrf"
version = release = pymc_mrf.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
templates_path = ["_templates"]
exclude_patterns = ["_build", "_results", "_templates"]

autosummary_generate = True
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

html_theme = "furo"
html_title = "pymc-mrf"

HERE = Path(__file__).parent


def include_fragment(app, docname, source):
    """Say which script writes a results fragment that is not there yet, instead of failing on it."""
    for name, script in RESULTS.items():
        directive = f"```{{include}} _results/{name}.md\n```"
        if not (HERE / "_results" / f"{name}.md").exists():
            source[0] = source[0].replace(directive, f"*Not generated yet: run `{script}`.*")


RESULTS = {
    "senate": "examples/liu_page_2013/senate.py",
    "stripped_beta_error": "examples/liu_page_2013/stripped_beta_error.py",
    "small_grid": "examples/liu_page_2013/small_grid.py",
    "tree": "examples/liu_page_2013/tree.py",
    "hierarchical_field": "examples/hierarchical_field.py",
    "benchmarks": "examples/cost_against_width.py",
}


def setup(app):
    """Register the hook."""
    app.connect("source-read", include_fragment)
