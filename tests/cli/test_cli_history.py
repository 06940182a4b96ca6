"""deskgym history, on a suite of two small dialogues."""

import argparse
import json
import sys

import pytest
from fake_suite import FakeSource

from deskgym.cli import history
from deskgym.envs.errors import DeskgymError, TaskError
from deskgym.task_suites import find_entry
from deskgym.task_suites.table_analysis.turns import Choice, Intent, Past, Turn

PLOT = Past("Draw it.", "penguins.plot()", plot=True)


def make_turn(domain, name, seed, **rest):
    return Turn(
        f"{domain}/ines/normal/{name}#{seed}", domain, seed, "Ines", "Decide.",
        **{
            "mode": "normal", "action": "", "query": f"What of {name} {seed}?", "history": (),
            "code": f"{name} = {seed}", "intents": (Intent(name, "value"),), "wrong": {}, "seed": seed,
        } | rest,
    )  # fmt: skip


class Suite:
    """Two dialogues; of ``birds/broken`` there is one only where it is asked to be."""

    broken = False

    def dialogue_ids(self):
        return ["penguins/ines/normal", "bikes/ines/normal"] + ["birds/broken/normal"] * self.broken

    def dialogue_turns(self, dialogue_id, seed):
        domain = dialogue_id.partition("/")[0]
        if domain == "birds":
            raise KeyboardInterrupt
        about_plot = {"mode": "action", "action": "plot_qa", "history": (PLOT,), "choice": Choice(("high", "low"), 1)}
        return (make_turn(domain, "mass", seed), make_turn(domain, "shape", seed, **about_plot))


def suite(entry, mode):
    return Suite()


@pytest.fixture
def command(capsys, monkeypatch):
    monkeypatch.setitem(vars(find_entry("table_analysis")), "load", f"{__name__}:suite")

    def run(*argv):
        parser = argparse.ArgumentParser()
        history.add_arguments(parser)
        status = history.run(parser.parse_args([str(word) for word in argv]))
        return status, capsys.readouterr().out

    return run


@pytest.fixture
def database(command, tmp_path):
    command("build", tmp_path / "h.db", "--seeds", 2, "--seed", 7)
    return tmp_path / "h.db"


def listed(command, database, *argv):
    return [row["id"] for row in json.loads(command("list", database, "--json", *argv)[1])["turns"]]


def test_build_and_list(command, tmp_path):
    path = tmp_path / "h.db"
    status, out = command("build", path)
    assert (status, out) == (0, f"{path}: 4 turns of 2 dialogues\n")
    status, out = command("list", path)
    assert status == 0 and "4 turns" in out and "What of mass 0?" in out
    assert json.loads(command("build", path, "--seeds", 3, "--json")[1])["turns"] == 12
    assert len(listed(command, path)) == 12


def test_one_domain_from_a_seed(command, tmp_path):
    path = tmp_path / "h.db"
    command("build", path, "--domain", "bikes", "--seed", 9)
    assert listed(command, path) == ["bikes/ines/normal/mass#9", "bikes/ines/normal/shape#9"]
    with pytest.raises(ValueError, match="no domain 'bike'; legal are bikes, penguins; did you mean 'bikes'"):
        command("build", path, "--domain", "bike")
    assert len(listed(command, path)) == 2


def test_list_by_a_condition(command, database):
    assert listed(command, database, "--where", "action = 'plot_qa' AND seed = 8") == [
        "bikes/ines/normal/shape#8", "penguins/ines/normal/shape#8",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="cannot be used"):
        command("list", database, "--where", "1); DROP TABLE turns; --")


def test_show_a_turn(command, database):
    status, out = command("show", database, "penguins/ines/normal/shape#7")
    assert status == 0 and "plot_qa" in out
    assert out.endswith("\nUser: Draw it.\n\npenguins.plot()\n\nUser: What of shape 7?\n\nshape = 7\n\nlow\n")
    data = json.loads(command("show", database, "penguins/ines/normal/shape#7", "--json")[1])
    assert data["answer"] == "low" and [entry["query"] for entry in data["entries"]] == ["Draw it.", "What of shape 7?"]


def test_an_unknown_turn_or_database(command, database, tmp_path):
    with pytest.raises(TaskError, match="did you mean 'penguins/ines/normal/mass#7'"):
        command("show", database, "penguins/ines/normal/mas#7")
    with pytest.raises(DeskgymError, match="no history database"):
        command("list", tmp_path / "none.db")


def test_an_interrupted_build_leaves_what_was_there(command, database, monkeypatch):
    before = database.read_bytes()
    monkeypatch.setattr(Suite, "broken", True)
    with pytest.raises(KeyboardInterrupt):
        command("build", database)
    assert database.read_bytes() == before and list(database.parent.iterdir()) == [database]


@pytest.mark.parametrize("argv", [("--seeds", 0), ("--seed", -1)])
def test_bad_numbers(command, tmp_path, argv):
    with pytest.raises(ValueError, match="legal are a seed from 0 and 1 or more"):
        command("build", tmp_path / "h.db", *argv)


def test_a_suite_without_dialogues(command, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "suite", lambda entry, mode: FakeSource())
    with pytest.raises(TaskError, match="no dialogues"):
        command("build", tmp_path / "h.db")
