"""The shop's addresses: Oscar's own, and the door."""

from django.apps import apps
from django.urls import include, path
from door import DOOR

urlpatterns = [
    DOOR,
    path("i18n/", include("django.conf.urls.i18n")),
    path("", include(apps.get_app_config("oscar").urls[0])),
]
