"""What tasks ask of the shop's data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from deskgym.task_suites.programs.company import entities as company


@cache
def _products() -> dict[int, dict[str, Any]]:
    return {entry["number"]: entry for entry in company.products()}


@cache
def _orders() -> dict[int, dict[str, Any]]:
    return {entry["number"] - 100_000: entry for entry in company.orders()}


def product(number: int) -> dict[str, Any]:
    """A product: number, title, upc, category, price in pounds, stock."""
    found = _products()[number]
    return {**found, "price": f"{found['price'] / 100:.2f}"}


def order(number: int) -> dict[str, Any]:
    """An order by its place: number, name and email of the customer, status, total in pounds, articles (how many)."""
    found = _orders()[number]
    buyer = company.customers()[found["customer"] - 1]
    total = found["shipping"] + sum(_products()[which]["price"] * quantity for which, quantity in found["lines"])
    return {
        "number": found["number"], "status": found["status"], "name": f"{buyer['first']} {buyer['last']}",
        "email": buyer["email"], "total": f"{total / 100:.2f}", "lines": len(found["lines"]),
        "articles": sum(quantity for _, quantity in found["lines"]),
    }  # fmt: skip


def review(number: int) -> dict[str, Any]:
    """A review: number, title, body, score, status, title of its product, email of its author."""
    found = company.reviews()[number - 1]
    return {**{key: found[key] for key in ("number", "title", "body", "score", "status")},
            "product": _products()[found["product"]]["title"],
            "email": company.customers()[found["customer"] - 1]["email"]}  # fmt: skip


def customer(number: int) -> dict[str, Any]:
    """A customer: number, first, last, email, line1, city, postcode."""
    return company.customers()[number - 1]


def login(number: int) -> str:
    """The user name of a customer."""
    return str(customer(number)["email"]).partition("@")[0]


def bill(buyer: int, status: str, shift: int) -> dict[str, Any]:
    """How many orders of a customer have a status, once its place is (id * id / 7 + shift) % 5, and their total."""
    total, prices = 0, {number: entry["price"] for number, entry in _products().items()}
    found = [
        entry for place, entry in _orders().items()
        if entry["customer"] == buyer and company.STATUSES[(place * place // 7 + shift) % 5] == status
    ]  # fmt: skip
    for entry in found:
        total += entry["shipping"] + sum(prices[which] * quantity for which, quantity in entry["lines"])
    return {"count": len(found), "total": round(total / 100, 2)}


def cheapest(category: str, shift: int) -> dict[str, Any]:
    """The two cheapest products of a category that are in stock, once (id * 7 + shift) % 4 is how many there are."""
    there = [entry for entry in _products().values() if entry["category"] == category]
    stocked = sorted((entry["price"], entry["title"]) for entry in there if (entry["number"] * 7 + shift) % 4)
    return {"first": stocked[0][1], "second": stocked[1][1], "of_all": min((e["price"], e["title"]) for e in there)[1],
            "differ": stocked[0][0] != stocked[1][0]}  # fmt: skip


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "shop.product": product, "shop.order": order, "shop.review": review, "shop.customer": customer,
    "shop.login": login, "shop.bill": bill, "shop.cheapest": cheapest,
}  # fmt: skip
