"""The helpdesk's Django settings."""

import os

SECRET_KEY = os.environ["HELPDESK_SECRET"]
DEBUG, USE_TZ, TIME_ZONE, LANGUAGE_CODE, USE_I18N = False, True, "UTC", "en-us", True
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
ROOT_URLCONF = "addresses"
INSTALLED_APPS = [
    "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.messages",
    "django.contrib.staticfiles", "django.contrib.sites", "django.contrib.humanize", "django.contrib.admin",
    "rest_framework", "helpdesk",
]  # fmt: skip
MIDDLEWARE = [
    "whitenoise.middleware.WhiteNoiseMiddleware", "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware", "django.contrib.messages.middleware.MessageMiddleware",
]  # fmt: skip
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]  # fmt: skip
        },
    }
]
DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "helpdesk", "HOST": os.environ["PGHOST"]}}
SESSION_ENGINE = "django.contrib.sessions.backends.file"  # rolled back with the uploads: no login outlives its episode
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
STATIC_URL, STATIC_ROOT = "/static/", os.path.join(os.path.dirname(os.path.abspath(__file__)), "static")
MEDIA_ROOT = SESSION_FILE_PATH = "/var/lib/deskgym-helpdesk"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
SITE_ID = 1
LOGIN_URL, LOGIN_REDIRECT_URL = "/login/", "/tickets/"
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
SILENCED_SYSTEM_CHECKS = ["admin.E408"]
HELPDESK_TEAMS_MODE_ENABLED = False
HELPDESK_API_ENABLED = False
HELPDESK_REDIRECT_TO_LOGIN_BY_DEFAULT = True
HELPDESK_KANBAN_ENABLED = False
LOGGING: dict = {}
