"""Which instances have every choice, and an oracle that one choice defeats."""

import json
import re

import pytest

from deskgym.cli import main
from deskgym.task_suites.core.suite import TaskSuite
from deskgym.task_suites.core.verify.choices import seeds_of_choices

TASK = """\
id: files/word
title: A word
instruction: Answer {word[is]}.
difficulty: easy
end: answer
params:
  word:
    choice:
      - {is: ant, said: ant}
      - {is: bee, said: bee}
      - {is: cat, said: cat}
      - {is: dog, said: dog}
      - {is: gnu, said: gnat}
  size: {choice: [1, 2, 3]}
  number: {integer: [1, 9]}
checks:
  - answer.text: "{word[is]}"
oracle:
  - answer: "{word[said]}"
wrong:
  another word:
    - answer: fly
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "word.yaml").write_text(TASK)
    return tmp_path


def values(template, seeds):
    return {(name, str(template.draw(seed)[name])) for seed in seeds for name in ("word", "size")}


@pytest.mark.parametrize("proven", [0, 1, 3])
def test_every_choice_is_had_by_few_instances(folder, proven):
    template = TaskSuite("notes", folder).templates["files/word"]
    seeds = seeds_of_choices(template, proven)
    assert values(template, [*range(proven), *seeds]) == values(template, range(200))
    assert len(values(template, range(200))) == 8 and len(seeds) <= 7 and not set(seeds) & set(range(proven))


def test_without_choices_there_is_nothing_to_add(folder):
    text = re.sub(r"(word|size):\s+{?choice:(.*}|(\n      .*)+)", r"\1: {integer: [1, 3]}", TASK)
    text = text.replace("[is]", "").replace("[said]", "")
    (folder / "word.yaml").write_text(text)
    assert seeds_of_choices(TaskSuite("notes", folder).templates["files/word"], 0) == []


@pytest.mark.sandbox
def test_an_oracle_that_a_choice_defeats_is_found(folder, capsys):
    assert main(["verify", str(folder), "--choices", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    template = TaskSuite("notes", folder).templates["files/word"]
    [unsolved] = found["unsolved"]
    assert template.draw(int(unsolved["instance"].partition("#")[2]))["word"]["is"] == "gnu"
    assert "score 0, must be 1" in unsolved["problem"] and found["played"] > 1


def test_dialogues_have_no_templates(capsys):
    assert main(["verify", "table_analysis", "--choices"]) == 1
    assert "drawn from no templates" in capsys.readouterr().err


@pytest.mark.sandbox
def test_one_instance_is_played_without_a_ledger(folder, capsys):
    template = TaskSuite("notes", folder).templates["files/word"]
    seed = next(seed for seed in range(50) if template.draw(seed)["word"]["is"] == "bee")
    assert main(["verify", str(folder), "--task", f"files/word#{seed}", "--resets", "1"]) == 0
    assert "1 of 1 tasks are as they must be" in capsys.readouterr().out and not (folder / "proofs.jsonl").exists()
