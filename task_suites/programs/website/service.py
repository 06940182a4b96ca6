"""Wagtail, with the company's website."""

from __future__ import annotations

from pathlib import Path

from deskgym.task_suites.programs.company.django_sites import django_site

HERE = Path(__file__).parent
SERVICE = django_site("website", HERE, port=8040, ready="/admin/login/", more=(HERE / "content.py",))
