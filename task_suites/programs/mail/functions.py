"""What tasks ask of the mail's letters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from deskgym.task_suites.programs.company import entities as company
from deskgym.task_suites.programs.erp import trade
from deskgym.task_suites.programs.mail import letters

FIRST_ORDER = company.orders()[0]["number"] - 1


def letter(number: int) -> dict[str, Any]:
    """A letter of the inbox by its place, from 1: ``number``, ``id``, ``kind``, ``name``, ``address``, ``subject``.

    One about an order has ``order``, its number, and ``place``, as the shop's functions count orders.
    """
    found = letters.inbox()[number - 1]
    about = {"place": found["order"] - FIRST_ORDER} if "order" in found else {}
    return {
        **{name: value for name, value in found.items() if name not in ("sent", "text")},
        **about,
        "id": f"<inbox-{number}@{letters.DOMAIN}>",
    }


def of_kind(kind: str, place: int) -> dict[str, Any]:
    """The same of the letters of a kind (order, invoice, staff or junk); places after the last start again."""
    numbers = [found["number"] for found in letters.inbox() if found["kind"] == kind]
    return letter(numbers[(place - 1) % len(numbers)])


def of_sender(supplier: int) -> dict[str, Any]:
    """A supplier, from 1: ``name``, ``address``, how many of the inbox's letters are theirs, and the ``first``."""
    name = trade.SUPPLIERS[supplier - 1]
    found = [each["subject"] for each in letters.inbox() if each["name"] == name]
    return {"name": name, "address": letters.address_of(name), "count": len(found), "first": found[0]}


def customer(number: int) -> dict[str, str]:
    """A customer, from 1: ``first``, ``last``, ``email``."""
    found = company.customers()[number - 1]
    return {name: found[name] for name in ("first", "last", "email")}


def amounts(goods: int, carriage: int) -> dict[str, Any]:
    """Two amounts in pence as pounds, and their sum: ``goods``, ``carriage``, ``total``; and that as a number."""
    found = {"goods": goods, "carriage": carriage, "total": goods + carriage}
    return {name: f"{pence / 100:.2f}" for name, pence in found.items()} | {"pounds": found["total"] / 100}


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "mail.letter": letter,
    "mail.of_kind": of_kind,
    "mail.of_sender": of_sender,
    "mail.customer": customer,
    "mail.amounts": amounts,
}
