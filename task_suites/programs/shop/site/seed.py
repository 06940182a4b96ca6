"""Fills an empty shop with the company's data."""

from decimal import Decimal

import company
import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.contrib.sites.models import Site  # noqa: E402
from django.db import transaction  # noqa: E402
from oscar.core.loading import get_model  # noqa: E402
from schema import without_json_checks  # noqa: E402


def pounds(pence: int) -> Decimal:
    """An amount as the shop keeps it."""
    return Decimal(pence) / 100


def model(path: str):
    """A model of Oscar's, such as ``order.Order``."""
    return get_model(*path.split("."))


def fill() -> None:
    """Staff, customers with an address, products with a price and a stock, orders, reviews."""
    users, site = get_user_model(), Site.objects.get()
    Site.objects.update(domain="127.0.0.1:8010", name="Lindqvist Office Goods")
    for name, full in company.EMPLOYEES.items():
        first, last = full.split()
        users.objects.create(
            username=name, first_name=first, last_name=last, email=f"{name}@example.org", is_staff=True,
            is_superuser=name == "maya", date_joined=company.EPOCH,
        )  # fmt: skip
    britain = model("address.Country").objects.create(
        iso_3166_1_a2="GB", iso_3166_1_a3="GBR", iso_3166_1_numeric="826", printable_name="United Kingdom",
        name="United Kingdom of Great Britain and Northern Ireland", is_shipping_country=True,
    )  # fmt: skip
    buyers, homes = {}, {}
    for entry in company.customers():
        buyers[entry["number"]] = user = users.objects.create(
            username=entry["email"].split("@")[0], first_name=entry["first"], last_name=entry["last"],
            email=entry["email"], date_joined=company.EPOCH,
        )  # fmt: skip
        homes[entry["number"]] = {
            "first_name": entry["first"], "last_name": entry["last"], "line1": entry["line1"], "line4": entry["city"],
            "postcode": entry["postcode"], "country": britain,
        }  # fmt: skip
        model("address.UserAddress").objects.create(
            user=user, is_default_for_shipping=True, is_default_for_billing=True, **homes[entry["number"]]
        )
    goods = model("catalogue.ProductClass").objects.create(name="Office goods")
    category = model("catalogue.Category")
    categories = {name: category.objects.add_root(instance=category(name=name)) for name in company.CATEGORIES}
    partner = model("partner.Partner").objects.create(name="Main warehouse")
    products, stock = {}, {}
    for entry in company.products():
        products[entry["number"]] = product = model("catalogue.Product").objects.create(
            title=entry["title"], upc=entry["upc"], product_class=goods, date_created=company.EPOCH,
            description=f"<p>{entry['title']}, article {entry['upc']}.</p>", meta_description="",  # as the page saves
        )  # fmt: skip
        product.categories.add(categories[entry["category"]])
        stock[entry["number"]] = model("partner.StockRecord").objects.create(
            product=product, partner=partner, partner_sku=entry["upc"], price=pounds(entry["price"]),
            num_in_stock=entry["stock"],
        )  # fmt: skip
    prices = {entry["number"]: entry["price"] for entry in company.products()}
    for entry in company.orders():
        goods_total = sum(prices[number] * quantity for number, quantity in entry["lines"])
        total, shipping = pounds(goods_total + entry["shipping"]), pounds(entry["shipping"])
        order = model("order.Order").objects.create(
            number=str(entry["number"]), site=site, user=buyers[entry["customer"]], status=entry["status"],
            currency="GBP",
            total_incl_tax=total, total_excl_tax=total, shipping_incl_tax=shipping, shipping_excl_tax=shipping,
            shipping_method="Parcel", shipping_code="parcel", date_placed=entry["placed"],
            shipping_address=model("order.ShippingAddress").objects.create(**homes[entry["customer"]]),
        )  # fmt: skip
        for number, quantity in entry["lines"]:
            each, whole = pounds(prices[number]), pounds(prices[number] * quantity)
            model("order.Line").objects.create(
                order=order, partner=partner, partner_name=partner.name, partner_sku=products[number].upc,
                stockrecord=stock[number], product=products[number], title=products[number].title,
                upc=products[number].upc, quantity=quantity, line_price_incl_tax=whole, line_price_excl_tax=whole,
                line_price_before_discounts_incl_tax=whole, line_price_before_discounts_excl_tax=whole,
                unit_price_incl_tax=each, unit_price_excl_tax=each, status=entry["status"], num_allocated=0,
            )  # fmt: skip
    review = model("reviews.ProductReview")
    statuses = {"waiting": review.FOR_MODERATION, "approved": review.APPROVED, "rejected": review.REJECTED}
    for entry in company.reviews():
        made = review.objects.create(
            product=products[entry["product"]], user=buyers[entry["customer"]], score=entry["score"],
            title=entry["title"], body=entry["body"], status=statuses[entry["status"]],
        )  # fmt: skip
        review.objects.filter(pk=made.pk).update(date_created=entry["made"])


with transaction.atomic():
    fill()
without_json_checks()
