"""django-oscar, with the company's products, customers, orders and reviews."""

from __future__ import annotations

from pathlib import Path

from deskgym.task_suites.programs.company.django_sites import django_site

SERVICE = django_site("shop", Path(__file__).parent, port=8010, ready="/accounts/login/")
