"""Vocabularies: their order tells nothing, and what a task names is always in them."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.envs.action.vocabulary import Vocabulary, words_of
from deskgym.envs.errors import TaskError


@dataclass
class Named:
    """As much of a task as a vocabulary reads."""

    id: str = "a/b#1"
    instruction: str = "Set `x` to 42."
    vocabulary: list = field(default_factory=list)
    keys: list = field(default_factory=list)


WORDS = ["right", "wrong", "neither", "both", "none"]


@given(st.permutations(WORDS))
def test_the_order_in_the_file_does_not_show(words):
    assert Vocabulary.of_task(Named(vocabulary=words), [], 8) == Vocabulary.of_task(Named(vocabulary=WORDS), [], 8)


def test_the_first_word_is_in_every_place_as_often():
    places = [
        Vocabulary.of_task(Named(id=f"a/b#{seed}", vocabulary=WORDS), [], 8).texts.index("right")
        for seed in range(1000)
    ]
    assert all(150 < places.count(place) < 250 for place in range(5))


def test_words_come_before_keys_and_twins_count_once():
    made = Vocabulary.of_task(Named(vocabulary=["b", "a", "b"], keys=["f5", "enter"]), ["enter", "tab"], 8)
    assert sorted(made.texts[:2]) == ["a", "b"] and made.texts[2:] == ("f5", "enter", "tab")
    assert made.kinds == ["word"] * 2 + ["key"] * 3
    assert made.text().splitlines()[2:] == ["2\tkey\tf5", "3\tkey\tenter", "4\tkey\ttab"]


@pytest.mark.parametrize("limit, keys", [(7, ("f5",)), (8, ("f5", "enter")), (9, ("f5", "enter", "tab"))])
def test_what_the_task_names_is_kept_and_other_keys_take_what_room_is_left(limit, keys):
    task = Named(vocabulary=[*WORDS, "all"], keys=["f5"])
    made = Vocabulary.of_task(task, ["enter", "tab"], limit)
    assert sorted(made.texts[:6]) == sorted(task.vocabulary) and made.texts[6:] == keys


def test_a_key_that_there_is_not_is_an_error():
    with pytest.raises(TaskError, match="a/b#1: 'contrl[+]s' is no key"):
        Vocabulary.of_task(Named(keys=["contrl+s"]), [], 5)


def test_a_vocabulary_that_does_not_fit_is_an_error_that_says_what_to_do():
    with pytest.raises(TaskError, match=r"a/b#1.*5 words and 1 keys.*max_arguments=5.*'max_arguments': 6"):
        Vocabulary.of_task(Named(vocabulary=WORDS, keys=["f5"]), [], 5)
    assert len(Vocabulary.of_task(Named(vocabulary=WORDS, keys=["f5"]), [], 5, ["word"]).texts) == 5


def test_kinds_that_no_verb_reads_take_no_room():
    task = Named(vocabulary=WORDS, keys=["f5"])
    assert set(Vocabulary.of_task(task, ["enter"], 8, ["word"]).kinds) == {"word"}
    assert set(Vocabulary.of_task(task, ["enter"], 8, ["key"]).texts) == {"f5", "enter"}
    assert Vocabulary.of_task(task, ["enter"], 8, []) == Vocabulary((), [])


def test_without_a_vocabulary_the_instruction_gives_the_words_the_quoted_ones_first():
    made = Vocabulary.of_task(Named(), ["enter"], 3)
    assert set(made.texts) == {"x", "Set", "enter"}
    assert set(Vocabulary.of_task(Named(), [], 8).texts) == {"x", "Set", "to", "42"}


@pytest.mark.parametrize(
    "instruction, words",
    [
        ("", []),
        ("   \n\t ", []),
        ("...!?", []),
        ("Set the variable `speed` to 42.", ["speed", "Set", "the", "variable", "to", "42"]),
        ('Bring "2D Graph" up', ["2D Graph", "Bring", "up"]),
        ("Bring “2D Graph” up", ["2D Graph", "Bring", "up"]),
        ("from -1.5 to 3.14, then 7.", ["from", "-1.5", "to", "3.14", "then", "7"]),
        ("don't, don't!", ["don't"]),
        ("`a` `a` a", ["a"]),
        ("an `open backtick", ["an", "open", "backtick"]),
        ('empty `` and "" quotes', ["empty", "and", "quotes"]),
        ("Größe über naïve 日本語", ["Größe", "über", "naïve", "日本語"]),
        ("plot y = sin(2*x)+1.", ["plot", "y", "=", "sin(2*x)+1"]),
        ("(set x:=4 (or 5).)", ["set", "x:=4", "or", "5"]),
        ("((a)) f(x)) (b", ["((a))", "f(x)", "b"]),
        ("( ) )(", [")("]),
        ("Ω < 5 & x_1 = 2", ["Ω", "<", "5", "&", "x_1", "=", "2"]),
    ],
)
def test_words_of_odd_instructions(instruction, words):
    assert words_of(instruction) == words


@given(st.text(max_size=200))
def test_words_of_anything_are_unique_and_not_empty_and_stand_in_it(instruction):
    words = words_of(instruction)
    assert len(set(words)) == len(words) and all(words)
    assert all(word in instruction for word in words)


@given(st.lists(st.text(max_size=10), max_size=5))
def test_the_text_has_a_line_per_argument(words):
    made = Vocabulary.of_task(Named(vocabulary=words, instruction=""), [], 8)
    assert [line.split("\t")[:2] for line in made.text().split("\n") if made.texts] == [
        [str(k), "word"] for k in range(len(made.texts))
    ]
