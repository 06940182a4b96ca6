"""The website's Django settings: those of Wagtail's own start project, without mail and a search index."""

from common_settings import *  # noqa: F403
from common_settings import MIDDLEWARE, kept_in_files, templates

globals().update(kept_in_files("website"))
LANGUAGE_CODE, USE_I18N = "en", False
INSTALLED_APPS = [
    "pages",
    *(
        f"wagtail.{name}"
        for name in (
            "contrib.redirects", "embeds", "sites", "users", "snippets", "documents", "images", "search", "admin",
        )
    ),
    "wagtail", "modelcluster", "taggit", "django_filters",
    *(f"django.contrib.{name}" for name in ("auth", "contenttypes", "sessions", "messages", "staticfiles")),
]  # fmt: skip
MIDDLEWARE = [*MIDDLEWARE, "wagtail.contrib.redirects.middleware.RedirectMiddleware"]
_PAGE = """<!DOCTYPE html><title>{{ page.title }}</title><h1>{{ page.title }}</h1>
<p>{{ page.specific.summary }}</p><p>{{ page.specific.body }}</p>
<ul>{% for child in page.get_children.live %}<li><a href="{{ child.url }}">{{ child }}</a></li>{% endfor %}</ul>"""
TEMPLATES = templates(
    loaders=[
        ("django.template.loaders.locmem.Loader", {"page.html": _PAGE}),
        "django.template.loaders.app_directories.Loader",
    ]
)
LOGIN_URL = "wagtailadmin_login"
WAGTAIL_SITE_NAME, WAGTAILADMIN_BASE_URL = "Lindqvist Office Goods", "http://127.0.0.1:8040"
WAGTAIL_ENABLE_UPDATE_CHECK = WAGTAIL_ENABLE_WHATS_NEW_BANNER = False
WAGTAILADMIN_COMMENTS_ENABLED = WAGTAIL_WORKFLOW_ENABLED = False
WAGTAILREDIRECTS_AUTO_CREATE = False
WAGTAIL_AUTOSAVE_INTERVAL = 0  # what is not saved is not kept
WAGTAILADMIN_UNSAFE_PAGE_DELETION_LIMIT = 1000
WAGTAILSEARCH_BACKENDS = {"default": {"BACKEND": "wagtail.search.backends.database", "AUTO_UPDATE": False}}
