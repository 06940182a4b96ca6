"""Makes the table of the website's pages."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """As Django writes it."""

    initial = True
    dependencies = [("wagtailcore", "0098_apitoken")]
    operations = [
        migrations.CreateModel(
            name="SitePage",
            fields=[
                (
                    "page_ptr",
                    models.OneToOneField(
                        auto_created=True, on_delete=django.db.models.deletion.CASCADE, parent_link=True,
                        primary_key=True, serialize=False, to=settings.WAGTAIL_PAGE_MODEL,
                    ),
                ),
                ("summary", models.TextField(blank=True)),
                ("body", models.TextField(blank=True)),
            ],
            options={"abstract": False},
            bases=("wagtailcore.page",),
        )
    ]  # fmt: skip
