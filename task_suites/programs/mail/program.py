"""The mail in Chromium."""

from __future__ import annotations

import secrets
from email.message import EmailMessage
from email.utils import format_datetime

from deskgym.envs.errors import SetupError
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs.company import entities
from deskgym.task_suites.programs.company.personas import enter
from deskgym.task_suites.programs.mail import letters
from deskgym.task_suites.programs.mail.service import BOXES, SERVICE


def open_(setup: Setup, page: str = "/?_task=mail", persona: str = letters.OWNER, shows: str = "table") -> None:
    """Open a page of the mail.

    Args:
        setup: the machine with the service ``mail`` beside it.
        page: its path with its query.
        persona: the user name of the employee who is logged in; Maya has a box.
        shows: role of an element that the page has once it is filled.

    Raises:
        SetupError: it did not come up.
    """
    enter(setup, SERVICE, persona, page, "*Lindqvist Office Goods*", shows)


def deliver(setup: Setup, name: str, address: str, subject: str, text: str) -> None:
    """Put a letter into Maya's inbox, as its newest, unread one; before the mail is opened.

    Args:
        setup: the machine with the service ``mail`` beside it.
        name: of the sender.
        address: of the sender.
        subject: of the letter.
        text: of the letter.
    """
    message = EmailMessage()
    message["From"] = f"{name} <{address}>"
    message["To"] = f"{entities.EMPLOYEES[letters.OWNER]} <{letters.OWNER}@{letters.DOMAIN}>"
    message["Subject"] = subject
    message["Date"] = format_datetime(letters.inbox()[-1]["sent"])
    message["Message-ID"] = f"<{secrets.token_hex(8)}@{letters.DOMAIN}>"
    message.set_content(text)
    file = f"{BOXES}/{letters.OWNER}/new/1.{secrets.token_hex(8)}.delivered"
    setup.companions[SERVICE.name].put(file, bytes(message), owner="guest", mode=0o644)


def remove(setup: Setup, id: str) -> None:
    """Take a letter out of Maya's inbox, before the mail is opened.

    Args:
        setup: the machine with the service ``mail`` beside it.
        id: of the letter, as ``mail.letter`` gives it.

    Raises:
        SetupError: it is not there.
    """
    companion = setup.companions[SERVICE.name]
    found = companion.run(["grep", "-rlF", f"Message-ID: {id}", f"{BOXES}/{letters.OWNER}"]).stdout.decode()
    if len(found.splitlines()) != 1 or companion.run(["rm", found.strip()]).returncode != 0:
        raise SetupError(f"mail.remove: {id}: {len(found.splitlines())} letters; legal is one of the inbox")
