"""Sphinx configuration: ``make docs`` builds with warnings as errors."""

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
