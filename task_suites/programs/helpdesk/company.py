"""The company whose helpdesk it is: people, queues, tickets, replies, the same for everybody; plain data."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

EPOCH = datetime(2024, 3, 4, 9, 0, tzinfo=UTC)
AGENTS = ("maya", "jonas", "amara", "tomas", "ines", "ravi")
CUSTOMERS = ("ada", "boris", "chloe", "dmitri", "elena", "farid", "greta", "hugo", "iris", "jamal", "kira", "leon")
SUBJECTS = {
    "Accounts": ("Password reset for {x}", "Locked account on {x}", "New starter needs {x}", "Remove access to {x}"),
    "Hardware": ("{x} does not turn on", "Replace the {x}", "{x} makes a loud noise", "Order another {x}"),
    "Software": ("{x} crashes on start", "Licence for {x} expired", "Install {x}", "{x} shows a blank page"),
    "Network": ("No connection in {x}", "Slow network in {x}", "Guest access for {x}", "Phone line in {x} is dead"),
}
THINGS = {
    "Accounts": ("the payroll portal", "the wiki", "the shop back office", "the mail server", "the time sheet"),
    "Hardware": ("laptop", "label printer", "monitor", "scanner", "docking station", "projector"),
    "Software": ("the spreadsheet program", "the drawing program", "the VPN client", "the invoice program"),
    "Network": ("room 12", "the warehouse", "the front desk", "building C", "the meeting room"),
}
REPLIES = ("I will look at it.", "Asked for details.", "Ordered a part.")
ARTICLES = ("Reset a password", "Order hardware", "Connect to the VPN", "Report a lost phone", "Book a meeting room")


def tickets(count: int = 120) -> list[dict[str, Any]]:
    """All tickets: number, title, queue, opened, submitter, priority (1 is critical), owner, closed, replies."""
    draw, made = random.Random(20240304), list[dict[str, Any]]()
    for number in range(1, count + 1):
        queue = list(SUBJECTS)[number % len(SUBJECTS)]
        subject = draw.choice(SUBJECTS[queue]).format(x=draw.choice(THINGS[queue]))
        closed = draw.random() < 0.3
        made.append(
            {
                "number": number, "title": f"{subject[0].upper()}{subject[1:]} ({number:03})", "queue": queue,
                "opened": EPOCH + timedelta(minutes=37 * number), "priority": draw.randint(1, 5), "closed": closed,
                "submitter": f"{draw.choice(CUSTOMERS)}@example.org", "secret": f"{draw.getrandbits(64):016x}",
                "owner": draw.choice(AGENTS) if closed or draw.random() < 0.6 else None,
                "replies": [(draw.choice(AGENTS), draw.choice(REPLIES)) for _ in range(draw.randint(0, 2))],
            }
        )  # fmt: skip
    return made
