"""The forum's Django settings: those of Spirit's own project, without mail, limits and caches in the database."""

import os

HERE, HOME = os.path.dirname(os.path.abspath(__file__)), "/var/lib/deskgym-forum"
SECRET_KEY = os.environ["FORUM_SECRET"]
DEBUG, USE_TZ, TIME_ZONE, LANGUAGE_CODE, USE_I18N = False, True, "UTC", "en", False
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
ROOT_URLCONF = "addresses"
INSTALLED_APPS = [
    *(f"django.contrib.{name}" for name in ("auth", "contenttypes", "sessions", "messages", "staticfiles", "humanize")),
    *(
        f"spirit.{name}"
        for name in (
            "core", "admin", "search", "user", "user.admin", "user.auth", "category", "category.admin", "topic",
            "topic.admin", "topic.favorite", "topic.moderate", "topic.notification", "topic.private", "topic.unread",
            "comment", "comment.bookmark", "comment.flag", "comment.flag.admin", "comment.history", "comment.like",
            "comment.poll",
        )
    ),
    "djconfig", "haystack",
]  # fmt: skip
MIDDLEWARE = [
    "whitenoise.middleware.WhiteNoiseMiddleware", "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware", "django.contrib.messages.middleware.MessageMiddleware",
    "spirit.user.middleware.TimezoneMiddleware", "spirit.user.middleware.ActiveUserMiddleware",
    "djconfig.middleware.DjConfigMiddleware",
]  # fmt: skip
NAMES = ("i18n", "media", "static", "tz", "request")
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                *(f"django.template.context_processors.{name}" for name in NAMES),
                "django.contrib.auth.context_processors.auth", "django.contrib.messages.context_processors.messages",
                "djconfig.context_processors.config",
            ]
        },
    }
]  # fmt: skip
DATABASES = {
    "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{HOME}/forum.db", "OPTIONS": {"timeout": 20}}
}
CACHES = {name: {"BACKEND": "django.core.cache.backends.dummy.DummyCache"} for name in ("default", "st_rate_limit")}
STORAGES = {
    "default": {"BACKEND": "spirit.core.storage.OverwriteFileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
AUTHENTICATION_BACKENDS = ["spirit.user.auth.backends.UsernameAuthBackend", "django.contrib.auth.backends.ModelBackend"]
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}
SESSION_ENGINE = "django.contrib.sessions.backends.file"  # rolled back with the uploads: no login outlives its episode
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "forum_session", "forum_token"  # other applications are on the same host
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
MEDIA_ROOT = SESSION_FILE_PATH = f"{HOME}/episode"
MEDIA_URL, STATIC_URL, STATIC_ROOT = "/media/", "/static/", os.path.join(HERE, "static")
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
LOGIN_URL, LOGIN_REDIRECT_URL, LOGOUT_REDIRECT_URL = "spirit:user:auth:login", "spirit:user:update", "spirit:index"
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
LOGGING: dict = {}
ST_RATELIMIT_ENABLE, ST_DOUBLE_POST_THRESHOLD_MINUTES, ST_ORDERED_CATEGORIES = False, 0, True
ST_SITE_URL = "http://127.0.0.1:8020/"
