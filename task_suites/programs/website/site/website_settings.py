"""The website's Django settings: those of Wagtail's own start project, without mail and a search index."""

import os

HERE, HOME = os.path.dirname(os.path.abspath(__file__)), "/var/lib/deskgym-website"
SECRET_KEY = os.environ["WEBSITE_SECRET"]
DEBUG, USE_TZ, TIME_ZONE, LANGUAGE_CODE, USE_I18N = False, True, "UTC", "en", False
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
ROOT_URLCONF = "addresses"
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
MIDDLEWARE = [
    "whitenoise.middleware.WhiteNoiseMiddleware", "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware", "django.contrib.messages.middleware.MessageMiddleware",
    "wagtail.contrib.redirects.middleware.RedirectMiddleware",
]  # fmt: skip
_PAGE = """<!DOCTYPE html><title>{{ page.title }}</title><h1>{{ page.title }}</h1>
<p>{{ page.specific.summary }}</p><p>{{ page.specific.body }}</p>
<ul>{% for child in page.get_children.live %}<li><a href="{{ child.url }}">{{ child }}</a></li>{% endfor %}</ul>"""
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "OPTIONS": {
            "loaders": [
                ("django.template.loaders.locmem.Loader", {"page.html": _PAGE}),
                "django.template.loaders.app_directories.Loader",
            ],
            "context_processors": [
                "django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]  # fmt: skip
DATABASES = {
    "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{HOME}/website.db", "OPTIONS": {"timeout": 20}}
}
CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}
SESSION_ENGINE = "django.contrib.sessions.backends.file"  # rolled back with the uploads: no login outlives its episode
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "website_session", "website_token"  # other applications are on the same host
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
MEDIA_ROOT = SESSION_FILE_PATH = f"{HOME}/episode"
MEDIA_URL, STATIC_URL, STATIC_ROOT = "/media/", "/static/", os.path.join(HERE, "static")
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
LOGIN_URL = "wagtailadmin_login"
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
LOGGING: dict = {}
WAGTAIL_SITE_NAME, WAGTAILADMIN_BASE_URL = "Lindqvist Office Goods", "http://127.0.0.1:8040"
WAGTAIL_ENABLE_UPDATE_CHECK = WAGTAIL_ENABLE_WHATS_NEW_BANNER = False
WAGTAILADMIN_COMMENTS_ENABLED = WAGTAIL_WORKFLOW_ENABLED = False
WAGTAILREDIRECTS_AUTO_CREATE = False
WAGTAIL_AUTOSAVE_INTERVAL = 0  # what is not saved is not kept
WAGTAILADMIN_UNSAFE_PAGE_DELETION_LIMIT = 1000
WAGTAILSEARCH_BACKENDS = {"default": {"BACKEND": "wagtail.search.backends.database", "AUTO_UPDATE": False}}
