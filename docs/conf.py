# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx configuration: builds without network; see `make docs`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import accsmbo

project = "accsmbo"
author = "accsmbo developers"
project_copyright = author
version = release = accsmbo.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "generated_pages",
    "mathml",
    "references",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "auto_examples/**/*.ipynb", "examples/**"]
default_role = "literal"
nitpicky = True

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
toc_object_entries_show_parents = "hide"

copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "doc_module": ("accsmbo",),
    "backreferences_dir": "generated/backreferences",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "matplotlib_animations": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"accsmbo {release}"
html_static_path = ["_static"]
html_css_files = ["accsmbo.css"]
html_show_sourcelink = False
html_math_renderer = "mathml"
# Pages without others beside them, and the reference, where a list would be endless.
html_sidebars = {
    "coming_from": [],
    "api": [],
    "generated/*": [],
    "how_to_choose": [],
    "install": [],
    "quick_start": [],
}
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
