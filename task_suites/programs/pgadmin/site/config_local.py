"""pgAdmin's settings: one user, no utilities, no other servers, no request leaves the machine, no login is kept."""

import logging
from pathlib import Path

DATA_DIR = "/var/lib/deskgym-pgadmin"
SECRET_KEY = (Path(DATA_DIR) / "key").read_text()
SECURITY_PASSWORD_SALT = CSRF_SESSION_KEY = SECRET_KEY
LOG_FILE = "/dev/null"
CONSOLE_LOG_LEVEL = FILE_LOG_LEVEL = logging.ERROR
AUTHENTICATION_SOURCES = ["internal"]
MASTER_PASSWORD_REQUIRED = ALLOW_SAVE_PASSWORD = MFA_ENABLED = False
UPGRADE_CHECK_ENABLED = LLM_ENABLED = SHOW_GRAVATAR_IMAGE = SUPPORT_SSH_TUNNEL = AUTO_DISCOVER_SERVERS = False
ENABLE_PSQL = ENABLE_BINARY_PATH_BROWSING = ENABLE_SERVER_PASS_EXEC_CMD = False
ALLOWED_LLM_API_URLS: list = []
MAX_LOGIN_ATTEMPTS = 0
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = (
    "default-src 'self' ws: data: blob:; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; "
    "object-src 'none'; base-uri 'self'; form-action 'self';"
)
PGADMIN_SESSION_DISK_WRITE_DELAY = 0
