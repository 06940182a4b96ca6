"""Fills an empty website with the company's people and pages."""

import company
import content
import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.contrib.auth.models import Group  # noqa: E402
from django.db import transaction  # noqa: E402
from pages.models import SitePage  # noqa: E402
from schema import without_json_checks  # noqa: E402
from wagtail.models import Page, Site  # noqa: E402


def fill() -> None:
    """Maya, who may do all, and the others, who may edit; a front page, sections, and their pages."""
    for login, name in company.EMPLOYEES.items():
        first, last = name.split()
        user = get_user_model().objects.create(
            username=login, first_name=first, last_name=last, email=f"{login}@example.org", date_joined=company.EPOCH,
            is_superuser=login == "maya",
        )  # fmt: skip
        user.groups.add(Group.objects.get(name="Editors"))
    maya = get_user_model().objects.get(username="maya")
    Site.objects.all().delete()
    Page.objects.filter(depth=2).delete()
    root = Page.objects.get(depth=1)
    home = root.add_child(instance=SitePage(title="Lindqvist Office Goods", slug="home", owner=maya))
    Site.objects.create(hostname="127.0.0.1", port=8040, root_page=home, is_default_site=True)
    sections = {}
    for title in content.SECTIONS:
        sections[title] = Page.objects.get(pk=home.pk).add_child(instance=SitePage(title=title, owner=maya))
    for entry in content.pages():
        texts = {key: entry[key] for key in ("title", "summary", "body", "live")}
        page = SitePage(owner=maya, **texts)
        page.has_unpublished_changes = not entry["live"]
        Page.objects.get(pk=sections[entry["section"]].pk).add_child(instance=page)
    Page.objects.update(
        first_published_at=company.EPOCH, last_published_at=company.EPOCH, latest_revision_created_at=company.EPOCH
    )


with transaction.atomic():
    fill()
without_json_checks()
