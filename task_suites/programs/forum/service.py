"""Spirit, with what the company's people have written."""

from __future__ import annotations

from pathlib import Path

from deskgym.task_suites.programs.company.django_sites import django_site

SERVICE = django_site("forum", Path(__file__).parent, port=8020, ready="/user/login/")
