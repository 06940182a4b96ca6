"""A page with a summary and a text."""

from django.db import models
from wagtail.admin.panels import FieldPanel
from wagtail.models import Page


class SitePage(Page):
    """A page of the website."""

    summary = models.TextField(blank=True)
    body = models.TextField(blank=True)
    content_panels = [*Page.content_panels, FieldPanel("summary"), FieldPanel("body")]
    template = "page.html"
