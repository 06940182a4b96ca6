"""The options of choices: distinct, balanced over seeds, and clear errors."""

from collections import Counter
from dataclasses import replace

import pytest
from shop_domain import DOMAIN, DOMAINS, FOLDER

from deskgym.envs.errors import TaskError
from deskgym.task_suites.table_analysis.choices import CANNOT, Answers, make_choice, read_answers
from deskgym.task_suites.table_analysis.dialogue_file import load_dialogues
from deskgym.task_suites.table_analysis.sampling import places, sample_turn

TABLES = [(k, Answers(f"{k}0", {"lower": f"{k}1", "again": f"{k}0", "right there": "20"})) for k in range(6)]
REASONS = {"wrong reason": f"{CANNOT}: no rows.", "other reason": f"{CANNOT}: no column."}
SHOP_CHOICES = ("by-colour.fast_fail", "dearest.insight_mining", "second-bar.plot_qa")


def drawn(task_id: str, seeds: int):
    file = load_dialogues([FOLDER], DOMAINS)["shop/ada"]
    return [sample_turn(file, DOMAIN, task_id, places(file)[task_id], seed) for seed in range(seeds)]


def test_the_right_one_is_anywhere_as_often_and_options_differ():
    made = [make_choice(TABLES, "a/b", seed) for seed in range(2000)]
    choices = [choice for choice, _ in made]
    orders = Counter("".join(choice.letter for choice in choices[k : k + 4]) for k in range(0, 2000, 4))
    assert all(sorted(order) == ["A", "B", "C", "D"] for order in orders)
    assert len(orders) == 24 and max(orders.values()) < 45  # no order is foreseen: 21 of each are expected
    for choice, variant in made:
        assert len(set(choice.options)) == 4 and choice.options[choice.right] == f"{variant}0"
        assert choice.mistakes[choice.right] == ""
    mistaken = sum("lower" in choice.mistakes for choice in choices)
    assert 420 < mistaken < 580 and {name for c in choices for name in c.mistakes} == {"", "other tables", "lower"}
    assert make_choice(TABLES, "a/b", 7) == made[7]


def test_the_options_do_not_tell_which_is_right():
    """Whoever knows every mistake and every table's answer is right in a third of some, in a quarter of the others."""
    made = [make_choice(TABLES, "a/b", seed) for seed in range(4000)]
    for wanted, chance in [("lower", 1 / 3), (None, 1 / 4)]:
        asked = [choice for choice, _ in made if ("lower" in choice.mistakes) == (wanted is not None)]
        for rank in range(3):
            hits = sum(
                choice.options[choice.right] == sorted(o for o in choice.options if o.endswith("0"))[rank]
                for choice in asked
            )
            assert abs(hits / len(asked) - chance) < 0.045
        if wanted:  # a mistake is made on the right one's table as often as on any other
            own = sum(f"{choice.options[choice.right][:-1]}1" in choice.options for choice in asked)
            assert abs(own / len(asked) - 1 / 3) < 0.045


def test_a_fixed_table_is_the_one_that_is_asked_about():
    for seed in range(40):
        choice, variant = make_choice(TABLES[3:] + TABLES[:3], "a/b", seed, own=3)
        assert variant == 3 and choice.options[choice.right] == "30"


def test_nothing_is_asked_about_tied_tables():
    tables = [(k, replace(answers, tied=k < 2)) for k, answers in TABLES]
    made = [make_choice(tables, "a/b", seed) for seed in range(200)]
    assert not {"00", "10"} & {option for choice, _ in made for option in choice.options}
    assert make_choice(tables, "a/b", 0, own=0) is None


def test_mistakes_are_asked_for_only_where_they_are_offered():
    """And the choice is the same then."""
    asked = []

    def full(variant: int) -> Answers:
        asked.append(variant)
        return dict(TABLES)[variant]

    short = [(k, Answers(answers.right, {})) for k, answers in TABLES]
    made = [make_choice(short, "a/b", seed, full=full) for seed in range(200)]
    assert made == [make_choice(TABLES, "a/b", seed) for seed in range(200)]
    assert len(asked) == sum("lower" in choice.mistakes for choice, _ in made) < 80


def test_a_dialogue_marks_tied_tables(tmp_path):
    text = (FOLDER / "shop-ada.yaml").read_text()
    marked = text.replace("      right = order[1]\n", "      right = order[1]\n      tied = right == '{town}'\n")
    (tmp_path / "shop-ada.yaml").write_text(marked)
    file = load_dialogues([tmp_path], DOMAINS)["shop/ada"]
    task_id = "shop/ada/action/second-bar.plot_qa"
    turns = [sample_turn(file, DOMAIN, task_id, places(file)[task_id], seed) for seed in range(12)]
    assert all(turn.choice.options[turn.choice.right] != turn.params["town"] for turn in turns)
    assert any(turn.choice.options[turn.choice.right] == turn.params["town"] for turn in drawn(task_id, 12))


def test_too_few_options_are_none():
    assert make_choice(TABLES[:1], "a/b", 0) is None
    same = [(k, Answers("1", {"a": "2", "b": "3", "c": "2"})) for k in range(6)]
    assert make_choice(same, "a/b", 0) is None
    values = [(k, Answers("1", {"half": "0.5", **REASONS}, True)) for k in range(6)]
    assert make_choice(values, "a/b", 0) is None


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"right": 12.4, "wrong": {}}, "'right' is a text, got 12.4"),
        ({"right": "1", "wrong": ["2"]}, "'wrong' is a dict of mistake: text"),
        ({"right": "1", "wrong": {"a": 2}}, "'wrong' holds texts by the mistake's name, got 'a': 2"),
    ],
)
def test_ill_formed_answers_are_refused(variables: dict, message: str):
    with pytest.raises(TaskError, match=message):
        read_answers(variables, "best_guess", "it")


def test_fast_fail_is_two_values_and_two_reasons():
    good = {"right": "1", "wrong": {"half": "0.5", **REASONS}, "answerable": True}
    assert read_answers(good, "fast_fail", "it").answerable is True
    for change, message in [
        ({"answerable": 1}, "sets 'answerable' to True or False, got 1"),
        ({"answerable": False}, "answerable is False, but right is '1'"),
        ({"wrong": {"half": "0.5", "third": "0.3", **REASONS}}, "got 5, of which 2 are reasons"),
        ({"wrong": {"half": "0.5", "third": "0.3", "no": REASONS["wrong reason"]}}, "got 4, of which 1 are reasons"),
    ]:
        with pytest.raises(TaskError, match=message):
            read_answers({**good, **change}, "fast_fail", "it")


def test_fast_fail_turns_have_answerable_twins():
    turns = drawn("shop/ada/action/by-colour.fast_fail", 40)
    kinds = Counter(turn.intents[0].kind for turn in turns)
    assert 12 <= kinds["choice"] <= 28 and kinds["choice"] + kinds["unanswerable"] == 40
    for turn in turns:
        right = turn.choice.options[turn.choice.right]
        assert right.startswith(CANNOT) == (turn.intents[0].kind == "unanswerable")
        assert sum(option.startswith(CANNOT) for option in turn.choice.options) == 2


def test_the_values_do_not_tell_that_nothing_can_be_answered():
    """They are right ones of other questions then, not the mean of a column that is not there."""
    nothing = Answers(f"{CANNOT}: no rows.", {"made up": "3", "again": "4", "other": f"{CANNOT}: no column."}, False)
    asked = [(k, nothing) for k in range(6)]
    others = [(k, Answers(f"{k}0", {}, True)) for k in range(6)]
    choice, variant = make_choice(asked, "a/b", 0, values=others)
    assert {"00", "10"} < {*choice.options} and variant == 0 and choice.options[choice.right] == nothing.right


def test_a_choice_has_its_own_parameters_and_right_text():
    turns = drawn("shop/ada/action/dearest.insight_mining", 40)
    assert len({turn.params["rank"] for turn in turns}) == 3
    for turn in turns:
        assert turn.params["rank"] in turn.query and "rank" not in turn.title
        means = DOMAIN.tables(turn.variant)["sales"].groupby("town")["price"].mean().sort_values(ascending=False)
        place = ["first", "second", "third"].index(turn.params["rank"])
        assert turn.choice.options[turn.choice.right] == means.index[place]


def test_a_choice_without_distinct_options_is_drawn_anew_or_refused(tmp_path):
    text = (FOLDER / "shop-ada.yaml").read_text()
    few = 'right, wrong = "one", {"a": "two", "b": "three"}'
    code = '      wrong = {f"place {k}": means.index[k] for k in range(4) if k != place}\n'
    assert code in text
    sometimes = text.replace(code, f"{code}      if {{units}} < 4: {few}\n")
    (tmp_path / "shop-ada.yaml").write_text(sometimes)
    file = load_dialogues([tmp_path], DOMAINS)["shop/ada"]
    task_id = "shop/ada/action/dearest.insight_mining"
    place = places(file)[task_id]
    turns = [sample_turn(file, DOMAIN, task_id, place, seed) for seed in range(20)]
    assert all(turn.params["units"] >= 4 for turn in turns)
    # What is drawn anew stays in the split of the seed, which other turns of it tell.
    plain = "shop/ada/normal/mean-price"
    assert [turn.split for turn in turns] == [
        sample_turn(file, DOMAIN, plain, places(file)[plain], seed).split for seed in range(20)
    ]
    (tmp_path / "shop-ada.yaml").write_text(sometimes.replace("if {units} < 4: ", ""))
    file = load_dialogues([tmp_path], DOMAINS)["shop/ada"]
    with pytest.raises(
        TaskError, match="shop/ada/action/dearest.insight_mining#0: a choice has fewer than 4 options that differ"
    ):
        sample_turn(file, DOMAIN, task_id, place, 0)


def test_failing_choice_code_names_its_line(tmp_path):
    text = (FOLDER / "shop-ada.yaml").read_text().replace("right = order[1]", "right = order[11]")
    (tmp_path / "shop-ada.yaml").write_text(text)
    file = load_dialogues([tmp_path], DOMAINS)["shop/ada"]
    task_id = "shop/ada/action/second-bar.plot_qa"
    with pytest.raises(TaskError, match=r"turn 'second-bar', seed 0: its code: IndexError.*right = order\[11\]"):
        sample_turn(file, DOMAIN, task_id, places(file)[task_id], 0)
