"""The shop's Django settings: Oscar's sandbox, without what the company does not use."""

import os

import oscar
from oscar.defaults import *  # noqa: F403

HERE = os.path.dirname(os.path.abspath(__file__))
HOME = "/var/lib/deskgym-shop"
SECRET_KEY = os.environ["SHOP_SECRET"]
DEBUG, USE_TZ, TIME_ZONE, LANGUAGE_CODE, USE_I18N = False, True, "UTC", "en-gb", False
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
ROOT_URLCONF = "addresses"
INSTALLED_APPS = [*oscar.INSTALLED_APPS, "sorl.thumbnail"]
MIDDLEWARE = [
    "whitenoise.middleware.WhiteNoiseMiddleware", "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware", "django.contrib.messages.middleware.MessageMiddleware",
    "oscar.apps.basket.middleware.BasketMiddleware",
]  # fmt: skip
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "oscar.apps.search.context_processors.search_form", "oscar.apps.checkout.context_processors.checkout",
                "oscar.apps.communication.notifications.context_processors.notifications",
                "oscar.core.context_processors.metadata",
            ]
        },
    }
]  # fmt: skip
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{HOME}/shop.db", "OPTIONS": {"timeout": 20}}}
CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}
AUTHENTICATION_BACKENDS = [
    "oscar.apps.customer.auth_backends.EmailBackend",
    "django.contrib.auth.backends.ModelBackend",
]
SESSION_ENGINE = "django.contrib.sessions.backends.file"  # rolled back with the uploads: no login outlives its episode
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "shop_session", "shop_token"  # other applications are on the same host
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
MEDIA_ROOT = SESSION_FILE_PATH = f"{HOME}/episode"
MEDIA_URL, STATIC_URL, STATIC_ROOT = "/media/", "/static/", os.path.join(HERE, "static")
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
SITE_ID = 1
LOGIN_URL = "/accounts/login/"
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
SILENCED_SYSTEM_CHECKS = ["admin.E408"]
LOGGING: dict = {}

OSCAR_SHOP_NAME, OSCAR_SHOP_TAGLINE = "Lindqvist Office Goods", ""
OSCAR_DEFAULT_CURRENCY = "GBP"
OSCAR_MODERATE_REVIEWS, OSCAR_ALLOW_ANON_REVIEWS = True, False
OSCAR_INITIAL_ORDER_STATUS = OSCAR_INITIAL_LINE_STATUS = "Pending"
OSCAR_ORDER_STATUS_PIPELINE = {
    "Pending": ("Being processed", "Cancelled"), "Being processed": ("Shipped", "Cancelled"), "Shipped": ("Complete",),
    "Complete": (), "Cancelled": (),
}  # fmt: skip
OSCAR_DASHBOARD_ITEMS_PER_PAGE = 100
