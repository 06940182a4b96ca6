"""Pages of a folder: documentation as HTML, Markdown or text, such as the copy of a site that wget or HTTrack made."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from deskgym.envs.extras import needs_extra

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

FORMS = ("text", "markdown", "html")
"""What a page is turned into; ``"html"`` keeps the tags that mean something, without their attributes."""

EXCLUDED = ("*/404*", "404*", "*search*", "*genindex*", "*/tags/*", "*/tag/*")
"""Globs of paths that no store wants: search forms, indexes, lists of tags."""

MIN_WORDS, MAX_BYTES = 30, 8 << 20
_KINDS = {".html": "html", ".htm": "html", ".md": "plain", ".rst": "plain", ".txt": "plain"}
_NOISE = (
    "script", "style", "noscript", "nav", "header", "footer", "aside", "form", "button", "svg", "iframe", "template",
    "[role=navigation]", "[role=banner]", "[role=contentinfo]", "[role=search]", "[aria-hidden=true]",
)  # fmt: skip
_MAIN = ("main", "[role=main]", "article", "body")
_KEPT = {
    "h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "dl", "dt", "dd", "pre", "code", "table", "tr", "th",
    "td", "strong", "em", "blockquote",
}  # fmt: skip


@dataclass(frozen=True)
class Page:
    """A page in one of the ``FORMS``.

    Attributes:
        source: its address, where the page says it, else its path in the folder.
        title: of the page, or its file's name.
        content: what it says.
    """

    source: str
    title: str
    content: str


def crawl(
    folder: Path, form: str, *, exclude: Sequence[str] = EXCLUDED, language: str = "en", skipped: Counter[str]
) -> Iterator[Page]:
    """Every page of a folder that is worth keeping, in the order of their paths.

    Args:
        folder: the pages, at any depth; links out of it are not followed.
        form: one of ``FORMS``; what is no HTML stays as it is.
        exclude: globs of paths, relative to the folder.
        language: pages that say another one are left out.
        skipped: counts the others by reason.

    Raises:
        ValueError: the folder or the form is not one.
    """
    if form not in FORMS:
        raise ValueError(f"form={form!r}; legal are {', '.join(map(repr, FORMS))}")
    if not folder.is_dir():
        raise ValueError(f"{folder} is {'not a folder' if folder.exists() else 'not there'}; give a folder of pages")
    seen: set[bytes] = set()
    for path in sorted(folder.rglob("*")):
        kind, name = _KINDS.get(path.suffix.lower()), path.relative_to(folder).as_posix()
        if kind is None or path.is_symlink() or not path.is_file():
            continue
        if any(fnmatchcase(name, glob) for glob in exclude):
            skipped["excluded by a pattern"] += 1
        elif path.stat().st_size > MAX_BYTES:
            skipped[f"larger than {MAX_BYTES >> 20} MiB"] += 1
        else:
            text = path.read_text("utf-8", "replace")
            page = _read_html(text, name, form, language) if kind == "html" else Page(name, _heading(text, path), text)
            if page is None:
                skipped[f"not in the language {language!r}"] += 1
            elif len(page.content.split()) < MIN_WORDS:
                skipped[f"fewer than {MIN_WORDS} words"] += 1
            elif (digest := hashlib.sha256(page.content.encode()).digest()) in seen:
                skipped["the same as another page"] += 1
            else:
                seen.add(digest)
                yield page


def _heading(text: str, path: Path) -> str:
    """The first heading of a Markdown or text file, or its name."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return first.lstrip("#= ").strip() if first.startswith("#") else path.stem


def _read_html(text: str, name: str, form: str, language: str) -> Page | None:
    with needs_extra("retrieval", "HTML pages need"):
        from bs4 import BeautifulSoup

    soup = BeautifulSoup(text, "html.parser")
    said = str(soup.html.get("lang") or "") if soup.html else ""
    if said and not said.lower().startswith(language.lower()):
        return None
    link = soup.select_one("link[rel=canonical][href]")
    source = str(link["href"]) if link else name
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    main = _main_content(soup)
    return Page(source, title or Path(name).stem, _in_form(main, form) if main else "")


def _main_content(soup: BeautifulSoup) -> Tag | None:
    """What a page is about: its main part, without navigation, forms and scripts."""
    for noise in soup.select(",".join(_NOISE)):
        noise.decompose()
    return next((found for select in _MAIN if (found := soup.select_one(select))), None)


def _in_form(main: Tag, form: str) -> str:
    if form == "markdown":
        with needs_extra("retrieval", "pages as Markdown need"):
            from markdownify import MarkdownConverter

        text = MarkdownConverter(heading_style="ATX", strip=["a", "img"]).convert_soup(main)
    elif form == "html":
        for tag in main.find_all(True):
            tag.attrs = {}
            if tag.name not in _KEPT:
                tag.unwrap()
        text = main.decode_contents()
    else:
        text = main.get_text("\n", strip=True)
    return re.sub(r"\n\s*\n+", "\n\n", str(text)).strip()
