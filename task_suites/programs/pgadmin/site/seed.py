"""Makes pgAdmin's own data: a user who may query the warehouse, and little else."""

import json
import os
from pathlib import Path

HOME = Path("/var/lib/deskgym-pgadmin")
USER, PASSWORD = "analyst@example.org", "analyst"
SERVER = {
    "Name": "Warehouse", "Group": "Servers", "Host": "127.0.0.1", "Port": 5432, "MaintenanceDB": "warehouse",
    "Username": "analyst", "DBRestriction": "warehouse",
    "ConnectionParameters": {"sslmode": "disable", "connect_timeout": 10, "passfile": "/pgpass"},
}  # fmt: skip
PERMISSIONS = ("tools_query_tool", "tools_search_objects", "tools_grant_wizard", "storage_add_folder")
PREFERENCES = {
    ("dashboards", "show_graphs"): "False",  # graphs never rest
    ("dashboards", "show_activity"): "False",
    ("sqleditor", "connection_status"): "False",
    ("browser", "browser_tree_state_save_interval"): "-1",
    ("browser", "confirm_on_refresh_close"): "False",
    ("misc", "save_app_state"): "False",
    ("editor", "insert_pair_brackets"): "False",
}
"""By module and name. Every preference must be there: another version may have renamed it."""


def seed() -> None:
    """Make the database, the user with its role, the server and the preferences."""
    os.environ |= {"PGADMIN_SETUP_EMAIL": USER, "PGADMIN_SETUP_PASSWORD": PASSWORD}
    from pgadmin4.pgAdmin4 import app  # noqa: I001 - it makes the package pgadmin importable
    from pgadmin.model import ModulePreference, PreferenceCategory, Preferences, Role, User, UserPreference, db
    from pgadmin.utils import load_database_servers

    storage = HOME / "storage" / USER.replace("@", "_")
    storage.mkdir(parents=True)
    (storage / "pgpass").write_text("127.0.0.1:5432:*:analyst:analyst\n")
    (storage / "pgpass").chmod(0o600)
    listed = HOME / "servers.json"
    listed.write_text(json.dumps({"Servers": {"1": SERVER}}))
    with app.test_request_context():
        user = User.query.filter_by(username=USER).one()
        role = Role.query.filter_by(name="User").one()
        role.permissions = list(PERMISSIONS)
        user.roles = [role]
        for (module, name), value in PREFERENCES.items():
            found = (
                db.session.query(Preferences)
                .join(PreferenceCategory, Preferences.cid == PreferenceCategory.id)
                .join(ModulePreference, PreferenceCategory.mid == ModulePreference.id)
                .filter(ModulePreference.name == module, Preferences.name == name)
                .one()
            )
            db.session.add(UserPreference(pid=found.id, uid=user.id, value=value))
        db.session.commit()
        load_database_servers(str(listed), None, USER, True)
    listed.unlink()


if __name__ == "__main__":
    seed()
