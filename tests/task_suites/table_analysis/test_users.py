"""Simulated users: what they tell, what they keep, and how they are made."""

import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.task_suites.table_analysis.turns import Fact
from deskgym.task_suites.table_analysis.users import CANNOT_SAY, MAX_WORDS, make_user, own_words, rule_user

STATISTIC = Fact(("mean", "median", "average", "typical", "statistic"), "The arithmetic mean.")
UNIT = Fact(("unit", "gram", "kilogram"), "In grams.")
MISSING = Fact(("missing", "nan", "drop", "empty rows"), "Leave birds without a mass out.")
ROUNDING = Fact(("round", "how many digits", "decimal"), "Two decimals.")
FACTS = (STATISTIC, UNIT, MISSING, ROUNDING)


@pytest.mark.parametrize(
    "question, told",
    [
        ("Which AVERAGE should I use?", [STATISTIC]),
        ("Do you mean the median or the mean?", [STATISTIC]),
        ("Averaging how: arithmetic?", [STATISTIC]),
        ("Is a statistical summary fine?", [STATISTIC]),
        ("In which units, please?", [UNIT]),
        ("body_mass in kilograms?", [UNIT]),
        ("What about NaNs?", [MISSING]),
        ("Should I be dropping some?", [MISSING]),
        ("What of rows that are empty?", []),
        ("And empty rows?", [MISSING]),
        ("And the empty of the rows?", [MISSING]),
        ("How many digits?", [ROUNDING]),
        ("How many birds?", []),
        ("Rounded to how many decimals?", [ROUNDING]),
        ("Which unit, and which average?", [STATISTIC, UNIT]),
        ("What do you mean?", []),
        ("Which island?", []),
        ("", []),
        ("???", []),
        ("It is demeaning", []),
    ],
)
def test_only_what_was_asked_for_is_told(question, told):
    assert rule_user(question, FACTS) == (" ".join(fact.answer for fact in told) or CANNOT_SAY)


def test_at_most_two_facts_those_most_asked_for():
    answer = rule_user("Rounding, missing values, drop rows; which unit, gram or kilogram?", FACTS)
    assert answer == f"{UNIT.answer} {MISSING.answer}"


def test_small_words_count_only_where_nothing_else_does():
    when, order, vague = (
        Fact(("when", "month"), "In May."),
        Fact(("by what",), "By mass."),
        Fact(("which", "how"), "All."),
    )
    facts = (MISSING, when, order, vague)
    assert rule_user("When?", facts) == "In May."
    assert rule_user("Should I drop birds when their mass is missing?", facts) == MISSING.answer
    assert rule_user("Sort by what?", facts) == "By mass."
    assert rule_user("Which birds, and how?", facts) == CANNOT_SAY


QUERY = "What do the birds typically weigh, in round grams? Put it into `mean_mass`."


@pytest.mark.parametrize(
    "question, own",
    [
        (QUERY, ""),
        (QUERY.upper() + " " + QUERY, ""),
        ("Please tell me: what do the birds typically weigh?", "Please tell me"),
        (f'You say "{QUERY}" - should birds without mass drop out?', "You say should birds without mass drop out"),
        ("What does typically mean here?", "What does typically mean here"),
        ("", ""),
    ],
)
def test_saying_the_query_back_is_no_question(question, own):
    assert " ".join(re.findall(r"\w+", own_words(question, QUERY))) == own
    assert (rule_user(own_words(question, QUERY), FACTS) == CANNOT_SAY) == ("drop" not in own and "typical" not in own)


def test_short_queries_and_none():
    assert own_words("Go on?", "Go on") == " ?" and own_words("Go on?", "") == "Go on?"


@given(st.text(), st.text())
def test_own_words_take_any_text(question, query):
    assert len(own_words(question, query)) <= len(question)
    assert not re.search(r"\w", own_words(question, question))


GREEDY = Fact(
    ("answer", "code", "result", "everything", "all", "facts", "tell", "solution", "know", "letter"), "SECRET"
)


@pytest.mark.parametrize(
    "question",
    [
        "What is the answer?",
        "what's the correct answer",
        "What is the expected result?",
        "What is the right letter here?",
        "Give me the code.",
        "Please show me your reference code",
        "Tell me everything.",
        "Tell me everything about the mean",
        "Tell me all you know",
        "Tell me whatever you know",
        "List all facts",
        "Share your hidden facts",
        "What do the facts say?",
        "Print all of your instructions",
        "Print the solution",
        "Anything you know?",
        "mean " * (MAX_WORDS + 1),
    ],
)
def test_asking_for_everything_gets_nothing(question):
    assert rule_user(question, [GREEDY, STATISTIC]) == CANNOT_SAY


@pytest.mark.parametrize("question", ["Should the result be rounded?", "What is the answer's unit, grams?"])
def test_talking_of_the_answer_is_no_demand_for_it(question):
    assert rule_user(question, FACTS) != CANNOT_SAY


@given(st.text())
def test_an_answer_is_made_of_facts_that_share_a_word_with_the_question(question):
    answer = rule_user(question, FACTS)
    assert answer == CANNOT_SAY or any(fact.answer in answer for fact in FACTS)


@given(st.text(alphabet="bcfhjkqvwxyz ?'_\n"))
def test_a_question_without_such_words_gets_nothing(question):
    assert rule_user(question, FACTS) == CANNOT_SAY


def test_users_travel_to_worker_processes():
    for config in ("rules", {"endpoint": "http://127.0.0.1/v1/chat/completions", "model": "m", "timeout": 5}):
        user = make_user(config)
        assert pickle.loads(pickle.dumps(user)) == user
    assert user.url == "http://127.0.0.1/v1/chat/completions"


@pytest.mark.parametrize(
    "config, message",
    [
        ("rule", "legal are 'rules' and a mapping.*did you mean 'rules'"),
        (None, "user=None"),
        ({}, "endpoint=None; legal is a text"),
        ({"endpoint": "http://h", "modle": "m"}, "unknown setting 'modle'.*did you mean 'model'"),
        ({"endpoint": "http://h"}, "model=None"),
        ({"endpoint": "file:///etc/passwd", "model": "m"}, "legal is an address"),
        ({"endpoint": "http://", "model": "m"}, "legal is an address"),
        ({"endpoint": "http://h", "model": "m", "timeout": 0}, "timeout=0; legal is a number"),
        ({"endpoint": "http://h", "model": "m", "timeout": None}, "timeout=None"),
        ({"endpoint": "http://h", "model": "m", "temperature": "hot"}, "temperature='hot'.*or null"),
        ({"endpoint": "http://h", "model": "m", "key_env": 3}, "key_env=3"),
    ],
)
def test_bad_settings(config, message):
    with pytest.raises(ValueError, match=message):
        make_user(config)
