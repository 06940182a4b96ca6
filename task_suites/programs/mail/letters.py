"""The letters and contacts of the company's mail, the same for everybody: plain data."""

import random
from datetime import timedelta
from typing import Any

from deskgym.task_suites.programs.company import entities as company
from deskgym.task_suites.programs.erp import trade

DOMAIN = "lindqvist.example"
OWNER = "maya"
FOLDERS = ("Orders", "Suppliers", "Staff")
FILED = 6
"""Letters in each folder."""

_ORDER = (
    ("when does it come?", "I have not heard of my order {n} since I placed it. When does it come?"),
    ("please cancel it", "I have found the same thing elsewhere. Please cancel my order {n}."),
    ("a part is missing", "The box of my order {n} was open, and a part is missing. Can you send it?"),
    ("another address", "I am moving. Can my order {n} go to {x}?"),
)  # fmt: skip
_STAFF = (
    ("Holiday list", "Please write your weeks into the list until Friday."),
    ("Minutes of Monday", "We agreed to look at the prices of the desks again."),
    ("New label printer", "It stands beside the door and is called Ember."),
    ("Lunch", "There is a table for six at noon."),
    ("Stocktaking", "We count the chairs on the 28th."),
)  # fmt: skip
_JUNK = ("You have won", "Cheap watches", "Your parcel is on hold", "A loan in one day")
_GREETING = "Dear Maya,\n\n{text}\n\nBest wishes,\n{name}\n"


def address_of(supplier: str) -> str:
    """Where a supplier is written to."""
    return f"orders@{supplier.lower().replace(' & ', '-').replace(' ', '-')}.example"


def inbox() -> list[dict[str, Any]]:
    """All letters in the inbox: number, kind, name, address, subject, text, sent; and what some kinds are about.

    One about an order has ``order``; one with an invoice ``goods`` and ``carriage``, in pence.
    """
    draw = random.Random(8060)
    found = [
        *_about_orders(draw, draw.sample(company.orders(), 24)),
        *_invoices(draw, 14, "A"),
        *_of_staff(draw, 10, "Maya"),
        *_junk(draw, 12),
    ]
    draw.shuffle(found)
    return [
        {"number": number, "sent": company.EPOCH + timedelta(minutes=431 * number), **letter}
        for number, letter in enumerate(found, 1)
    ]


def filed() -> list[dict[str, Any]]:
    """What lies in the folders already: as in ``inbox``, with ``folder``; older."""
    draw = random.Random(8061)
    known = {letter["order"] for letter in inbox() if "order" in letter}
    others = [order for order in company.orders() if order["number"] not in known]
    found = {
        "Orders": _about_orders(draw, draw.sample(others, FILED)),
        "Suppliers": _invoices(draw, FILED, "Z"),
        "Staff": _of_staff(draw, FILED, "all"),
    }
    return [
        {"folder": folder, "number": number, "sent": company.EPOCH - timedelta(minutes=977 * number), **letter}
        for folder in FOLDERS
        for number, letter in enumerate(found[folder], 1)
    ]


def contacts() -> list[dict[str, str]]:
    """The address book: first, last, name, address."""
    people = [
        {"first": name.split()[0], "last": name.split()[1], "name": name, "address": f"{login}@{DOMAIN}"}
        for login, name in company.EMPLOYEES.items()
        if login != OWNER
    ]
    return [
        *people,
        *({"first": "", "last": name, "name": name, "address": address_of(name)} for name in trade.SUPPLIERS),
    ]


def _about_orders(draw: random.Random, orders: list[dict[str, Any]]) -> list[dict[str, Any]]:
    people = company.customers()
    made = []
    for order in orders:
        customer, (what, text) = people[order["customer"] - 1], draw.choice(_ORDER)
        name = f"{customer['first']} {customer['last']}"
        said = text.format(n=order["number"], x=f"{draw.randint(2, 90)} Orchard Street, Leeds")
        made.append(
            {
                "kind": "order", "name": name, "address": customer["email"], "order": order["number"],
                "subject": f"Order {order['number']}: {what}", "text": _GREETING.format(text=said, name=name),
            }
        )  # fmt: skip
    return made


def _invoices(draw: random.Random, count: int, series: str) -> list[dict[str, Any]]:
    made = []
    for number in range(1, count + 1):
        supplier = trade.SUPPLIERS[number % len(trade.SUPPLIERS)]
        goods, carriage = draw.randint(9000, 250000), draw.randint(500, 9000)
        text = f"for your last order we ask for {goods / 100:.2f} for goods and {carriage / 100:.2f} for carriage."
        made.append(
            {
                "kind": "invoice", "name": supplier, "address": address_of(supplier), "goods": goods,
                "carriage": carriage, "subject": f"Invoice {series}-{100 + 7 * number}",
                "text": _GREETING.format(text=text, name=supplier),
            }
        )  # fmt: skip
    return made


def _of_staff(draw: random.Random, count: int, reader: str) -> list[dict[str, Any]]:
    made = []
    for number in range(1, count + 1):
        login = draw.choice([login for login in company.EMPLOYEES if login != OWNER])
        subject, text = draw.choice(_STAFF)
        name = company.EMPLOYEES[login]
        made.append(
            {
                "kind": "staff", "name": name, "address": f"{login}@{DOMAIN}", "subject": f"{subject} ({number:02})",
                "text": f"Dear {reader},\n\n{text}\n\n{name}\n",
            }
        )  # fmt: skip
    return made


def _junk(draw: random.Random, count: int) -> list[dict[str, Any]]:
    return [
        {
            "kind": "junk", "name": "Lucky Office", "address": f"win{number}@lucky.example",
            "subject": f"{draw.choice(_JUNK)} ({number:02})", "text": "Open the page below, today only.\n",
        }
        for number in range(1, count + 1)
    ]  # fmt: skip
