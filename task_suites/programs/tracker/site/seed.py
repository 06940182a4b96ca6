"""Fills an empty project with the company's tickets and pages."""

import sys
from datetime import timedelta

import issues
from trac.env import Environment
from trac.perm import PermissionSystem
from trac.ticket.model import Component, Milestone, Ticket, Version
from trac.web.session import DetachedSession
from trac.wiki.model import WikiPage

from deskgym.task_suites.programs.company import entities as company

RIGHTS = ("TICKET_ADMIN", "WIKI_ADMIN", "MILESTONE_ADMIN")  # neither TRAC_ADMIN nor reports in SQL


def fill(env: Environment) -> None:
    """People with their rights; components, milestones, versions, tickets; pages."""
    for login, name in company.EMPLOYEES.items():
        session = DetachedSession(env, login)
        session.update({"name": name, "email": f"{login}@example.org"})
        session.authenticated = True
        session.save()
        for right in RIGHTS:
            PermissionSystem(env).grant_permission(login, right)
    for model, names in ((Component, issues.COMPONENTS), (Milestone, issues.MILESTONES), (Version, issues.VERSIONS)):
        for old in list(model.select(env)):
            old.delete()
        for name in names:
            new = model(env)
            new.name = name
            new.insert()
    for entry in issues.tickets():
        ticket = Ticket(env)
        ticket.populate(
            {key: entry[key] for key in ("summary", "type", "component", "priority", "milestone", "version")}
        )
        ticket["description"], ticket["status"] = f"Seen in version {entry['version']}.", "new"
        ticket["owner"], ticket["reporter"] = entry["owner"], entry["reporter"]
        ticket.insert(when=entry["opened"])
        for place, (login, text) in enumerate(entry["comments"], 1):
            ticket.save_changes(login, text, when=entry["opened"] + timedelta(minutes=50 * place))
    with env.db_transaction as db:
        db("DELETE FROM wiki WHERE name <> 'WikiStart'")
    start = WikiPage(env, "WikiStart")
    start.text = "= Lindqvist Office Goods =\n\n" + "".join(f" * [wiki:{name}]\n" for name in issues.PAGES)
    start.save("maya", "", t=company.EPOCH)
    for place, name in enumerate(issues.PAGES, 1):
        page = WikiPage(env, name)
        page.text = issues.text_of(name)
        page.save("ravi", "", t=company.EPOCH + timedelta(hours=place))


fill(Environment(sys.argv[1]))
