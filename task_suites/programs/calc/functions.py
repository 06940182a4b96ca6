"""Data for sheets, drawn by a seed, and what is right to do with them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Annotated, Any

Row = list[Any]
REGIONS = ("North", "South", "East", "West")
PRODUCTS = ("Lamp", "Desk", "Chair", "Shelf", "Rug")
NAMES = ("Ada Byron", "Boris Novak", "Chloe Martin", "Dmitri Orlov", "Elena Rossi", "Farid Amin", "Greta Holm")


def orders(seed: int, rows: int = 16) -> list[Row]:
    """Orders: a header (Order, Day, Region, Product, Units, Price) and so many rows; no two prices are equal."""
    draw = random.Random(seed)
    prices = draw.sample(range(11, 99), rows)
    body = [
        [1001 + k, draw.randint(1, 28), draw.choice(REGIONS), draw.choice(PRODUCTS), draw.randint(1, 9), prices[k]]
        for k in range(rows)
    ]
    return [["Order", "Day", "Region", "Product", "Units", "Price"], *body]


def prices(seed: int) -> list[Row]:
    """A price list: a header (Product, List price) and each product in a drawn order."""
    draw = random.Random(seed)
    products = draw.sample(PRODUCTS, len(PRODUCTS))
    return [["Product", "List price"], *([product, draw.randint(11, 99)] for product in products)]


def untidy(seed: int, rows: Annotated[int, (1, 1000)] = 12) -> list[Row]:
    """A list of customers (No, Customer) whose names have needless spaces and wrong capitals."""
    draw = random.Random(seed)

    def spoilt(name: str) -> str:
        words = [draw.choice((str.upper, str.lower, str.title))(word) for word in name.split()]
        return " " * draw.randint(0, 2) + (" " * draw.randint(1, 3)).join(words) + " " * draw.randint(0, 2)

    return [["No", "Customer"], *([k + 1, spoilt(draw.choice(NAMES))] for k in range(rows))]


def tidy(table: list[Row]) -> list[str]:
    """The names of an untidy list, each word with one capital and one space between words."""
    return [" ".join(name.split()).title() for _, name in table[1:]]


def column(table: list[Row], name: str) -> list[Any]:
    """The values below a header."""
    place = table[0].index(name)
    return [row[place] for row in table[1:]]


def product(table: list[Row], of: list[str]) -> list[float]:
    """Two columns multiplied, row by row."""
    return [one * other for one, other in zip(*(column(table, name) for name in of), strict=True)]


def ordered(table: list[Row], by: str, descending: bool = False) -> list[Row]:
    """The table with its rows in the order of a column."""
    place = table[0].index(by)
    return [table[0], *sorted(table[1:], key=lambda row: row[place], reverse=descending)]


def sums(table: list[Row], by: str, of: str) -> list[Row]:
    """What a column adds up to for each value of another, in that one's order: rows of a value and a sum."""
    totals: dict[Any, float] = {}
    for key, value in zip(column(table, by), column(table, of), strict=True):
        totals[key] = totals.get(key, 0) + value
    return [[key, totals[key]] for key in sorted(totals)]


def looked_up(table: list[Row], by: str, of: list[Row]) -> list[Any]:
    """For each row of a table, what a list of two columns says of its value."""
    known = {key: value for key, value in of[1:]}
    return [known[key] for key in column(table, by)]


def body(table: list[Row]) -> list[Row]:
    """The rows below the header."""
    return table[1:]


def others(table: list[Row], by: str, value: Any) -> list[int]:
    """The numbers, as a sheet counts them, of the rows that have another value in a column."""
    return [row for row, found in enumerate(column(table, by), 2) if found != value]


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    f"calc.{function.__name__}": function
    for function in (body, looked_up, ordered, orders, others, prices, product, sums, tidy, untidy)
}
"""By the names that task files use."""
