"""Tryton as a WSGI application, with the same door as the company's other sites. Runs in the companion."""

import json
import os
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs

from trytond.application import app
from trytond.cache import Cache
from trytond.pool import Pool
from trytond.transaction import Transaction

DATABASE = "erp"
EPISODE = Path(os.environ["ERP_EPISODE"])  # rolled back, as sessions are with the database
PAGE = """<!DOCTYPE html><title>Tryton</title><script>
localStorage.setItem("sao_session_{database}", {session});
location.replace({page});
</script>"""


def application(environ, start_response):
    """Answer a request, or open the door."""
    path = environ.get("PATH_INFO", "")
    if path.startswith("/enter/"):
        return enter(path.split("/")[2], parse_qs(environ.get("QUERY_STRING", "")), environ, start_response)
    return app(environ, start_response)


def enter(token, query, environ, start_response):
    """Log in who is named in a token's file, once, and show a page; forget what an earlier episode has cached."""
    file = EPISODE / f"token-{token}"
    if not (token.isalnum() and file.is_file()):
        start_response(f"{HTTPStatus.FORBIDDEN.value} Forbidden", [("Content-Type", "text/plain")])
        return [b"wrong token"]
    name = file.read_text()
    file.unlink()
    Cache.drop(DATABASE)
    user, key = session_of(name, environ.get("REMOTE_ADDR"))
    page = query.get("to", ["/"])[0]
    where = page if page.startswith("/") and not page.startswith("//") else "/"
    stored = json.dumps({"login": name, "user_id": user, "bus_url_host": None})
    body = PAGE.format(database=DATABASE, session=json.dumps(stored), page=json.dumps(where).replace("<", "\\u003c"))
    cookie = f"tryton_session={name}:{user}:{key}; Path=/{DATABASE}; HttpOnly; SameSite=Strict"
    start_response(f"{HTTPStatus.OK.value} OK", [("Content-Type", "text/html"), ("Set-Cookie", cookie)])
    return [body.encode()]


def session_of(name, address):
    """A new session of a user: the user's number and the session's key."""
    with Transaction().start(DATABASE, 0):
        (user,) = Pool(DATABASE).get("res.user").search([("login", "=", name)])
    with Transaction().start(DATABASE, user.id, context={"_request": {"remote_addr": address}}):
        return user.id, Pool(DATABASE).get("ir.session").new()
