"""Superset's settings: one process, nothing cached, no request leaves the machine, no login outlives its episode."""

from pathlib import Path

from flask import Flask, abort, redirect, request
from flask.sessions import SecureCookieSessionInterface
from flask_login import login_user
from sqlalchemy.engine.url import URL

HOME = Path("/var/lib/deskgym-superset")
SECRET_KEY = (HOME / "key").read_text()
SQLALCHEMY_DATABASE_URI = f"sqlite:///{HOME}/superset.db?timeout=20"
SQLALCHEMY_TRACK_MODIFICATIONS = False
UPLOAD_FOLDER = f"{HOME}/episode/uploads/"
FEATURE_FLAGS = {"THUMBNAILS": False, "ALERT_REPORTS": False, "DASHBOARD_CROSS_FILTERS": True}
WTF_CSRF_ENABLED = False
TALISMAN_ENABLED = False
COMPRESS_REGISTER = False  # packing the page's scripts again for each episode takes longer than sending them
RATELIMIT_ENABLED = False
STATS_LOGGER = __import__("superset.stats_logger", fromlist=["DummyStatsLogger"]).DummyStatsLogger()
LOG_LEVEL = "WARNING"
LANGUAGES: dict = {}
OVERRIDE_HTTP_HEADERS = {
    "Content-Security-Policy": "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'; form-action 'self'"
}


def DB_CONNECTION_MUTATOR(uri: URL, params: dict, *_: object) -> tuple[URL, dict]:  # noqa: N802 - Superset's name
    """Connect to PostgreSQL only: other dialects, such as ``shillelagh+safe``, read files or ask the net."""
    if uri.drivername not in ("postgresql", "postgresql+psycopg2"):
        raise PermissionError(f"{uri.drivername} cannot be connected here; postgresql can")
    return uri, params


def _episode() -> str:
    """What only this episode knows; it is rolled back with the other files."""
    return (HOME / "episode" / "secret").read_text()


class EpisodeSessions(SecureCookieSessionInterface):
    """Cookies that are signed for this episode."""

    def get_signing_serializer(self, app: Flask):
        """What signs, and refuses what it has not signed."""
        self.salt = f"cookie-session-{_episode()}"
        return super().get_signing_serializer(app)


def enter(token: str):
    """Log in the user whose name is in the token's file, once, and show a page."""
    from superset import security_manager

    key = HOME / "episode" / f"token-{token}"
    if not token.isalnum() or not key.is_file():
        abort(403)
    user = security_manager.find_user(username=key.read_text())
    key.unlink()
    login_user(user)
    return redirect(request.args.get("to", "/superset/welcome/"))


def FLASK_APP_MUTATOR(app: Flask) -> None:  # noqa: N802 - Superset's name
    """Sign cookies and tokens for the episode, and open the door for a task's setup."""
    from superset.extensions import appbuilder

    app.session_interface = EpisodeSessions()
    app.add_url_rule("/enter/<token>/", "enter", enter)
    tokens = appbuilder.sm.jwt_manager
    tokens.encode_key_loader(lambda identity: SECRET_KEY + _episode())
    tokens.decode_key_loader(lambda header, data: SECRET_KEY + _episode())
