"""The helpdesk's addresses: django-helpdesk's own, and a door that logs the task's persona in."""

from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model, login
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.shortcuts import redirect
from django.urls import include, path


def enter(request: HttpRequest, token: str) -> HttpResponse:
    """Log in the persona whose name is in the token's file, once, and show a page."""
    key = Path(settings.MEDIA_ROOT, f"token-{token}")
    try:
        user = get_user_model().objects.get(username=key.read_text())
        key.unlink()
    except FileNotFoundError:
        return HttpResponseForbidden("wrong token")
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    return redirect(request.GET.get("to", "/tickets/"))


admin = ([path("<object_id>/", lambda *_, **__: HttpResponseForbidden(), name="auth_user_change")], "admin")
urlpatterns = [
    path("people/", include(admin)),  # a ticket that an agent opened links there; nobody may enter
    path("enter/<slug:token>/", enter),
    path("", include("helpdesk.urls", namespace="helpdesk")),
]
