"""What is on the company's website, the same for everybody: plain data."""

import random
from typing import Any

SECTIONS = ("News", "Jobs", "Guides", "Offices")
_TITLES = {
    "News": ("Open day at {x}", "New shelves in {x}", "A prize for {x}", "Moving to {x}", "Summer hours in {x}"),
    "Jobs": ("Packer in {x}", "Driver in {x}", "Accountant in {x}", "Cook in {x}", "Buyer in {x}"),
    "Guides": ("Choosing a desk in {x}", "Light for {x}", "A quiet room in {x}", "Sitting well in {x}"),
    "Offices": ("Our team in {x}", "How to find {x}", "Parking in {x}", "Rooms in {x}"),
}
PLACES = ("Leeds", "York", "Bath", "Bristol", "London", "Oslo", "Turin", "Ghent", "Porto", "Brno")
_SUMMARIES = ("Read more.", "In short.", "For everybody.", "What you should know.")


def pages(count: int = 48) -> list[dict[str, Any]]:
    """All pages below the sections: number, section, title, summary, body, live."""
    draw, made = random.Random(48), list[dict[str, Any]]()
    for number in range(1, count + 1):
        section = SECTIONS[number % len(SECTIONS)]
        place = draw.choice(PLACES)
        made.append(
            {
                "number": number, "section": section, "summary": draw.choice(_SUMMARIES), "live": number % 3 != 0,
                "title": f"{draw.choice(_TITLES[section]).format(x=place)} ({number:02})",
                "body": f"Write to {place.lower()}@example.org.",
            }
        )  # fmt: skip
    return made
