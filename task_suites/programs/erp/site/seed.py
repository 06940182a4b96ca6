"""Fills an empty database with the company's books, people, goods, sales and purchases."""

import os
from datetime import date
from decimal import Decimal

import trade
from proteus import Model, Wizard, config

from deskgym.task_suites.programs.company import entities as company

RIGHTS = ("Sales", "Purchase", "Party Administration", "Product Administration")
YEARS = range(2024, 2036)


def pounds(pence):
    """An amount."""
    return Decimal(pence) / 100


def books():
    """The company, its money, its accounts and years."""
    Party, Currency = Model.get("party.party"), Model.get("currency.currency")
    money = Currency(name="Pound sterling", symbol="\u00a3", code="GBP", rounding=Decimal("0.01"))
    money.save()
    start = Wizard("company.company.config")
    start.execute("company")
    own = Party(name="Lindqvist Office Goods", code="LOG")
    own.save()
    start.form.party, start.form.currency = own, money
    start.execute("add")
    config.get_config()._context = Model.get("res.user").get_preferences(True, {})
    template = Model.get("ir.model.data").get_id("account.account_template_root_en", config.get_config().context)
    chart = Wizard("account.create_chart")
    chart.execute("account")
    chart.form.account_template = Model.get("account.account.template")(template)
    (chart.form.company,) = Model.get("company.company").find()
    chart.execute("create_account")
    Account = Model.get("account.account")
    kinds = {
        kind: Account.find([(f"type.{kind}", "=", True)], limit=1)[0]
        for kind in ("receivable", "payable", "expense", "revenue")
    }
    for kind in ("receivable", "payable"):
        if kinds[kind].party_required:
            setattr(chart.form, f"account_{kind}", kinds[kind])
    chart.form.category_account_expense, chart.form.category_account_revenue = kinds["expense"], kinds["revenue"]
    chart.execute("create_properties")
    return kinds


def sequence(kind, name):
    """A sequence of numbers without gaps."""
    (kind,) = Model.get("ir.sequence.type").find([("name", "=", kind)], limit=1)
    made = Model.get("ir.sequence.strict")(name=name, sequence_type=kind)
    made.save()
    return made


def years():
    """A fiscal year for each of many years, since the clock is today's."""
    for number in YEARS:
        invoices, moves = sequence("Invoice", f"Invoices {number}"), sequence("Account Move", f"Moves {number}")
        year = Model.get("account.fiscalyear")(
            name=str(number), start_date=date(number, 1, 1), end_date=date(number, 12, 31), move_sequence=moves
        )
        (row,) = year.invoice_sequences
        row.out_invoice_sequence = row.in_invoice_sequence = invoices
        row.out_credit_note_sequence = row.in_credit_note_sequence = invoices
        year.save()
        year.click("create_period")


def people():
    """The employees, as users who may trade and no more."""
    User, Group, Party, Employee = map(Model.get, ("res.user", "res.group", "party.party", "company.employee"))
    for login, name in company.EMPLOYEES.items():
        own = Party(name=name)
        own.save()
        employee = Employee(party=own)
        employee.save()
        user = User(name=name, login=login, email=f"{login}@example.org")
        user.groups.extend(Group.find([("name", "in", RIGHTS)]))
        user.employees.append(employee)
        user.employee = employee
        user.save()


def parties():
    """Customers and suppliers, in two lists."""
    Party, made = Model.get("party.party"), ([], [])
    for entry in company.customers():
        party = Party(name=f"{entry['first']} {entry['last']}", code=f"C{entry['number']:02}")
        (address,) = party.addresses
        address.street_unstructured, address.postal_code, address.city = (
            entry["line1"],
            entry["postcode"],
            entry["city"],
        )
        party.contact_mechanisms.new(type="email", value=entry["email"])
        party.save()
        made[0].append(party)
    for entry in trade.suppliers():
        party = Party(name=entry["name"], code=entry["code"])
        (address,) = party.addresses
        address.city = entry["city"]
        party.save()
        made[1].append(party)
    return made


def goods(kinds):
    """The products, in their categories."""
    Category, Template = Model.get("product.category"), Model.get("product.template")
    books = Category(
        name="All goods", accounting=True, account_expense=kinds["expense"], account_revenue=kinds["revenue"]
    )
    books.save()
    shelves = {}
    for name in company.CATEGORIES:
        shelves[name] = Category(name=name)
        shelves[name].save()
    (unit,) = Model.get("product.uom").find([("name", "=", "Unit")])
    made = []
    for entry in company.products():
        template = Template(
            name=entry["title"],
            code=entry["upc"],
            default_uom=unit,
            type="goods",
            list_price=pounds(entry["price"]),
            salable=True,
            purchasable=True,
            account_category=books,
        )
        template.categories.append(Category(shelves[entry["category"]].id))
        template.save()
        made.append(template.products[0])
    return made


def trades(buyers, sellers, products):
    """Sales and purchases."""
    term = Model.get("account.invoice.payment_term")(name="30 days")
    term.lines.new(type="remainder").relativedeltas.new(days=30)
    term.save()
    for entry in trade.sales():
        sale = Model.get("sale.sale")(
            party=buyers[entry["customer"] - 1], payment_term=term, reference=entry["reference"]
        )
        sale.sale_date = None
        for which, quantity in entry["lines"]:
            line = sale.lines.new(product=products[which - 1])
            line.quantity = float(quantity)
        sale.save()
        if entry["state"] == "quotation":
            sale.click("quote")
    for entry in trade.purchases():
        purchase = Model.get("purchase.purchase")(
            party=sellers[entry["supplier"]], payment_term=term, reference=entry["reference"]
        )
        for which, quantity, price in entry["lines"]:
            line = purchase.lines.new(product=products[which - 1])
            line.quantity, line.unit_price = float(quantity), pounds(price)
        purchase.save()
        if entry["state"] == "quotation":
            purchase.click("quote")


if __name__ == "__main__":
    config.set_trytond("erp", user="admin", config_file=os.environ["TRYTOND_CONFIG"])
    for item in Model.get("ir.module.config_wizard.item").find([("state", "=", "open")]):
        item.state = "done"
        item.save()
    kinds = books()
    years()
    people()
    trades(*parties(), goods(kinds))
