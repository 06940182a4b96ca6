"""Django settings that all sites of the company share; a site's own settings import them and add what it needs."""

import os

HERE = os.path.dirname(os.path.abspath(__file__))
DEBUG, USE_TZ, TIME_ZONE = False, True, "UTC"
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
ROOT_URLCONF = "addresses"
MIDDLEWARE = [
    "whitenoise.middleware.WhiteNoiseMiddleware", "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware", "django.contrib.messages.middleware.MessageMiddleware",
]  # fmt: skip
SESSION_ENGINE = "django.contrib.sessions.backends.file"  # rolled back with the uploads: no login outlives its episode
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
STATIC_URL, STATIC_ROOT = "/static/", os.path.join(HERE, "static")
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
LOGGING: dict = {}


def templates(*processors, **options):
    """``TEMPLATES`` with a site's own context processors beside the usual ones; ``options`` replace ``APP_DIRS``."""
    usual = (
        "django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
        "django.contrib.messages.context_processors.messages",
    )  # fmt: skip
    engine = {"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": not options}
    return [{**engine, "OPTIONS": {"context_processors": [*usual, *processors], **options}}]


def kept_in_files(name):
    """Settings of a site that ``company.django_sites`` describes: its secret, database, cookies, caches and uploads.

    Cookies have names of their own, since other applications are on the same host.
    """
    home = f"/var/lib/deskgym-{name}"
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{home}/{name}.db", "OPTIONS": {"timeout": 20}}
    return {
        "SECRET_KEY": os.environ[f"{name.upper()}_SECRET"],
        "DATABASES": {"default": database},
        "CACHES": {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}},
        "SESSION_COOKIE_NAME": f"{name}_session",
        "CSRF_COOKIE_NAME": f"{name}_token",
        "SESSION_FILE_PATH": f"{home}/episode",
        "MEDIA_ROOT": f"{home}/episode",
        "MEDIA_URL": "/media/",
    }
