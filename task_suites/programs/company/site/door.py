"""A Django site's door for tasks: it logs the persona in whose name a token's file has, once. Runs in the companion."""

from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model, login
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.shortcuts import redirect
from django.urls import path


def enter(request: HttpRequest, token: str) -> HttpResponse:
    """Log in, and show a page of the site's own."""
    key, page = Path(settings.SESSION_FILE_PATH, f"token-{token}"), request.GET.get("to", "/")
    try:
        user = get_user_model().objects.get(username=key.read_text())
        key.unlink()
    except FileNotFoundError:
        return HttpResponseForbidden("wrong token")
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    return redirect(page if page.startswith("/") and not page.startswith("//") else "/")


DOOR = path("enter/<slug:token>/", enter)
