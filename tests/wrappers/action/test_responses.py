"""A model's responses as actions: fences, languages, words, JSON, and that no text is too odd to be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.envs.action.actions import Action
from deskgym.wrappers.action.responses import Unreadable, code_actions, computer_actions, fenced_blocks


@pytest.mark.parametrize(
    ("response", "actions"),
    [
        ("Click.\n```python\npyautogui.click(1, 2)\n```\nThat is it.", ["pyautogui.click(1, 2)"]),
        ("```python\na()\n```\n```python\nb()\n```", ["a()", "b()"]),
        ("```a = 1```", ["a = 1"]),
        ("```python a = 1```", ["a = 1"]),
        ("```\nif a:\n    b()\n```", ["if a:\n    b()"]),
        ("1. so\n   ```py\n   if a:\n       b()\n   DONE\n   ```", ["if a:\n    b()", "DONE"]),
        ("```python\na()```\nand\n```python\nb()```", ["a()", "b()"]),
        ("```python\nx = '```'\ny = 1\n```", ["x = '```'\ny = 1"]),
        ("````python\nx = '''\n```\n'''\n````", ["x = '''\n```\n'''"]),
        ("```python\npyautogui.write('select 1; select 2;')\n```", ["pyautogui.write('select 1; select 2;')"]),
        ("```python\na(); b()\n```", ["a(); b()"]),
        ("```python\na()", []),
        ("```python\n```", []),
        ("", []),
        ("I cannot do that.", []),
    ],
)
def test_fenced_programs(response, actions):
    assert code_actions(response) == actions


@pytest.mark.parametrize(
    ("response", "actions"),
    [
        ("DONE", ["DONE"]),
        (" FAIL\n", ["FAIL"]),
        ("WAIT 3", ["WAIT 3"]),
        ("WAIT 900", ["WAIT 900"]),  # too long: the env says so
        ("ANS x^2 + 1", ["ANS x^2 + 1"]),
        ("I am DONE", []),
        ("```DONE```", ["DONE"]),
        ("```DONE\n```", ["DONE"]),
        ("```ANS 5```", ["ANS 5"]),
        ("```ANS five apples\n```", ["ANS five apples"]),
        ("```WAIT 3```", ["WAIT 3"]),
        ("```python\na()\nWAIT 2\nANS 5\n```", ["a()", "WAIT 2", "ANS 5"]),
        ("```python\nFAILED = 1\n```", ["FAILED = 1"]),
        ("```python\nwrite('''\nDONE\n''')\n```", ["write('''\nDONE\n''')"]),
    ],
)
def test_words(response, actions):
    assert code_actions(response) == actions


def test_a_bare_program_is_one_only_when_asked():
    assert code_actions("pyautogui.press('a')") == []
    assert code_actions(" pyautogui.press('a')\nDONE", bare=True) == ["pyautogui.press('a')", "DONE"]
    assert code_actions("```a()``` and more", bare=True) == ["a()"]


CLICK = {"action": "click", "x": 5, "y": 6}


@pytest.mark.parametrize(
    ("response", "actions"),
    [
        ('```json\n{"action": "click", "x": 5, "y": 6}\n```', [CLICK]),
        ('{"action": "click", "x": 5, "y": 6}', [CLICK]),
        ('[{"action": "click", "x": 5, "y": 6}, "DONE"]', [CLICK, Action("done")]),
        (
            '```json\n{"action_type": "WAIT"}\n```\n```FAIL```',
            [{"action_type": "WAIT"}, Action("fail")],
        ),
        ('```json\n{\n  "action": "click", "x": 5, "y": 6\n}\nANS 7\n```', [CLICK, Action("answer", text="7")]),
        ("WAIT 2", [Action("wait", seconds=2.0)]),
        ("{look here}", []),
        ("nothing", []),
    ],
)
def test_json(response, actions):
    assert computer_actions(response) == actions


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("```json\n{click}\n```", "not JSON"),
        ("```python\npyautogui.click()\n```", "not JSON"),
        ("```json\n[1]\n```", "an action is a JSON object, got 1"),
        ("```WAIT 900```", "seconds=900"),
        ("[" * 100_000, None),
    ],
)
def test_what_cannot_be_read_says_why(response, reason):
    found = computer_actions(response)
    assert [type(action) for action in found] == ([Unreadable] if reason else [])
    assert all(reason in action.reason for action in found)


def test_a_bare_text_that_is_no_json_is_unreadable():
    assert computer_actions("click there", bare=True)[0].text == "click there"


programs = st.lists(st.sampled_from(["a()", "b = ';'", "if c:\n    d()", "# é\ne = {}"]), max_size=4)


@given(programs, st.sampled_from(["", "python", "py", "c++"]), st.text(alphabet="aé \n.", max_size=20))
def test_what_is_fenced_comes_back(blocks, language, prose):
    response = prose + "\n".join(f"\n```{language}\n{block}\n```\n{prose}" for block in blocks)
    assert code_actions(response) == blocks


@given(st.text(alphabet='`\n a{}[]"DONE:1', max_size=60), st.booleans())
def test_every_text_can_be_read(response, bare):
    assert all(block.strip() for block in fenced_blocks(response))
    assert all(isinstance(action, str) and action.strip() for action in code_actions(response, bare=bare))
    for action in computer_actions(response, bare=bare):
        assert isinstance(action, (dict, Action, Unreadable))
