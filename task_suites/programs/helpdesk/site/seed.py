"""Fills an empty helpdesk with the company's data."""

from datetime import timedelta

import company
import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from helpdesk.models import FollowUp, KBCategory, KBItem, Queue, Ticket  # noqa: E402

agents = {
    name: get_user_model().objects.create(
        username=name, first_name=name.title(), email=f"{name}@example.org", is_staff=True, date_joined=company.EPOCH
    )
    for name in company.AGENTS
}
queues = {
    title: Queue.objects.create(title=title, slug=title.lower(), locale="en", escalate_days=0)
    for title in company.SUBJECTS
}
for entry in company.tickets():
    opened = entry["opened"]
    ticket = Ticket.objects.create(
        title=entry["title"], queue=queues[entry["queue"]], submitter_email=entry["submitter"],
        priority=entry["priority"], assigned_to=agents.get(entry["owner"]), secret_key=entry["secret"],
        status=Ticket.CLOSED_STATUS if entry["closed"] else Ticket.OPEN_STATUS,
        description=f"Reported on {opened:%d %B %Y} at {opened:%H:%M}.",
        resolution="Done as asked." if entry["closed"] else None,
    )  # fmt: skip
    for k, (agent, comment) in enumerate(entry["replies"], 1):
        FollowUp.objects.create(
            ticket=ticket, date=opened + timedelta(minutes=10 * k), title="Comment", public=True,
            user=agents[agent], comment=comment,
        )  # fmt: skip
    Ticket.objects.filter(pk=ticket.pk).update(created=opened, modified=opened)  # a reply saves its ticket
guides = KBCategory.objects.create(name="How to", title="How to", slug="how-to", description="Short guides.")
for title in company.ARTICLES:
    KBItem.objects.create(
        category=guides, title=title, question=f"How do I {title[0].lower()}{title[1:]}?",
        answer="Open the page, fill in the form and save it.", last_updated=company.EPOCH,
    )  # fmt: skip
