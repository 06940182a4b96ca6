"""What tasks ask of the ERP's data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from deskgym.task_suites.programs.company import entities as company
from deskgym.task_suites.programs.erp import trade


def sale(number: int) -> dict[str, Any]:
    """A sale: number, reference, state, customer's name, total in pounds, first line's product and quantity."""
    found, goods = trade.sales()[number - 1], company.products()
    buyer = company.customers()[found["customer"] - 1]
    total = sum(goods[which - 1]["price"] * quantity for which, quantity in found["lines"])
    which, quantity = found["lines"][0]
    return {
        **{key: found[key] for key in ("number", "reference", "state")}, "name": f"{buyer['first']} {buyer['last']}",
        "total": f"{total / 100:.2f}", "product": goods[which - 1]["title"], "quantity": quantity,
        "lines": len(found["lines"]),
    }  # fmt: skip


def count(state: str, limit: float, shift: int) -> int:
    """How many sales of more than some pounds have a state, once (id * id / 3 + shift) % 3 is its place."""
    states = ("Draft", "Quotation", "Cancelled")
    return sum(
        float(sale(number)["total"]) > limit and states[(number**2 // 3 + shift) % 3] == state
        for number in range(1, len(trade.sales()) + 1)
    )


def purchase(number: int) -> dict[str, Any]:
    """A purchase: number, reference, state, supplier's name, total in pounds, lines."""
    found = trade.purchases()[number - 1]
    total = sum(quantity * price for _, quantity, price in found["lines"])
    return {
        **{key: found[key] for key in ("number", "reference", "state")}, "name": trade.SUPPLIERS[found["supplier"]],
        "total": f"{total / 100:.2f}", "lines": len(found["lines"]),
    }  # fmt: skip


def customer(number: int) -> dict[str, Any]:
    """A customer: number, code, name, email, line1, city, postcode."""
    found = company.customers()[number - 1]
    return {**{key: found[key] for key in ("number", "email", "line1", "city", "postcode")},
            "code": f"C{number:02}", "name": f"{found['first']} {found['last']}"}  # fmt: skip


def product(number: int) -> dict[str, Any]:
    """A product: number, title, upc, category, price in pounds."""
    found = company.products()[number - 1]
    return {
        **{key: found[key] for key in ("number", "title", "upc", "category")},
        "price": f"{found['price'] / 100:.2f}",
    }


def stored(amount: str) -> str:
    """How the database has an amount: its digits as bytes, which are shown in hexadecimal.

    Examples:
        >>> stored("12.25")
        '31322E3235'
    """
    return amount.encode().hex().upper()


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "erp.sale": sale, "erp.count": count,
    "erp.stored": stored, "erp.purchase": purchase, "erp.customer": customer, "erp.product": product,
}  # fmt: skip
