"""deskgym documents: builds, searches and lists stores, and says what is wrong in one line."""

import json

import pytest

from deskgym.cli import main


@pytest.fixture
def pages(tmp_path):
    (tmp_path / "pages").mkdir()
    text = "Snapshots record how rows change over time. " + " ".join(f"word{k}" for k in range(40))
    (tmp_path / "pages" / "snapshots.md").write_text(f"# Snapshots\n\n{text}")
    (tmp_path / "pages" / "short.md").write_text("# Short")
    return tmp_path / "pages"


def test_build_search_and_list(pages, tmp_path, capsys):
    store = str(tmp_path / "store")
    assert main(["documents", "build", store, "--pages", f"dbt={pages}", "--json"]) == 0
    built = json.loads(capsys.readouterr().out)
    assert built["programs"] == {"dbt": {"pages": 1, "chunks": 1}}
    assert built["skipped"] == {"fewer than 30 words": 1}
    assert main(["documents", "search", store, "how do rows change?"]) == 0
    assert "Documentation Title:\nSnapshots" in capsys.readouterr().out
    assert main(["documents", "search", store, "zebra"]) == 0
    assert capsys.readouterr().out == "nothing fits\n"
    assert main(["documents", "list", store]) == 0
    assert "left out: 1 pages, fewer than 30 words" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["build", "STORE", "--pages", "dbt"], "--pages dbt; legal is PROGRAM=FOLDER"),
        (["build", "STORE", "--pages", "dbt=nowhere"], "nowhere is not there; give a folder of pages"),
        (["build", "STORE", "--pages", "a=PAGES", "--pages", "a=PAGES"], "'a' has a folder already"),
        (["list", "PAGES"], "is no store of documents"),
    ],
)
def test_bad_input_is_one_line(pages, tmp_path, capsys, argv, says):
    places = {"STORE": str(tmp_path / "store"), "PAGES": str(pages)}
    argv = [places.get(word, word.replace("PAGES", str(pages))) for word in argv]
    assert main(["documents", *argv]) == 1
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
