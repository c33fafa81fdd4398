"""The site: `make docs`. Pages are Markdown; the API comes from docstrings, the gallery from examples/."""

import inspect
import os
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tools"))
os.environ.setdefault("MPLBACKEND", "Agg")

import changelog  # noqa: E402

BUILD = HERE.parent / "build"
BUILD.mkdir(exist_ok=True)
released = changelog.PAGE.read_text("utf-8").removeprefix(changelog.TOP)
BUILD.joinpath("changes.md").write_text(changelog.section("Unreleased") + released, "utf-8")

project = "sparsepath"
author = "The sparsepath developers"
copyright = "The sparsepath developers, BSD-3-Clause"
release = version = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"][
    "version"
]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "reference_texts",
]
exclude_patterns = ["gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.md5"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
smartquotes_action = "q"  # an option is --groups, not a dash
suppress_warnings = ["config.cache"]
templates_path = ["_templates"]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"messy_tables\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "min_reported_time": 1000,
    "show_memory": False,
    "capture_repr": (
        "_repr_html_",
    ),  # what is printed and what is a table, not what a call returns
    "write_computation_times": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "image_scrapers": ("matplotlib", "path_figures"),
}

html_theme = "pydata_sphinx_theme"
html_title = "sparsepath"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
# Pages without a section of their own need no navigation beside them.
html_sidebars = {
    page: []
    for page in (
        "index",
        "start",
        "honest-error",
        "path",
        "tables",
        "cli",
        "deploy",
        "reading-the-page",
        "common-mistakes",
        "coming-from",
        "notation",
        "glossary",
        "references",
        "support",
        "changelog",
    )
}
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_nav_level": 1,
}


def class_signature(app, what, name, obj, options, signature, returns):
    """Return the parameters of a class whose ``__new__`` takes any."""
    if what != "class" or not signature or not signature.startswith("(*_"):
        return None
    own = inspect.signature(obj)
    plain = [one.replace(annotation=one.empty) for one in own.parameters.values()]
    return str(own.replace(parameters=plain, return_annotation=own.empty)), returns


def setup(app):
    app.connect("autodoc-process-signature", class_signature)
