"""The shop's Django settings: Oscar's sandbox, without what the company does not use."""

import oscar
from common_settings import *  # noqa: F403
from common_settings import MIDDLEWARE, kept_in_files, templates
from oscar.defaults import *  # noqa: F403

globals().update(kept_in_files("shop"))
LANGUAGE_CODE, USE_I18N = "en-gb", False
INSTALLED_APPS = [*oscar.INSTALLED_APPS, "sorl.thumbnail"]
MIDDLEWARE = [*MIDDLEWARE, "oscar.apps.basket.middleware.BasketMiddleware"]
TEMPLATES = templates(
    "oscar.apps.search.context_processors.search_form", "oscar.apps.checkout.context_processors.checkout",
    "oscar.apps.communication.notifications.context_processors.notifications",
    "oscar.core.context_processors.metadata",
)  # fmt: skip
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}
AUTHENTICATION_BACKENDS = [
    "oscar.apps.customer.auth_backends.EmailBackend",
    "django.contrib.auth.backends.ModelBackend",
]
SITE_ID = 1
LOGIN_URL = "/accounts/login/"
SILENCED_SYSTEM_CHECKS = ["admin.E408"]

OSCAR_SHOP_NAME, OSCAR_SHOP_TAGLINE = "Lindqvist Office Goods", ""
OSCAR_DEFAULT_CURRENCY = "GBP"
OSCAR_MODERATE_REVIEWS, OSCAR_ALLOW_ANON_REVIEWS = True, False
OSCAR_INITIAL_ORDER_STATUS = OSCAR_INITIAL_LINE_STATUS = "Pending"
OSCAR_ORDER_STATUS_PIPELINE = {
    "Pending": ("Being processed", "Cancelled"), "Being processed": ("Shipped", "Cancelled"), "Shipped": ("Complete",),
    "Complete": (), "Cancelled": (),
}  # fmt: skip
OSCAR_DASHBOARD_ITEMS_PER_PAGE = 100
