"""Customers, products, orders, their items and payments of a made-up retailer, as tables that fit together."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import Any

Table = list[list[Any]]
"""Rows of cells; the first row has the columns' names."""

FIRST = ("Ada", "Boris", "Chloe", "Dmitri", "Elena", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kira", "Leon")
LAST = ("Byron", "Novak", "Martin", "Orlov", "Rossi", "Amin", "Holm", "Keller", "Silva", "Tanaka", "Weiss", "Young")
CITIES = {"Lyon": "FR", "Nantes": "FR", "Graz": "AT", "Linz": "AT", "Porto": "PT", "Turin": "IT", "Ghent": "BE"}
CATEGORIES = {
    "Kitchen": ("Kettle", "Pan", "Toaster", "Knife"),
    "Garden": ("Rake", "Hose", "Bench", "Lantern"),
    "Office": ("Desk", "Chair", "Lamp", "Binder"),
}
STATUSES = ("completed", "completed", "completed", "shipped", "returned", "cancelled")
CHANNELS = ("web", "store", "phone")
METHODS = ("card", "transfer", "voucher", "cash")
START = date(2024, 1, 1)
DAYS = 120


def tables(seed: int, orders: int = 40) -> dict[str, Table]:
    """All five tables. Prices and amounts are in cents; some customers have no order, some orders no payment."""
    draw = random.Random(seed)
    names = draw.sample([f"{first} {last}" for first in FIRST for last in LAST], 18)
    people: Table = [["customer_id", "name", "email", "city", "country", "signed_up"]]
    for number, name in enumerate(names, 1):
        city = draw.choice(list(CITIES))
        signed_up = START - timedelta(days=draw.randint(1, 600))
        email = f"{name.lower().replace(' ', '.')}@example.org" if draw.random() < 0.85 else None
        people.append([number, name, email, city, CITIES[city], signed_up.isoformat()])
    goods: Table = [["product_id", "product", "category", "price"]]
    for category, products in CATEGORIES.items():
        for product in products:
            goods.append([100 + len(goods), product, category, draw.randint(5, 199) * 100 + 50])
    sales: Table = [["order_id", "customer_id", "order_date", "status", "channel"]]
    items: Table = [["order_id", "product_id", "quantity", "unit_price"]]
    payments: Table = [["payment_id", "order_id", "method", "amount"]]
    for number in range(1001, 1001 + orders):
        day, status = START + timedelta(days=draw.randrange(DAYS)), draw.choice(STATUSES)
        sales.append([number, draw.randint(1, 14), day.isoformat(), status, draw.choice(CHANNELS)])
        bought = draw.sample(goods[1:], draw.randint(1, 3))
        lines = [[number, product[0], draw.randint(1, 5), product[3]] for product in bought]
        items += lines
        total = sum(line[2] * line[3] for line in lines)
        if status != "cancelled" and draw.random() < 0.9:
            voucher = draw.choice((0, 0, 500, 1000)) if total > 2000 else 0
            parts = [("voucher", voucher), (draw.choice(METHODS[:2]), total - voucher)]
            for method, amount in parts[not voucher :]:
                payments.append([5000 + len(payments), number, method, amount])
    return {"customers": people, "products": goods, "orders": sales, "order_items": items, "payments": payments}


def spoiled_customers(seed: int, rows: int = 14) -> Table:
    """Customers as people enter them: needless spaces, wrong capitals, three forms of dates, duplicates."""
    draw = random.Random(seed)
    known = tables(seed)["customers"]
    found: Table = []
    for number, name, email, city, _, signed_up in known[1 : rows + 1]:
        day = date.fromisoformat(signed_up)
        form = draw.choice(("%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d"))
        shown = draw.choice((str.upper, str.lower, str.title))(name)
        address = draw.choice((str.upper, str.lower))(email) if email else draw.choice(("", "n/a"))
        found.append([number, f"{' ' * draw.randint(0, 2)}{shown}{' ' * draw.randint(0, 1)}", address, city,
                      day.strftime(form)])  # fmt: skip
    again = draw.sample(found, 3)
    for row in again:
        found.insert(draw.randint(found.index(row) + 1, len(found)), list(row))
    return [["id", "name", "email", "city", "signed_up"], *found]


def clean_customers(table: Table) -> Table:
    """What is right for them: trimmed title case, lower-case addresses or none, ISO dates, each id once, by id."""
    header, *rows = table
    clean = {}
    for number, name, email, city, day in rows:
        if "." in day:
            first, second, third = day.split(".")
            day = f"{third}-{second}-{first}"
        address = "" if email == "n/a" else email.lower()
        clean[number] = [number, " ".join(name.split()).title(), address, city, day.replace("/", "-")]
    return [header, *(clean[number] for number in sorted(clean))]


def access_log(seed: int, lines: int = 60) -> str:
    """A web server's log in the common format, with some lines that are cut off."""
    draw = random.Random(seed)
    hosts = [f"10.0.{draw.randint(0, 3)}.{draw.randint(2, 250)}" for _ in range(7)]
    paths = ("/", "/cart", "/checkout", "/search", "/product/101", "/product/107", "/login", "/api/stock")
    written = []
    for k in range(lines):
        status = draw.choice((200, 200, 200, 200, 301, 404, 404, 500, 503))
        line = (
            f"{draw.choice(hosts)} - - [0{draw.randint(1, 7)}/Mar/2024:{k * 23 // 60:02}:{k * 23 % 60:02}:07 +0000] "
            f'"{draw.choice(("GET", "GET", "POST"))} {draw.choice(paths)} HTTP/1.1" {status} {draw.randint(180, 9000)}'
        )
        written.append(line[: draw.randint(8, 30)] if draw.random() < 0.08 else line)
    return "\n".join(written) + "\n"
