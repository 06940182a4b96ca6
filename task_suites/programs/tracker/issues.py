"""What the company's developers have in their tracker, the same for everybody: plain data."""

import random
from datetime import timedelta
from typing import Any

from deskgym.task_suites.programs.company import entities as company

COMPONENTS = ("Web shop", "Warehouse", "Payments", "Reports")
MILESTONES = ("Spring release", "Summer release", "Autumn release")
VERSIONS = ("1.0", "1.1", "2.0")
TYPES = ("defect", "enhancement", "task")
PRIORITIES = ("blocker", "critical", "major", "minor", "trivial")
_WHAT = (
    "{x} does not load", "{x} shows the wrong total", "Sort {x} by date", "Export {x}", "Translate {x}", "{x} is slow",
    "Add a filter to {x}", "{x} loses its settings", "Test {x} on small screens", "Print {x}",
)  # fmt: skip
_THINGS = (
    "the list of orders", "the invoice page", "the stock report", "the basket", "the search page", "the label printer",
    "the customer page", "the price list",
)  # fmt: skip
_COMMENTS = ("I can see it here too.", "Which browser?", "Fixed on my branch.", "Waiting for the designers.")
PAGES = {
    "HandleReturns": ("Returns", ("Open the order in the back office.", "Check that it is shipped.",
                      "Write a note with the reason.", "Tell the customer.")),
    "NewSupplier": ("A new supplier", ("Ask for the tax number.", "Add the partner.", "Send a test order.")),
    "CloseTheMonth": ("Closing the month", ("Export the orders.", "Compare the totals.", "File the report.")),
    "StockTaking": ("Stocktaking", ("Print the list.", "Count each shelf twice.", "Correct the stock.")),
    "AnswerTickets": ("Answering tickets", ("Read the whole ticket.", "Assign it to yourself.", "Reply within a day.")),
    "OnCall": ("On call", ("Keep the phone on.", "Write down every call.", "Hand over on Monday.")),
    "ReleaseTheShop": ("Releasing the shop", ("Close the milestone.", "Tag the code.", "Tell the helpdesk.")),
    "FirstDay": ("The first day", ("Get a badge.", "Ask for an account.", "Meet the team.")),
}  # fmt: skip


def tickets(count: int = 100) -> list[dict[str, Any]]:
    """All tickets: summary, type, component, priority, milestone, version, owner, reporter, opened, comments."""
    draw, made, people = random.Random(100), list[dict[str, Any]](), list(company.EMPLOYEES)
    for number in range(1, count + 1):
        text = draw.choice(_WHAT).format(x=draw.choice(_THINGS))
        made.append(
            {
                "number": number, "summary": f"{text[0].upper()}{text[1:]} ({number:03})", "type": draw.choice(TYPES),
                "component": draw.choice(COMPONENTS), "priority": draw.choice(PRIORITIES),
                "milestone": draw.choice((*MILESTONES, "")), "version": draw.choice(VERSIONS),
                "owner": draw.choice(people), "reporter": draw.choice(people),
                "opened": company.EPOCH + timedelta(minutes=733 * number),
                "comments": [(draw.choice(people), draw.choice(_COMMENTS)) for _ in range(draw.randint(0, 2))],
            }
        )  # fmt: skip
    return made


def text_of(page: str) -> str:
    """A wiki page's text."""
    title, steps = PAGES[page]
    return "\n".join([f"= {title} =", "", *(f" {place}. {step}" for place, step in enumerate(steps, 1)), ""])
