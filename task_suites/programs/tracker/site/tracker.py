"""Trac as a WSGI application whose people are known by a session, with the same door as the company's Django sites."""

import os
import secrets
from http import HTTPStatus
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs

from trac.env import env_cache, env_cache_lock
from trac.web.main import dispatch_request

EPISODE = Path(os.environ["TRACKER_EPISODE"])  # rolled back: no login outlives its episode
SESSION = "persona"


def application(environ, start_response):
    """Answer a request in the name of its session's person."""
    path = environ.get("PATH_INFO", "")
    if path.startswith("/enter/"):
        return enter(path.split("/")[2], parse_qs(environ.get("QUERY_STRING", "")), start_response)
    environ.pop("REMOTE_USER", None)
    cookie = SimpleCookie(environ.get("HTTP_COOKIE", "")).get(SESSION)
    name = read("session", cookie.value) if cookie else None
    if name:
        environ["REMOTE_USER"] = name
    return dispatch_request(environ, start_response)


def enter(token, query, start_response):
    """Log in who is named in a token's file, once, and show a page; forget what an earlier episode has cached."""
    name = read("token", token)
    if name is None:
        start_response(f"{HTTPStatus.FORBIDDEN.value} Forbidden", [("Content-Type", "text/plain")])
        return [b"wrong token"]
    (EPISODE / f"token-{token}").unlink()
    with env_cache_lock:
        for env in env_cache.values():
            env.shutdown()
        env_cache.clear()
    session, page = secrets.token_hex(16), query.get("to", ["/wiki"])[0]
    (EPISODE / f"session-{session}").write_text(name)
    where = page if page.startswith("/") and not page.startswith("//") else "/wiki"
    cookie = f"{SESSION}={session}; Path=/; HttpOnly; SameSite=Lax"
    start_response(f"{HTTPStatus.FOUND.value} Found", [("Location", where), ("Set-Cookie", cookie)])
    return [b""]


def read(kind, key):
    """What a file of the episode has, or None."""
    file = EPISODE / f"{kind}-{key}"
    return file.read_text() if key.isalnum() and file.is_file() else None
