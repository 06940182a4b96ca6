"""A check of the web page in front, as the browser tells it to assistive technology.

The browser that the setup launched is asked, and no other program. Its debugging port is the agent's too, so that
nothing is asked there.
"""

from __future__ import annotations

from collections.abc import Mapping

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.envs.machines.base import Machine
from deskgym.envs.observation.accessible_program import AccessibleProgram, Node

MAX_TEXT = 200_000


def read_page(machine: Machine, browser: str) -> dict[str, str]:
    """``url``, ``title`` and ``text`` of the page in front; ``problem`` where there is none."""
    program = AccessibleProgram(machine, browser)
    root = program.tree()
    if root is None:
        return {"problem": f"{browser} is not running any more"}
    pages = [node for node in root.find_all("document web", state="showing") if node.extents[2] > 0]
    if not pages:
        return {"problem": f"{browser} shows no page"}
    front = pages[0]  # what follows it are frames in it
    try:
        about = program.document(front)
    except LookupError as error:
        return {"problem": f"{browser}'s page is not there any more: {error}"}
    url = about.get("URI") or about.get("DocURL") or ""  # Chromium's name for it, and the other browsers'
    return {"url": url, "title": front.name, "text": page_text(front)[:MAX_TEXT]}


def page_text(page: Node) -> str:
    """The texts and labels of a page in document order, hidden ones left out, separated by one blank."""
    words = [
        node.text.replace("\N{OBJECT REPLACEMENT CHARACTER}", " ").strip() or node.name
        for node in page.walk()
        if not node.children and "showing" in node.states
    ]
    return " ".join(" ".join(words).split())


def web(
    final: FinalState,
    browser: str,
    url: Predicate | str | None = None,
    title: Predicate | str | None = None,
    text: Predicate | str | None = None,
) -> tuple[bool, str]:
    """The page in front of the browser is this one.

    Args:
        final: the final state.
        browser: the name of the program that the setup launched.
        url: its address: all of it, or a predicate of it.
        title: its title, or a predicate of it.
        text: a text that it shows (runs of white space count as one blank), or a predicate of all that it shows.

    Example:
        ```yaml
        - web: {browser: chromium, url: {matches: 'http://127.0.0.1:8080/orders/7.*'}, text: Order paid}
        ```
    """
    page = final.read_once(f"web:{browser}", lambda machine: read_page(machine, browser))
    if "problem" in page:
        raise CheckFailed(page["problem"])
    wrong = []
    for name, want in (("url", url), ("title", title), ("text", text)):
        right = want(page[name]) if isinstance(want, Predicate) else want is None or want == page[name]
        if name == "text" and isinstance(want, str):
            right = " ".join(want.split()) in page["text"]
        if not right:
            wrong.append(f"its {name} is {shown(page[name], 400)}, right is {want if want else shown(want)}")
    return not wrong, "; ".join(wrong) or f"the page is {page['url']}"


CHECKS: Mapping[str, CheckFunction] = {"web": web}
