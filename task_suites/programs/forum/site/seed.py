"""Fills an empty forum with the company's people and what they have written."""

from datetime import timedelta

import company
import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.db import transaction  # noqa: E402
from spirit.category.models import Category  # noqa: E402
from spirit.comment.models import Comment  # noqa: E402
from spirit.topic.models import Topic  # noqa: E402
from spirit.user.models import UserProfile  # noqa: E402


def fill() -> None:
    """People, of whom Maya is an administrator and the other employees are moderators; sections, topics and posts."""
    people = {}
    staff = [(login, *name.split()) for login, name in company.EMPLOYEES.items()]
    buyers = [(entry["email"].partition("@")[0], entry["first"], entry["last"]) for entry in company.customers()]
    for login, first, last in staff + buyers:
        people[login] = user = get_user_model().objects.create(
            username=login, first_name=first, last_name=last, email=f"{login}@example.org", date_joined=company.EPOCH
        )
        UserProfile.objects.filter(user=user).update(
            nickname=f"{first} {last}", is_administrator=login == "maya", is_moderator=login in company.EMPLOYEES,
            is_verified=True, last_seen=company.EPOCH,
        )  # fmt: skip
    Category.objects.filter(title="Uncategorized").delete()
    sections = {
        title: Category.objects.create(title=title, sort=sort, description=f"{title} of Lindqvist Office Goods")
        for sort, title in enumerate(company.FORUM, 1)
    }
    for entry in company.topics():
        last = entry["opened"] + timedelta(minutes=41 * (len(entry["posts"]) - 1))
        topic = Topic.objects.create(
            user=people[entry["posts"][0][0]], category=sections[entry["section"]], title=entry["title"],
            date=entry["opened"], last_active=last, reindex_at=last, comment_count=len(entry["posts"]),
        )  # fmt: skip
        for place, (login, text) in enumerate(entry["posts"]):
            Comment.objects.create(
                user=people[login], topic=topic, comment=text, comment_html=f"<p>{text}</p>",
                date=entry["opened"] + timedelta(minutes=41 * place),
            )  # fmt: skip


with transaction.atomic():
    fill()
