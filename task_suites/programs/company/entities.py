"""A company that sells office goods, the same for everybody and in every program of its: plain data.

Its people are the helpdesk's agents and submitters, so that a ticket, an order and a review are of one person.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

EPOCH = datetime(2024, 3, 4, 9, 0, tzinfo=UTC)
EMPLOYEES = {
    "maya": "Maya Lindqvist", "jonas": "Jonas Weber", "amara": "Amara Okafor", "tomas": "Tomas Novak",
    "ines": "Ines Duarte", "ravi": "Ravi Menon",
}  # fmt: skip
_FIRST = (
    "Ada", "Boris", "Chloe", "Dmitri", "Elena", "Farid", "Greta", "Hugo", "Iris", "Jamal", "Kira", "Leon",  # as there
    "Marta", "Nils", "Olga", "Pavel", "Quinn", "Rosa", "Samir", "Tilda", "Uma", "Viktor", "Wanda", "Xenia", "Yusuf",
    "Zoe", "Anton", "Berta", "Cyril", "Doris", "Emil", "Flora", "Goran", "Hanna", "Ivan", "Julia", "Karim", "Lotte",
    "Milan", "Nora",
)  # fmt: skip
_LAST = (
    "Adler",
    "Brandt",
    "Costa",
    "Dahl",
    "Egan",
    "Fiore",
    "Grant",
    "Holm",
    "Ito",
    "Jansen",
    "Kovacs",
    "Lund",
    "Moreau",
)
_STREETS = ("Harbour Road", "Mill Lane", "Station Street", "Park Avenue", "Church Hill", "Bridge Street", "Garden Row")
_CITIES = (
    ("London", "EC1A 1BB"),
    ("Leeds", "LS1 4DY"),
    ("Bristol", "BS1 5TR"),
    ("York", "YO1 7HH"),
    ("Bath", "BA1 1LN"),
)
CATEGORIES = {
    "Desks": ("Writing desk", "Standing desk", "Corner desk"), "Chairs": ("Office chair", "Stool", "Lounge chair"),
    "Lamps": ("Desk lamp", "Floor lamp", "Reading light"), "Storage": ("Filing cabinet", "Bookcase", "Drawer unit"),
    "Paper": ("Notebook", "Copy paper", "Envelopes"), "Machines": ("Label printer", "Shredder", "Laminator"),
}  # fmt: skip
_KINDS = ("Alto", "Birch", "Cobalt", "Delta", "Ember")
STATUSES = ("Pending", "Being processed", "Shipped", "Complete", "Cancelled")
_OPINIONS = (
    ("Works as described", "It does what the page says."), ("Too small", "I had expected more room."),
    ("Sturdy", "After a month it is like new."), ("Arrived late", "The parcel took two weeks."),
    ("Good value", "I would buy it again."), ("Scratched", "One side had a scratch."),
)  # fmt: skip

FORUM = ("Announcements", "Products", "Help", "Lounge")
_QUESTIONS = (
    "How do I clean the {x}?", "Is the {x} worth it?", "Spare parts for the {x}", "The {x} and small rooms",
    "Colour of the {x}", "Two months with the {x}", "Assembling the {x}", "Where is the {x} made?",
)  # fmt: skip
_POSTS = (
    "I have the same question.", "Try it with a soft cloth.", "Mine took an hour.", "The manual says nothing about it.",
    "Ask the helpdesk.", "It depends on the floor.", "I sent mine back.", "Thank you, that helped.",
)  # fmt: skip


def customers() -> list[dict[str, Any]]:
    """All customers: number, first, last, email, line1, city, postcode."""
    draw = random.Random(40)
    return [
        {
            "number": number, "first": first, "last": draw.choice(_LAST), "email": f"{first.lower()}@example.org",
            "line1": f"{draw.randint(1, 120)} {draw.choice(_STREETS)}",
            **dict(zip(("city", "postcode"), draw.choice(_CITIES), strict=True)),
        }
        for number, first in enumerate(_FIRST, 1)
    ]  # fmt: skip


def products() -> list[dict[str, Any]]:
    """All products: number, title, upc, category, price in pence, stock."""
    draw, made = random.Random(90), list[dict[str, Any]]()
    for category, things in CATEGORIES.items():
        for thing in things:
            for kind in _KINDS:
                number = len(made) + 1
                made.append(
                    {
                        "number": number, "title": f"{thing} {kind}", "upc": f"DG-{number:03}", "category": category,
                        "price": draw.randint(400, 29900), "stock": draw.randint(0, 60),
                    }
                )  # fmt: skip
    return made


def orders(count: int = 180) -> list[dict[str, Any]]:
    """All orders: number, customer's number, placed, status, shipping in pence, lines (product's number, quantity)."""
    draw = random.Random(180)
    return [
        {
            "number": 100_000 + number, "customer": draw.randint(1, len(_FIRST)),
            "placed": EPOCH + timedelta(minutes=613 * number), "status": draw.choice(STATUSES),
            "shipping": draw.choice((0, 450, 990)),
            "lines": [(which, draw.randint(1, 4)) for which in sorted(draw.sample(range(1, 91), draw.randint(1, 3)))],
        }
        for number in range(1, count + 1)
    ]  # fmt: skip


def reviews(count: int = 60) -> list[dict[str, Any]]:
    """All reviews: number, product's and customer's number, score of 1 to 5, title, body, status, made.

    The first third waits for somebody to look at it, the others are approved (every fourth is rejected).
    """
    draw, made = random.Random(60), list[dict[str, Any]]()
    for number in range(1, count + 1):
        title, body = draw.choice(_OPINIONS)
        status = "waiting" if number * 3 <= count else "rejected" if number % 4 == 0 else "approved"
        made.append(
            {
                "number": number, "product": draw.randint(1, 90), "customer": draw.randint(1, len(_FIRST)),
                "score": draw.randint(1, 5), "title": f"{title} ({number:02})", "body": body, "status": status,
                "made": EPOCH + timedelta(minutes=1217 * number),
            }
        )  # fmt: skip
    return made


def topics(count: int = 80) -> list[dict[str, Any]]:
    """All topics of the forum: number, title, section, opened, posts (login and text), the first one its author's."""
    draw, goods = random.Random(80), products()
    people = [entry["email"].partition("@")[0] for entry in customers()]
    return [
        {
            "number": number, "title": f"{draw.choice(_QUESTIONS).format(x=draw.choice(goods)['title'])} ({number:02})",
            "section": draw.choice(FORUM[1:]), "opened": EPOCH + timedelta(minutes=1009 * number),
            "posts": [(draw.choice(people), draw.choice(_POSTS)) for _ in range(draw.randint(1, 7))],
        }
        for number in range(1, count + 1)
    ]  # fmt: skip
