"""Questions that analysts ask of clarification turns: each brings out what it is about, and one question is enough."""

import pytest

from deskgym.task_suites import load_suite
from deskgym.task_suites.table_analysis.users import CANNOT_SAY, MAX_FACTS, own_words, rule_user

SUITE = load_suite("table_analysis")
TURNS = [task_id for task_id in SUITE.ids() if task_id.endswith(".clarification") and "/action/" in task_id]

QUESTIONS = [
    ("bikes/hugo/day-rating", "What are the three tests exactly?", {0}),
    ("bikes/hugo/day-rating", "When is a day fair rather than poor?", {1}),
    (
        "bikes/hugo/day-rating",
        "What thresholds do you use for temperature, rain and wind, and how many must hold for fair?",
        {0, 1},
    ),
    ("bikes/nora/driest-stations", "What makes a station the worst?", {0}),
    ("bikes/nora/driest-stations", "How many stations should I list?", {1}),
    ("bikes/nora/driest-stations", "By what measure are they worst, and how many do you want?", {0, 1}),
    ("clinic/jonas/flat-rate", "Is the basis the mean or the median cost?", {0}),
    ("clinic/jonas/flat-rate", "How many nights are included before the surcharge?", {1}),
    ("clinic/jonas/flat-rate", "How is the base computed and from which night on do the 150 euros apply?", {0, 1}),
    ("energy/edda/intensity", "What should I do with homes whose floor area is missing?", {0}),
    ("energy/edda/intensity", "How do you define use per square metre?", {1}),
    (
        "energy/edda/intensity",
        "Is intensity annual_kwh over floor_area, and should homes with unknown area be dropped?",
        {0, 1},
    ),
    ("energy/mei/winners", "By what criterion are they best off?", {0}),
    ("energy/mei/winners", "How many households do you want?", {1}),
    ("energy/mei/winners", "Do you rank by savings in euros or percent, and how many should the list have?", {0, 1}),
    ("loans/priya/risk-band", "What are the thresholds?", {0, 1}),
    ("loans/priya/risk-band", "When is a loan high risk?", {0}),
    ("loans/priya/risk-band", "Below which score or above which burden is it high, and when is it low?", {0, 1}),
    ("nations/lukas/portfolio", "What counts as recent?", {0}),
    ("nations/lukas/portfolio", "Which year's figures from nations should I take?", {1}),
    (
        "nations/lukas/portfolio",
        "Since when is a project recent, and which survey year of nations do you want?",
        {0, 1},
    ),
    ("orders/tomas/big-spenders", "How do you measure who is best?", {0}),
    ("orders/tomas/big-spenders", "Do cancelled orders count?", {1}),
    (
        "orders/tomas/big-spenders",
        "Best by total revenue, with shipping? And should I include cancelled orders?",
        {0, 1},
    ),
    ("penguins/ines/fledged", "How close to the sea?", {0}),
    ("penguins/ines/fledged", "What do you mean by how well they did?", {1}),
    ("penguins/ines/fledged", "Up to what distance, and should I take the mean number of chicks per nest?", {0, 1}),
    ("tickets/aisha/late-share", "What is the limit in minutes for a quick reply?", {0}),
    ("tickets/aisha/late-share", "Are tickets that never got a reply late?", {1}),
    (
        "tickets/aisha/late-share",
        "Within how many minutes do you promise a reply, and how do I treat tickets without one?",
        {0, 1},
    ),
    ("tickets/pavel/scores", "What is a low score?", {0}),
    ("tickets/pavel/scores", "All customers, or one plan only?", {1}),
    ("tickets/pavel/scores", "Which scores are low, and do I use tickets of all plans?", {0, 1}),
    ("wines/henrik/commission", "What is the commission rate?", {0}),
    ("wines/henrik/commission", "What counts as a large order?", {1}),
    ("wines/henrik/commission", "How many percent is it, and from how many bottles on is it less?", {0, 1}),
]
"""Dialogue and turn, a question, and the places of the facts that it asks for."""


def told(turn, question):
    """The places of the facts in the user's answer."""
    answer = rule_user(own_words(question, turn.query), turn.facts)
    return {place for place, fact in enumerate(turn.facts) if fact.answer in answer}


@pytest.mark.parametrize(("name", "question", "facts"), QUESTIONS)
def test_a_natural_question_gets_its_facts(name, question, facts):
    domain, persona, turn = name.split("/")
    assert told(SUITE.get(f"{domain}/{persona}/action/{turn}.clarification", 3).turns[0], question) >= facts


@pytest.mark.parametrize("task_id", TURNS)
def test_one_question_can_bring_out_all_that_is_hidden(task_id):
    turn = SUITE.get(task_id, 3).turns[0]
    assert 1 <= len(turn.facts) <= MAX_FACTS
    words = [fact.about[0] for fact in turn.facts]
    assert told(turn, f"What about {' and '.join(words)}?") == set(range(len(words)))
    assert rule_user(own_words(turn.query, turn.query), turn.facts) == CANNOT_SAY
