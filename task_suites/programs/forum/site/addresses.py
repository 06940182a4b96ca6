"""The forum's addresses: Spirit's own, and the door."""

from django.urls import include, path
from door import DOOR

urlpatterns = [DOOR, path("", include("spirit.urls"))]
