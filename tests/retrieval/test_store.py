"""Stores of documents: what is crawled, how it is cut, what is found, and what is said of bad input."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.retrieval import Store, context_text
from deskgym.retrieval.chunks import split
from deskgym.retrieval.pages import crawl
from deskgym.wrappers.observation.text_budget import estimated_tokens

FILLER = " ".join(f"word{k}" for k in range(40))


def page(title, body, language="en", head=""):
    return f"<html lang={language}><head><title>{title}</title>{head}</head><body>{body}</body></html>"


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    (folder / "guides").mkdir(parents=True)
    nav = "<nav>Home Pricing Careers</nav><script>alert(1)</script>"
    freshness = f"<h1>Freshness</h1><p>Declare a <code>freshness</code> block on the source.</p><p>{FILLER}</p>"
    canonical = "<link rel=canonical href=https://docs.example.org/snapshots>"
    files = {
        "guides/freshness.html": page("Source freshness", f"{nav}<main>{freshness}</main><footer>(c)</footer>"),
        "guides/snapshots.html": page(
            "Snapshots", f"<p>Snapshots record rows that change. {FILLER}</p>", head=canonical
        ),
        "copy.html": page("Source freshness", f"<main>{freshness}</main>"),
        "deutsch.html": page("Frische", f"<p>{FILLER}</p>", language="de"),
        "search.html": page("Search", f"<p>freshness {FILLER}</p>"),
        "short.html": page("Short", "<p>freshness</p>"),
        "notes.md": f"# Notes on seeds\n\nSeeds are CSV files. {FILLER}",
        "picture.png": "freshness",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "outside.html").symlink_to("/etc/passwd")
    return folder


def test_a_crawl_keeps_what_is_worth_reading_and_counts_the_rest(site):
    skipped = Counter()
    pages = {page.title: page for page in crawl(site, "text", skipped=skipped)}
    assert set(pages) == {"Source freshness", "Snapshots", "Notes on seeds"}
    assert pages["Snapshots"].source == "https://docs.example.org/snapshots"
    assert pages["Source freshness"].source in ("copy.html", "guides/freshness.html")
    assert "Pricing" not in pages["Source freshness"].content
    assert "alert" not in pages["Source freshness"].content
    assert skipped == {
        "excluded by a pattern": 1,
        "not in the language 'en'": 1,
        "fewer than 30 words": 1,
        "the same as another page": 1,
    }


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("text", "Freshness\nDeclare a\nfreshness\nblock on the source."),
        ("markdown", "# Freshness\n\nDeclare a `freshness` block on the source."),
        ("html", "<h1>Freshness</h1><p>Declare a <code>freshness</code> block on the source.</p>"),
    ],
)
def test_a_page_in_each_form(site, form, begins):
    (found,) = [page for page in crawl(site, form, skipped=Counter()) if page.title == "Source freshness"]
    assert found.content.startswith(begins)


def test_a_store_finds_what_fits_and_only_of_the_programs_asked_for(site, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text(f"Freshness of the assets in the graph. {FILLER}")
    Store.build(tmp_path / "store", {"dbt": site, "dagster": other})
    store = Store.open(tmp_path / "store")
    assert store.programs == ("dbt", "dagster")
    first, *_ = store.search("How do I declare source freshness?", ["dbt"])
    assert first.title == "Source freshness"
    assert {chunk.program for chunk in store.search("freshness")} == {"dbt", "dagster"}
    assert {chunk.program for chunk in store.search("freshness", ["dagster"])} == {"dagster"}
    assert len(store.search("freshness word1 word2", top_k=2)) == 2
    assert store.search("zebra") == []
    assert store.search("the of") == []
    assert store.search("freshness", ["airflow"]) == []
    assert store.skipped["excluded by a pattern"] == 1


def test_what_is_found_reads_as_in_the_paper(site, tmp_path):
    store = Store.build(tmp_path / "store", {"dbt": site})
    text = context_text(store.search("snapshots", top_k=1))
    assert text.startswith(
        "Documentation Source:\nhttps://docs.example.org/snapshots\n\nDocumentation Title:\nSnapshots\n\n"
        "Documentation Content:\nSnapshots record"
    )


def vowels(texts):
    """An embedding: how often each vowel is in a text."""
    return np.array([[text.lower().count(vowel) for vowel in "aeiou"] for text in texts], dtype=float)


def test_an_embedding_of_the_users_own(site, tmp_path):
    Store.build(tmp_path / "store", {"dbt": site}, embed=f"{__name__}:vowels")
    store = Store.open(tmp_path / "store")
    best = store.search("e" * 30, top_k=1)[0]
    share = {chunk: vowels([chunk.title + chunk.content])[0] for chunk in store.chunks}
    assert best == max(store.chunks, key=lambda chunk: share[chunk][1] / np.linalg.norm(share[chunk]))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"form": "pdf"}, "form='pdf'; legal are 'text', 'markdown', 'html'"),
        ({"chunk": 10, "overlap": 10}, "chunks of 10 tokens with an overlap of 10"),
        ({"unit": "words"}, "unit='words'; legal are"),
        ({"embed": "no.such:thing"}, "embed='no.such:thing': No module named"),
        ({"embed": f"{__name__}:FILLER"}, "is not callable"),
    ],
)
def test_bad_arguments(site, tmp_path, arguments, says):
    with pytest.raises((ValueError, TypeError), match=says.replace("(", r"\(")):
        Store.build(tmp_path / "store", {"dbt": site}, **arguments)
    assert not (tmp_path / "store").exists()


def test_bad_folders(site, tmp_path):
    with pytest.raises(ValueError, match="nowhere is not there; give a folder of pages"):
        Store.build(tmp_path / "store", {"dbt": tmp_path / "nowhere"})
    with pytest.raises(ValueError, match="no page in .*guides.*: 2 excluded by a pattern"):
        Store.build(tmp_path / "store", {"dbt": site / "guides"}, exclude=["*"])
    with pytest.raises(ValueError, match="site is there and no store of documents"):
        Store.build(site, {"dbt": site})
    assert (site / "notes.md").exists()
    with pytest.raises(ValueError, match="is no store of documents .*deskgym documents build"):
        Store.open(site)
    Store.build(tmp_path / "store", {"dbt": site})
    assert Store.build(tmp_path / "store", {"dbt": site / "guides"}).search("seeds") == []
    with pytest.raises(ValueError, match="no documents of 'dtb'; it has dbt"):
        Store.open(tmp_path / "store").known(["dtb"])


def words(text):
    return len(text.split())


@given(st.text(alphabet="ab .!\n>", max_size=300), st.integers(2, 12), st.integers(0, 11))
def test_chunks_lose_nothing_and_are_not_too_long(text, size, overlap):
    if overlap >= size:
        with pytest.raises(ValueError):
            list(split(text, size, overlap, words))
        return
    chunks = list(split(text, size, overlap, words))
    assert all(0 < words(chunk) <= size for chunk in chunks)
    without = "".join("".join(split(text, size, 0, words)).split())
    assert without == "".join(text.split())


def test_chunks_of_a_long_text_overlap_by_whole_sentences():
    text = " ".join(f"Sentence number {k} says something of its own." for k in range(200))
    chunks = list(split(text, 100, 20, estimated_tokens))
    assert len(chunks) > 10
    for before, after in zip(chunks, chunks[1:], strict=False):
        last = before[before.rindex("Sentence") :]
        assert after.startswith(last)
        assert estimated_tokens(after) <= 100
