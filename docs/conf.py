"""Sphinx's settings: ``make docs`` builds the site into build/docs. Nothing is fetched from a network."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import kernline
from tools import site_pages

project = "Kernline"
author = "the Kernline developers"
project_copyright = author
version = release = kernline.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
]
exclude_patterns = ["_templates"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

# Markdown: links to headings, and to other pages by their file names.
myst_enable_extensions = ["deflist", "fieldlist"]
myst_heading_anchors = 3

# The reference: one page per public name, signatures without types, which the text explains.
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
suppress_warnings = ["myst.header"]  # measured pages begin with small headings
default_role = "py:obj"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
toc_object_entries_show_parents = "hide"  # `fit` instead of `AdditiveSVC.fit`, which is too wide for its column

html_theme = "pydata_sphinx_theme"
html_title = f"Kernline {version}"
html_static_path = ["_static"]
html_css_files = ["narrow.css"]
html_context = {"default_mode": "auto"}
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "start": [], "choosing": [], "coming-from": [], "faq": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app: object) -> None:
    """Add pages that come from other files."""
    site_pages.connect(app)
