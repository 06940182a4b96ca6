"""What has changed in the mail: letters, folders, and what was sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import ServiceError
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction, Outcome, Start, with_baseline
from deskgym.envs.evaluation.readers.changed_rows import NOW, Change, changed_rows, judge_changes
from deskgym.envs.evaluation.readers.databases import Contents
from deskgym.envs.evaluation.readers.tables import find_companion
from deskgym.task_suites.programs.mail.service import STATE

KEYS = {"letters": ["box", "id"], "folders": ["box", "name"], "outgoing": ["id"]}
"""The tables of the mail's state, and what tells their rows apart."""


def _read(start: Start) -> Contents:
    companion = find_companion(start, "mail")
    done = companion.run(STATE)
    if done.returncode != 0:
        raise CheckFailed(f"mail: {done.stderr.decode(errors='replace').strip()[-300:] or 'its state cannot be read'}")
    rows: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    return {name: {"key": KEYS[name], "rows": rows[name]} for name in KEYS}


@with_baseline(lambda start, **_: {"mail": _read(start)})
def diff(final: FinalState, changes: list[Change], ignore: list[str] | None = None) -> Outcome:
    """Since the setup, just this has changed in the mail: too much fails, and so does twice.

    The tables are ``letters`` (``box``, ``folder``, ``id``, ``sender``, ``to``, ``cc``, ``subject``, ``text``,
    ``original``, which is what a forwarded letter has below the text, ``attachments``, ``extras`` such as
    ``X-Priority``, ``flagged``, ``answered``, ``draft``, ``deleted``, ``keywords`` such as ``$Forwarded``,
    ``received``: to whom it went, and ``reply_to``: the ``id`` that it answers), ``folders`` (``box``, ``name``,
    ``listed``) and ``outgoing``, which has a letter's columns without box, folder and marks. Addresses stand in the
    alphabet's order, with commas between them. The copy of a sent letter in "Sent" is no change of its own.

    Args:
        final: the final state.
        changes: as in ``sql.diff``.
        ignore: names of tables that do not matter, and of columns with their tables.

    Example:
        ```yaml
        - mail.diff:
            changes:
              - {update: letters, where: {id: <inbox-7@lindqvist.example>}, row: {folder: Orders}}
              - {insert: outgoing, row: {received: ada@example.org, text: It is on its way.}}
        ```
    """
    base: Contents = final.baseline("mail")
    try:
        now = final.read_once(f"{NOW}mail", lambda _: _read(final))
    except (ValueError, ServiceError) as error:  # it could be read at the start
        raise CheckFailed(f"mail: {error}") from None
    ignored = ignore or []
    kept, found = ({name: tables[name] for name in KEYS if name not in ignored} for tables in (base, now))
    return judge_changes("mail", changed_rows(kept, found, ignored), changes, ignored)


CHECKS: Mapping[str, CheckFunction] = {"mail.diff": diff}
