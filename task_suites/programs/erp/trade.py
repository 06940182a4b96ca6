"""What the company buys and sells in its ERP, the same for everybody: plain data."""

import random
from typing import Any

from deskgym.task_suites.programs.company import entities as company

SUPPLIERS = ("Norden Timber", "Steel & Sons", "Paperworks Ltd", "Brightside Lamps", "Vega Machines", "Harbour Chairs")
STATES = ("draft", "quotation")


def suppliers() -> list[dict[str, Any]]:
    """All suppliers: name, code, city."""
    draw = random.Random(6)
    return [
        {"name": name, "code": f"S{number:02}", "city": draw.choice(("London", "Leeds", "Bristol", "York"))}
        for number, name in enumerate(SUPPLIERS, 1)
    ]


def sales(count: int = 40) -> list[dict[str, Any]]:
    """All sales: number, customer's number, reference, state, lines (product's number, quantity)."""
    draw = random.Random(41)
    return [
        {
            "number": number, "customer": draw.randint(1, 40), "reference": f"Q-{number:03}",
            "state": STATES[number % 2],
            "lines": [(which, draw.randint(1, 9)) for which in sorted(draw.sample(range(1, 91), draw.randint(1, 3)))],
        }
        for number in range(1, count + 1)
    ]  # fmt: skip


def purchases(count: int = 24) -> list[dict[str, Any]]:
    """All purchases: number, supplier's place, reference, state, lines (product's number, quantity, price in pence)."""
    draw, goods = random.Random(25), company.products()
    return [
        {
            "number": number, "supplier": draw.randrange(len(SUPPLIERS)), "reference": f"B-{number:03}",
            "state": STATES[number % 2],
            "lines": [
                (which, draw.randint(5, 40), goods[which - 1]["price"] * 6 // 10)
                for which in sorted(draw.sample(range(1, 91), draw.randint(1, 2)))
            ],
        }
        for number in range(1, count + 1)
    ]  # fmt: skip
