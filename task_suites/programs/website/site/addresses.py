"""The website's addresses: Wagtail's own, and the door."""

from django.urls import include, path
from door import DOOR
from wagtail import urls as wagtail_urls
from wagtail.admin import urls as wagtailadmin_urls

urlpatterns = [DOOR, path("admin/", include(wagtailadmin_urls)), path("", include(wagtail_urls))]
