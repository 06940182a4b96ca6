"""The helpdesk's Django settings."""

import os

from common_settings import *  # noqa: F403
from common_settings import templates

SECRET_KEY = os.environ["HELPDESK_SECRET"]
LANGUAGE_CODE, USE_I18N = "en-us", True
INSTALLED_APPS = [
    "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.messages",
    "django.contrib.staticfiles", "django.contrib.sites", "django.contrib.humanize", "django.contrib.admin",
    "rest_framework", "helpdesk",
]  # fmt: skip
TEMPLATES = templates()
DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "helpdesk", "HOST": os.environ["PGHOST"]}}
MEDIA_ROOT = SESSION_FILE_PATH = "/var/lib/deskgym-helpdesk"
SITE_ID = 1
LOGIN_URL, LOGIN_REDIRECT_URL = "/login/", "/tickets/"
SILENCED_SYSTEM_CHECKS = ["admin.E408"]
HELPDESK_TEAMS_MODE_ENABLED = False
HELPDESK_API_ENABLED = False
HELPDESK_REDIRECT_TO_LOGIN_BY_DEFAULT = True
HELPDESK_KANBAN_ENABLED = False
