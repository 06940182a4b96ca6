"""The helpdesk's addresses: django-helpdesk's own, and a door that logs the task's persona in."""

import hashlib
import hmac
import os

from django.contrib.auth import get_user_model, login
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.shortcuts import redirect
from django.urls import include, path


def enter(request: HttpRequest, name: str, token: str) -> HttpResponse:
    """Log in who comes with the right token for a name, and show a page."""
    right = hmac.new(os.environ["HELPDESK_SECRET"].encode(), name.encode(), hashlib.sha256).hexdigest()
    if not hmac.compare_digest(right, token):
        return HttpResponseForbidden("wrong token")
    user = get_user_model().objects.get(username=name)
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    return redirect(request.GET.get("to", "/tickets/"))


admin = ([path("<object_id>/", lambda *_, **__: HttpResponseForbidden(), name="auth_user_change")], "admin")
urlpatterns = [
    path("people/", include(admin)),  # a ticket that an agent opened links there; nobody may enter
    path("enter/<str:name>/<str:token>/", enter),
    path("", include("helpdesk.urls", namespace="helpdesk")),
]
