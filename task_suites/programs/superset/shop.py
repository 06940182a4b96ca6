"""The outdoor shop whose figures Superset shows: orders, visits and shipments, the same for everybody; plain data."""

import random
from datetime import date, timedelta
from typing import Any

START = date(2023, 1, 1)
REGIONS = ("North", "South", "East", "West")
CHANNELS = ("Online", "Store", "Phone")
PRODUCTS = {
    "Tents": ("Dome 2", "Dome 4", "Tunnel 3"), "Packs": ("Daypack 20", "Trek 45", "Trek 65"),
    "Boots": ("Ridge", "Valley", "Summit"), "Stoves": ("Micro", "Duo"), "Lamps": ("Head 200", "Camp 400"),
}  # fmt: skip
COUNTRIES = ("Austria", "Belgium", "Canada", "Denmark")
DEVICES = ("Desktop", "Phone", "Tablet")
CARRIERS = ("Bluebird", "Hermes", "Kiwi Post")

TABLES: dict[str, dict[str, str]] = {
    "orders": {
        "order_id": "integer PRIMARY KEY", "order_date": "date", "region": "text", "category": "text",
        "product": "text", "channel": "text", "quantity": "integer", "unit_price": "numeric(10,2)",
        "revenue": "numeric(12,2)", "returned": "boolean",
    },
    "visits": {
        "day": "date", "country": "text", "device": "text", "visits": "integer", "signups": "integer",
        "bounces": "integer",
    },
    "shipments": {
        "shipment_id": "integer PRIMARY KEY", "shipped_at": "timestamp", "order_id": "integer", "carrier": "text",
        "weight_kg": "numeric(8,2)", "cost": "numeric(8,2)", "days": "integer",
    },
    "suppliers": {"supplier_id": "integer PRIMARY KEY", "name": "text", "category": "text", "since": "date"},
}  # fmt: skip
"""Tables of the warehouse: columns and their types. The first two are Superset's datasets at first."""


def rows(table: str) -> list[tuple[Any, ...]]:
    """The rows of a table of the warehouse."""
    return {"orders": _orders, "visits": _visits, "shipments": _shipments, "suppliers": _suppliers}[table]()


def _orders() -> list[tuple[Any, ...]]:
    draw, made = random.Random(31), list[tuple[Any, ...]]()
    for number in range(1, 481):
        category = draw.choice([*PRODUCTS])
        quantity, price = draw.randint(1, 9), draw.randint(1500, 32000) / 100
        made.append((
            number, START + timedelta(days=draw.randrange(365)), draw.choice(REGIONS), category,
            draw.choice(PRODUCTS[category]), draw.choice(CHANNELS), quantity, price, round(quantity * price, 2),
            draw.random() < 0.1,
        ))  # fmt: skip
    return made


def _visits() -> list[tuple[Any, ...]]:
    draw, made = random.Random(32), list[tuple[Any, ...]]()
    for day in range(120):
        for country in COUNTRIES:
            visits = draw.randint(80, 900)
            made.append((
                START + timedelta(days=day), country, draw.choice(DEVICES), visits, draw.randint(0, visits // 8),
                draw.randint(visits // 10, visits // 2),
            ))  # fmt: skip
    return made


def _shipments() -> list[tuple[Any, ...]]:
    draw = random.Random(33)
    return [
        (number, f"{START + timedelta(days=draw.randrange(365))} {draw.randrange(24):02}:{draw.randrange(60):02}:00",
         draw.randint(1, 480), draw.choice(CARRIERS), draw.randint(20, 4000) / 100, draw.randint(300, 6000) / 100,
         draw.randint(1, 12))
        for number in range(1, 301)
    ]  # fmt: skip


def _suppliers() -> list[tuple[Any, ...]]:
    names = ("Alpine Works", "Boreal", "Cairn & Co", "Delta Gear", "Evergreen", "Fjord Line")
    return [
        (number, name, [*PRODUCTS][number % len(PRODUCTS)], date(2010 + number, number, 3))
        for number, name in enumerate(names, 1)
    ]
