"""The documentation site, made of these pages, the README, the examples and the docstrings."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "docs" / "extensions"), str(ROOT / "src"), str(ROOT / "rules")]

import wengert  # noqa: E402 -- this checkout's

project = "wengert"
author = "the wengert developers"
version = release = wengert.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "docstrings",  # before napoleon, which reads what it writes
    "sphinx.ext.napoleon",
    "gallery",
    "names",
    "reference",
    "shown",
]
exclude_patterns = ["_templates", "extensions"]
templates_path = ["_templates"]
myst_heading_anchors = 3  # pages link to each other's headings, as on GitHub

smartquotes = False  # f'(z) is no quotation
default_role = "py:obj"
add_module_names = False
maximum_signature_line_length = 88
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_type_aliases = {name: name for name in ("Argnums", "Modes", "Schedule", "Update")}
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False

autosummary_filename_map = {  # file systems that ignore case take a class and its function for one file
    "wengert.Profile": "wengert.Profile-class",
    "wengert.tensor.Relation": "wengert.tensor.Relation-class",
}
napoleon_numpy_docstring = napoleon_use_rtype = False

html_theme = "furo"
html_title = "wengert"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = html_show_copyright = False
pygments_style, pygments_dark_style = "friendly", "monokai"
