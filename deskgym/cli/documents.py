"""Documents: build a store of documentation for retrieval, and search it."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

from deskgym.cli.output import print_json, print_table, progress

if TYPE_CHECKING:
    from deskgym.retrieval import Store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The three actions and their arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    build = actions.add_parser("build", help="crawl folders of pages (HTML, Markdown, text) and write a store")
    build.add_argument("store", metavar="STORE", help="folder to write; an older store there is replaced")
    build.add_argument(
        "--pages", metavar="PROGRAM=FOLDER", action="append", required=True, help="a program's pages; can be repeated"
    )
    build.add_argument("--form", choices=("text", "markdown", "html"), default="text", help="default: text")
    build.add_argument("--chunk", type=int, default=512, metavar="TOKENS", help="size of a chunk, default 512")
    build.add_argument("--overlap", type=int, default=20, metavar="TOKENS", help="of two chunks, default 20")
    build.add_argument(
        "--exclude", metavar="GLOB", action="append", default=[], help="leave out paths; can be repeated"
    )
    build.add_argument("--embed", default="", metavar="MODULE:NAME", help="function that makes vectors of texts")
    search = actions.add_parser("search", help="show the chunks that fit a question best")
    search.add_argument("store", metavar="STORE", help="the store's folder")
    search.add_argument("question", metavar="QUESTION", help="such as a task's instruction")
    search.add_argument("--program", action="append", default=[], help="look at its documents only; can be repeated")
    search.add_argument("--top", type=int, default=4, metavar="N", help="how many, default 4")
    listing = actions.add_parser("list", help="show what a store has")
    listing.add_argument("store", metavar="STORE", help="the store's folder")
    for action in (build, search, listing):
        action.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Do the action."""
    return {"build": _build, "search": _search, "list": _list}[arguments.action](arguments)


def _build(arguments: argparse.Namespace) -> int:
    from deskgym.retrieval import Store
    from deskgym.retrieval.pages import EXCLUDED

    folders: dict[str, str] = {}
    for text in arguments.pages:
        program, equals, folder = text.partition("=")
        if not (program and equals and folder):
            raise ValueError(f"--pages {text}; legal is PROGRAM=FOLDER, such as dbt=sites/docs.getdbt.com")
        if program in folders:
            raise ValueError(f"--pages {text}: {program!r} has a folder already: {folders[program]}")
        folders[program] = folder
    with progress(arguments.json) as bar:
        shown = bar.add_task("crawling", total=None)
        store = Store.build(
            arguments.store,
            folders,
            form=arguments.form,
            chunk=arguments.chunk,
            overlap=arguments.overlap,
            exclude=(*EXCLUDED, *arguments.exclude),
            embed=arguments.embed,
            report=lambda text, done, total: bar.update(shown, description=text[-60:], completed=done, total=total),
        )
    return _tell(store, arguments.json)


def _list(arguments: argparse.Namespace) -> int:
    from deskgym.retrieval import Store

    return _tell(Store.open(arguments.store), arguments.json)


def _search(arguments: argparse.Namespace) -> int:
    from deskgym.retrieval import Store, context_text

    store = Store.open(arguments.store)
    store.known(arguments.program)
    found = store.search(arguments.question, arguments.program, arguments.top)
    if arguments.json:
        print_json([asdict(chunk) for chunk in found])
    else:
        print(context_text(found) or "nothing fits")
    return 0


def _tell(store: Store, as_json: bool) -> int:
    chunks = Counter(chunk.program for chunk in store.chunks)
    pages = Counter(program for program, _ in {(chunk.program, chunk.source) for chunk in store.chunks})
    if as_json:
        programs = {program: {"pages": pages[program], "chunks": chunks[program]} for program in chunks}
        print_json({"form": store.form, "embed": store.embed, "programs": programs, "skipped": dict(store.skipped)})
        return 0
    rows = [(program, pages[program], count) for program, count in chunks.items()]
    print_table(f"{store.path} ({store.form})", ("program", "pages", "chunks"), rows)
    for reason, count in store.skipped.items():
        print(f"left out: {count} pages, {reason}")
    return 0
