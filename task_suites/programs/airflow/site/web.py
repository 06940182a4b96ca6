"""Airflow's web application, with a door that logs the task's persona in."""

import os
from pathlib import Path

from airflow.www.app import cached_app
from flask import abort, redirect, request
from flask_login import login_user

KEYS = Path(os.environ["AIRFLOW_KEYS"])
app = cached_app()


def enter(token: str):
    """Log in the persona whose name is in the token's file, once, and show a page."""
    key = KEYS / f"token-{token}" if token.isalnum() else KEYS
    try:
        user = app.appbuilder.sm.find_user(key.read_text())
        key.unlink()
    except OSError:
        abort(403)
    login_user(user)
    return redirect(request.args.get("to", "/home"))


@app.teardown_appcontext
def forget_session(_):
    """Airflow asks for rights with the session of its first request; its connection ends at the next roll-back."""
    vars(app.appbuilder.sm).pop("_auth_manager_is_authorized_map", None)


app.add_url_rule("/enter/<token>", "enter", enter)
