"""pgAdmin as a WSGI application, with a door for a task's setup."""

import json  # noqa: I001
from pathlib import Path
from urllib.parse import quote

from flask import abort, redirect, request, session
from flask_login import current_user
from flask_security import login_user
from pgadmin4.pgAdmin4 import app  # first: it makes the package pgadmin importable
from pgadmin.model import User
from pgadmin.utils.csrf import pgCSRFProtect
from pgadmin.utils.master_password import set_crypt_key
from pgadmin.utils.security_headers import SecurityHeaders

from seed import PASSWORD, SERVER, USER

EPISODE = Path("/var/lib/deskgym-pgadmin/episode")
GROUP = SERVER_ID = 1
WORKSHEET = 4_000_001
"""The number that the first worksheet of a session has."""

OPEN = """(function open() {
  const browser = window.pgAdmin && window.pgAdmin.Browser;
  const there = browser && browser.getDockerHandler && browser.docker.default_workspace && browser.tree;
  if (!there) return setTimeout(open, 50);
  browser.Events.trigger("pgadmin:tool:show", ...CALL);
})();"""
"""What a click on "Query Tool" does, once pgAdmin is there."""


@app.get("/enter/<token>/")
@pgCSRFProtect.exempt
def enter(token: str):
    """Log in the user with a token of the setup's, once, and show a page. Sessions before it are worth nothing."""
    key = EPISODE / f"token-{token}"
    if not token.isalnum() or not key.is_file():
        abort(403)
    key.unlink()
    app.session_interface.manager._cache.clear()
    user = User.query.filter_by(username=USER).first()
    login_user(user)
    session["auth_source_manager"] = {
        "source_friendly_name": "internal", "auth_sources": ["internal"], "current_source": "internal",
    }  # fmt: skip
    set_crypt_key(PASSWORD)
    return redirect(request.args.get("to", "/browser/"))


@app.get("/worksheet/")
@pgCSRFProtect.exempt
def worksheet():
    """The page of pgAdmin, with the Query Tool open on the warehouse, as if somebody had opened it from the tree."""
    if not current_user.is_authenticated:
        return redirect("/login")
    number, database = int(request.args["did"]), request.args["database"]
    title = f"{database}/{SERVER['Username']}@{SERVER['Name']}"
    address = (
        f"/sqleditor/panel/{WORKSHEET}?is_query_tool=true&sgid={GROUP}&sid={SERVER_ID}&server_type=pg"
        f"&did={number}&database_name={quote(database)}"
    )
    tab = {"title": title, "icon": "pg-font-icon icon-query-tool", "tooltip": title, "renamable": True}
    call = [f"id-query-tool_{WORKSHEET}", address, {"title": title, "selectedNodeInfo": "null"}, tab, False]
    page = app.make_response(app.view_functions["browser.index"]())
    script = OPEN.replace("CALL", json.dumps(call)).replace("<", "\\u003c")
    nonce = SecurityHeaders.get_nonce()
    page.set_data(page.get_data(as_text=True).replace("</body>", f'<script nonce="{nonce}">{script}</script></body>'))
    return page
