"""The forum's Django settings: those of Spirit's own project, without mail, limits and caches in the database."""

from common_settings import *  # noqa: F403
from common_settings import MIDDLEWARE, kept_in_files, templates

globals().update(kept_in_files("forum"))
LANGUAGE_CODE, USE_I18N = "en", False
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
    *MIDDLEWARE, "spirit.user.middleware.TimezoneMiddleware", "spirit.user.middleware.ActiveUserMiddleware",
    "djconfig.middleware.DjConfigMiddleware",
]  # fmt: skip
TEMPLATES = templates(
    *(f"django.template.context_processors.{name}" for name in ("i18n", "media", "static", "tz")),
    "djconfig.context_processors.config",
)
CACHES = {name: {"BACKEND": "django.core.cache.backends.dummy.DummyCache"} for name in ("default", "st_rate_limit")}
STORAGES = {
    "default": {"BACKEND": "spirit.core.storage.OverwriteFileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
AUTHENTICATION_BACKENDS = ["spirit.user.auth.backends.UsernameAuthBackend", "django.contrib.auth.backends.ModelBackend"]
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}
LOGIN_URL, LOGIN_REDIRECT_URL, LOGOUT_REDIRECT_URL = "spirit:user:auth:login", "spirit:user:update", "spirit:index"
ST_RATELIMIT_ENABLE, ST_DOUBLE_POST_THRESHOLD_MINUTES, ST_ORDERED_CATEGORIES = False, 0, True
ST_SITE_URL = "http://127.0.0.1:8020/"
