"""The documentation as a site, by Sphinx: `make docs` builds it, `make test-browser` looks at it in a browser.

The theme is that of the NumPy family, and there is a page for each public name, as there. The pages are Markdown
(MyST), so that they can also be read where the sources are. Docstrings are Google style; site/docstrings.py makes of
them what napoleon understands. numpydoc itself reads docstrings of NumPy's style only, so all of them would have to be
written anew; what readers see is the same: parameters with their types, what is returned and raised, examples, links.
"""

import os
import sys
from pathlib import Path

import pipeline

sys.path.insert(0, str(Path(__file__).parent / "site"))

project = "queue-runner"
author = "the authors of queue-runner"
copyright = "the authors of queue-runner; Apache-2.0"
version = release = pipeline.__version__

extensions = [
    "docstrings",
    "compat_page",
    "elsewhere",
    "file_table",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["site"]
templates_path = ["site/templates"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4  # links to headings, as GitHub has them

add_module_names = False
napoleon_use_ivar = True
autodoc_mock_imports = ["jax", "keras", "ray", "torch"]  # large, and not needed to read docstrings
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_typehints_format = "short"
autoclass_content = "both"  # some classes describe their arguments in __init__
autodoc_member_order = "groupwise"
autodoc_default_options = {"members": True, "inherited-members": True}
autosummary_generate = True
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The address of the repository, which only the place that builds the site knows.
REPOSITORY = [
    {"name": "Repository", "url": url, "icon": "fa-brands fa-github"} for url in [os.environ.get("REPOSITORY_URL")] if url
]

html_theme = "pydata_sphinx_theme"
html_title = f"queue-runner {release}"
html_static_path = ["site/static"]
html_extra_path = ["site/extra"]  # llms.txt at the root of the site
html_favicon = "site/static/favicon.svg"
html_css_files = ["site.css"]
html_sidebars = {page: [] for page in ("index", "install", "quickstart", "how/index")}  # nothing is below them
html_copy_source = True  # llms.txt links to the Markdown
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "queue-runner"},
    "navbar_align": "left",
    "navbar_end": ["navbar-icon-links", "theme-switcher"],
    "icon_links": REPOSITORY,
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": False,
}

# Links to other sites, looked at by `make docs-links`.
linkcheck_timeout = 20
linkcheck_retries = 2
