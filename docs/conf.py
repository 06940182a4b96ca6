"""The site of these pages: ``make docs`` builds it into ``out/docs``; every warning, a dead link too, is an error."""

from deskgym import __version__

project, author, release = "deskgym", "the deskgym developers", __version__
extensions = [
    "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "sphinx_copybutton",
    "sphinx_design",
]  # fmt: skip
html_theme, html_title, html_static_path = "furo", f"deskgym {release}", []
html_copy_source = False

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
copybutton_exclude = ".linenos, .gp"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True}
# Libraries that a page of the reference only mentions: the site is built without them.
autodoc_mock_imports = [
    "datasets", "fastapi", "mcp", "openenv", "pydantic", "sb3_contrib", "stable_baselines3", "torch",
    "transformers", "trl", "websockets",
]  # fmt: skip
napoleon_google_docstring, napoleon_numpy_docstring, napoleon_use_ivar = True, False, True
