"""A store of documents: chunks of pages by program, and an index that finds those that fit a question, offline."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.errors import near
from deskgym.envs.extras import needs_extra
from deskgym.retrieval.chunks import split
from deskgym.retrieval.pages import EXCLUDED, crawl
from deskgym.wrappers.observation.text_budget import measure

Embed = Callable[[Sequence[str]], NDArray[np.floating[Any]]]
"""Texts → one row of numbers for each, such as a SentenceTransformer's ``encode``."""

CHUNK_TOKENS, OVERLAP_TOKENS, TOP_K = 512, 20, 4
"""As in Spider2-V's paper (appendix, retrieval)."""

_FORMAT = 1
_FILES = ("store.json", "chunks.jsonl", "bm25", "vectors.npy")


@dataclass(frozen=True)
class Chunk:
    """A part of a page.

    Attributes:
        program: that it is about.
        source: the page's address or path.
        title: the page's.
        content: the text.
    """

    program: str
    source: str
    title: str
    content: str


@dataclass(frozen=True)
class Store:
    """Chunks and their index, as they lie in a folder.

    Attributes:
        path: the folder.
        chunks: all of them.
        form: what the pages were turned into: ``"text"``, ``"markdown"`` or ``"html"``.
        embed: where the function that makes vectors of texts is, as ``"module:name"``; "" for words alone (BM25).
        skipped: how many pages were left out, by reason.
    """

    path: Path
    chunks: tuple[Chunk, ...]
    form: str
    embed: str = ""
    skipped: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        path: str | Path,
        folders: Mapping[str, str | Path],
        *,
        form: str = "text",
        chunk: int = CHUNK_TOKENS,
        overlap: int = OVERLAP_TOKENS,
        unit: str = "tokens",
        exclude: Sequence[str] = EXCLUDED,
        language: str = "en",
        embed: str = "",
        report: Callable[[str, int, int], None] = lambda text, done, total: None,
    ) -> Store:
        """Crawl folders of pages and write a store.

        Args:
            path: the store's folder; an older store there is replaced, anything else is not.
            folders: program → folder with its pages.
            form: ``"text"``, ``"markdown"`` or ``"html"``.
            chunk: size of a chunk, in ``unit``.
            overlap: of two chunks, in ``unit``.
            unit: see ``deskgym.wrappers.observation.text_budget.measure``.
            exclude: globs of paths to leave out.
            language: pages that say another one are left out.
            embed: ``"module:name"`` of an ``Embed`` function, for a search by meaning.
            report: called with what is being done, how far it is, and of how much.

        Raises:
            ValueError: an argument is not legal, or there is no page.
            MissingLibrary: the extra ``retrieval`` is not installed.
        """
        path, length = Path(path).expanduser(), measure(unit)
        if path.exists() and any(path.iterdir() if path.is_dir() else [path]) and not (path / _FILES[0]).is_file():
            raise ValueError(f"{path} is there and no store of documents; give the path of a new one")
        skipped: Counter[str] = Counter()
        chunks: list[Chunk] = []
        for k, (program, folder) in enumerate(folders.items()):
            for page in crawl(Path(folder).expanduser(), form, exclude=exclude, language=language, skipped=skipped):
                report(f"{program}: {page.source}", k, len(folders))
                for content in split(page.content, chunk, overlap, length):
                    chunks.append(Chunk(program, page.source, page.title, content))
        if not chunks:
            why = "; ".join(f"{count} {reason}" for reason, count in skipped.items()) or "they have none"
            raise ValueError(f"no page in {', '.join(map(str, folders.values())) or 'no folder'}: {why}")
        store = cls(path, tuple(chunks), form, embed, dict(skipped))
        report("indexing", len(folders), len(folders))
        store._write()
        return store

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """A store that was built.

        Raises:
            ValueError: there is none, or it was written by another version.
        """
        path = Path(path).expanduser()
        try:
            about = json.loads((path / _FILES[0]).read_text())
            lines = (path / _FILES[1]).read_text().splitlines()
        except OSError as error:
            raise ValueError(
                f"{path} is no store of documents ({error.strerror}); make one with `deskgym documents build`"
            ) from error
        if about.get("format") != _FORMAT:
            raise ValueError(f"{path} is of another version of deskgym; build it again")
        return cls(
            path, tuple(Chunk(**json.loads(line)) for line in lines), about["form"], about["embed"], about["skipped"]
        )

    @property
    def programs(self) -> tuple[str, ...]:
        """Those that it has documents of."""
        return tuple(dict.fromkeys(chunk.program for chunk in self.chunks))

    def search(self, question: str, programs: Iterable[str] = (), top_k: int = TOP_K) -> list[Chunk]:
        """The chunks that fit best, best first; fewer where no more have anything to do with the question.

        Args:
            question: such as a task's instruction.
            programs: look at their documents only; of those that the store does not have, nothing is found. None named
                means all.
            top_k: how many.
        """
        wanted = set(programs)
        mask = np.array([not wanted or chunk.program in wanted for chunk in self.chunks], dtype=np.float32)
        scores = (self._meanings(question) if self.embed else self._words(question)) * mask
        best = np.argsort(-scores, kind="stable")[:top_k]
        return [self.chunks[k] for k in best if scores[k] > 0]

    def known(self, programs: Sequence[str]) -> None:
        """Raises ValueError where the store has no documents of a program."""
        for program in programs:
            if program not in self.programs:
                raise ValueError(
                    f"{self.path} has no documents of {program!r}; it has {', '.join(self.programs)}"
                    f"{near(program, self.programs)}"
                )

    # --- the index

    def _write(self) -> None:
        new = self.path.with_name(f".{self.path.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        (new / _FILES[1]).write_text("".join(f"{json.dumps(asdict(chunk))}\n" for chunk in self.chunks))
        texts = [f"{chunk.title}\n{chunk.content}" for chunk in self.chunks]
        if self.embed:
            np.save(new / _FILES[3], _unit_rows(self._embedder()(texts), len(texts)))
        else:
            index = _bm25().BM25()
            index.index(_tokens(texts), show_progress=False)
            index.save(str(new / _FILES[2]))
        about = {"format": _FORMAT, "form": self.form, "embed": self.embed, "skipped": self.skipped}
        (new / _FILES[0]).write_text(json.dumps(about))
        if self.path.exists():
            shutil.rmtree(self.path)
        new.rename(self.path)

    def _words(self, question: str) -> NDArray[np.floating[Any]]:
        index = self._once("bm25", lambda: _bm25().BM25.load(str(self.path / _FILES[2]), load_corpus=False))
        known = [word for word in _tokens([question])[0] if word in index.vocab_dict]
        return np.asarray(index.get_scores(known)) if known else np.zeros(len(self.chunks))

    def _meanings(self, question: str) -> NDArray[np.floating[Any]]:
        vectors = self._once("vectors", lambda: np.load(self.path / _FILES[3], allow_pickle=False))
        return np.asarray(vectors @ _unit_rows(self._embedder()([question]), 1)[0])

    def _embedder(self) -> Embed:
        try:
            return resolve_name(self.embed)  # type: ignore[no-any-return]
        except (ValueError, ImportError, AttributeError) as error:
            raise ValueError(f"embed={self.embed!r}: {error}; legal is 'module:name' of a function") from error

    def _once(self, name: str, load: Callable[[], Any]) -> Any:
        if name not in self.__dict__:
            object.__setattr__(self, name, load())
        return self.__dict__[name]


def context_text(chunks: Iterable[Chunk]) -> str:
    """Chunks as Spider2-V puts them into its prompt."""
    return "\n\n\n\n".join(
        f"Documentation Source:\n{chunk.source}\n\nDocumentation Title:\n{chunk.title}\n\n"
        f"Documentation Content:\n{chunk.content}"
        for chunk in chunks
    )


def _unit_rows(vectors: Any, count: int) -> NDArray[np.float32]:
    found = np.asarray(vectors, dtype=np.float32)
    if found.ndim != 2 or len(found) != count:
        raise ValueError(f"the embedding of {count} texts has the shape {found.shape}; legal is ({count}, N)")
    return np.asarray(found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12), dtype=np.float32)


def _bm25() -> Any:
    with needs_extra("retrieval", "stores of documents need"):
        import bm25s

    return bm25s


def _tokens(texts: list[str]) -> list[list[str]]:
    return _bm25().tokenize(texts, stopwords="en", return_ids=False, show_progress=False)  # type: ignore[no-any-return]
