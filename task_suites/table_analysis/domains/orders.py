"""An online shop for the home: customers, products, orders, what was in them, what came back. Generated."""

from __future__ import annotations

import numpy as np
import pandas as pd

from deskgym.task_suites.table_analysis.domains import Domain

ABOUT = """\
A made-up online shop in 2024. `customers`: customer_id, joined (ISO date), country (DE, AT, NL, FR, PL), channel by \
which they came (search, social, newsletter, friend; missing where unknown), birth_year (missing where not given). \
`products` (72 rows): product_id, category, list_price and unit_cost in euros. `orders`: order_id, customer_id, \
ordered (ISO date), device (phone, computer, tablet), voucher (code; missing where none was used), shipping in euros \
(0 is free), status (delivered, cancelled). `items`: one line per order and product: order_id, product_id, quantity, \
unit_price paid in euros after discounts. `returns`: one row per line that was sent back: order_id, product_id, \
returned (ISO date, may be in January 2025), reason (missing where none was given), refund in euros."""

# category: number of products, mean price in euros, share of lines, chance that a line comes back
_CATEGORIES = {
    "bedding": (12, 55, 0.17, 0.11),
    "furniture": (12, 210, 0.10, 0.17),
    "garden": (12, 75, 0.13, 0.08),
    "kitchen": (14, 38, 0.26, 0.06),
    "lamps": (10, 65, 0.14, 0.14),
    "textiles": (12, 32, 0.20, 0.20),
}
_COUNTRIES = {"DE": 0.46, "AT": 0.16, "NL": 0.15, "FR": 0.13, "PL": 0.10}
_CHANNELS = {"search": 0.44, "social": 0.26, "newsletter": 0.16, "friend": 0.14}
_VOUCHERS = {"WELCOME10": 0.10, "SPRING15": 0.15, "FRIENDS5": 0.05}  # code: discount
_REASONS = {"does not fit": 0.30, "damaged": 0.20, "not as described": 0.22, "too late": 0.08, "changed mind": 0.20}
_CUSTOMERS, _ORDERS, _HOLDOUT = 1800, 4200, 500
_FIRST = np.datetime64("2024-01-01")


def tables(variant: int) -> dict[str, pd.DataFrame]:
    """The tables of a variant; ``holdout_baskets`` are orders in one line each, with their value, for models."""
    rng = np.random.default_rng(variant)
    customers = _customers(rng)
    products = _products(rng)
    orders = _orders(rng, customers, _ORDERS)
    items = _items(rng, orders, products)
    later = _orders(rng, customers, _HOLDOUT)
    return {
        "customers": customers.drop(columns="wealth"),
        "products": products.drop(columns=["appeal", "trouble"]),
        "orders": _shipped(rng, orders, items),
        "items": items,
        "returns": _returns(rng, orders, items, products),
        "holdout_baskets": _holdout(later, _items(rng, later, products)),
    }


def _draw(rng: np.random.Generator, shares: dict[str, float], count: int) -> np.ndarray:
    return rng.choice(list(shares), count, p=list(shares.values()))


def _customers(rng: np.random.Generator) -> pd.DataFrame:
    channel = _draw(rng, _CHANNELS, _CUSTOMERS).astype(object)
    wealth = rng.gamma(1.3, 0.8, _CUSTOMERS) * np.where(channel == "newsletter", 1.12, 1.0)
    channel[rng.random(_CUSTOMERS) < 0.07] = None
    born = (2024 - np.clip(rng.normal(43, 14, _CUSTOMERS), 18, 88)).astype(int).astype(float)
    born[rng.random(_CUSTOMERS) < 0.15] = np.nan
    joined = np.sort(np.datetime64("2022-01-01") + rng.integers(0, 730, _CUSTOMERS))
    return pd.DataFrame(
        {
            "customer_id": np.arange(1, _CUSTOMERS + 1),
            "joined": np.datetime_as_string(joined),
            "country": _draw(rng, _COUNTRIES, _CUSTOMERS),
            "channel": channel,
            "birth_year": born,
            "wealth": wealth,
        }
    )


def _products(rng: np.random.Generator) -> pd.DataFrame:
    category = np.repeat(list(_CATEGORIES), [size for size, *_ in _CATEGORIES.values()])
    mean = np.array([_CATEGORIES[name][1] for name in category])
    price = np.floor(mean * rng.lognormal(-0.1, 0.45, len(category))) + 0.9
    return pd.DataFrame(
        {
            "product_id": [f"P{100 + k}" for k in range(len(category))],
            "category": category,
            "list_price": price,
            "unit_cost": (price * rng.uniform(0.38, 0.66, len(category))).round(2),
            "appeal": rng.gamma(2.0, 0.5, len(category)) + 0.15,
            "trouble": rng.lognormal(0, 0.55, len(category)),
        }
    )


def _orders(rng: np.random.Generator, customers: pd.DataFrame, count: int) -> pd.DataFrame:
    wealth = customers["wealth"].to_numpy()
    buyer = rng.choice(_CUSTOMERS, count, p=wealth / wealth.sum())
    months = np.array([0.9, 0.75, 0.85, 1.0, 1.1, 0.9, 0.75, 0.7, 0.95, 1.1, 1.5, 1.5])
    day = np.array([31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    month = rng.choice(12, count, p=months / months.sum())
    ordered = np.datetime64("2024-01").astype("datetime64[M]") + month
    days = ordered.astype("datetime64[D]") + (rng.random(count) * day[month]).astype(int)
    voucher = rng.choice(list(_VOUCHERS), count, p=[0.5, 0.3, 0.2]).astype(object)
    voucher[rng.random(count) > 0.24] = None
    return pd.DataFrame(
        {
            "order_id": np.arange(700001, 700001 + count),
            "customer_id": buyer + 1,
            "ordered": np.datetime_as_string(np.sort(days)),
            "device": rng.choice(["phone", "computer", "tablet"], count, p=[0.56, 0.35, 0.09]),
            "voucher": voucher,
            "status": rng.choice(["delivered", "cancelled"], count, p=[0.93, 0.07]),
        }
    )


def _items(rng: np.random.Generator, orders: pd.DataFrame, products: pd.DataFrame) -> pd.DataFrame:
    """The lines of all orders, no product twice in one."""
    used = orders["voucher"].notna().to_numpy()
    lines = np.minimum(1 + rng.poisson(np.where(orders["device"] == "phone", 0.9, 1.5) + 0.7 * used), 8)
    order = np.repeat(np.arange(len(orders)), lines)
    size = products["category"].map(lambda name: _CATEGORIES[name][0])
    weight = products["category"].map(lambda name: _CATEGORIES[name][2]) / size * products["appeal"]
    product = rng.choice(len(products), len(order), p=weight / weight.sum())
    first = np.unique(order * len(products) + product)
    order, product = first // len(products), first % len(products)
    category = products["category"].to_numpy()[product]
    off = orders["voucher"].map(_VOUCHERS).fillna(0.0).to_numpy(dtype=float)[order]
    many = np.where(category == "furniture", 0.1, np.where(category == "kitchen", 0.9, 0.4))
    return pd.DataFrame(
        {
            "order_id": orders["order_id"].to_numpy()[order],
            "product_id": products["product_id"].to_numpy()[product],
            "quantity": 1 + rng.poisson(many),
            "unit_price": (products["list_price"].to_numpy()[product] * (1 - off)).round(2),
        }
    )


def _shipped(rng: np.random.Generator, orders: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """The orders with their shipping, free from 80 euros."""
    value = (items["quantity"] * items["unit_price"]).groupby(items["order_id"]).sum()
    paid = value.reindex(orders["order_id"]).to_numpy()
    shipping = np.where(paid >= 80, 0.0, np.where(rng.random(len(orders)) < 0.25, 9.9, 4.9))
    columns = ["order_id", "customer_id", "ordered", "device", "voucher", "shipping", "status"]
    return orders.assign(shipping=shipping)[columns]


def _returns(
    rng: np.random.Generator, orders: pd.DataFrame, items: pd.DataFrame, products: pd.DataFrame
) -> pd.DataFrame:
    lines = items.merge(products, on="product_id").merge(orders[["order_id", "ordered", "status"]], on="order_id")
    chance = lines["category"].map(lambda name: _CATEGORIES[name][3]) * lines["trouble"]
    back = (rng.random(len(lines)) < np.minimum(chance, 0.75)) & (lines["status"] == "delivered")
    lines = lines[back]
    days = np.ceil(rng.gamma(4.0, 3.5, len(lines))).astype(int) + 2
    reason = _draw(rng, _REASONS, len(lines)).astype(object)
    reason[rng.random(len(lines)) < 0.14] = None
    return pd.DataFrame(
        {
            "order_id": lines["order_id"].to_numpy(),
            "product_id": lines["product_id"].to_numpy(),
            "returned": np.datetime_as_string(lines["ordered"].to_numpy().astype("datetime64[D]") + days),
            "reason": reason,
            "refund": (lines["quantity"] * lines["unit_price"]).round(2).to_numpy(),
        }
    )


def _holdout(orders: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """One row per order: lines, pieces, device, voucher, and its value in euros without shipping."""
    value = (items["quantity"] * items["unit_price"]).groupby(items["order_id"]).sum()
    by_order = items.groupby("order_id")["quantity"].agg(lines="count", pieces="sum").assign(value=value.round(2))
    return orders.merge(by_order.reset_index(), on="order_id").drop(columns=["order_id", "customer_id", "status"])


DOMAIN = Domain(
    name="orders",
    title="Orders and returns of an online shop",
    about=ABOUT,
    source="generated by this module with numpy's default_rng(variant)",
    licence="Apache-2.0",
    tables=tables,
)
