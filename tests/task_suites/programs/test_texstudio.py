"""TeXstudio in real sandboxes: its first screen, and documents that try to get out of their folder or never end."""

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.task_suites.programs.texstudio import functions
from deskgym.task_suites.programs.texstudio.checks import without_comments

PATH = "/home/user/paper/main.tex"
SEED = 3
RIGHT = """
import re
text = open(PATH).read()
for key, value in given.items():
    text = re.sub(rf"\\\\{key}{{.*}}", lambda _: f"\\\\{key}{{{value}}}", text)
open(PATH, "w").write(text)
"""


@pytest.fixture(scope="module")
def env():
    with gym.make("deskgym/Science-v0", task="texstudio/title", action="code", screen_size=(1280, 720)) as made:
        yield made


def verdict(env, change: str):
    """What an agent is paid that runs this, and why; ``given`` has the title, the author and the date."""
    env.reset(seed=SEED)
    given = {key: env.unwrapped.task.params[key] for key in ("title", "author", "date")}
    env.step(f"given, PATH = {given!r}, {PATH!r}\n{change}")
    _, paid, terminated, _, info = env.step("DONE")
    assert terminated and not info["verdict"]["error"], info["verdict"]
    return paid, str(info["verdict"])


def after(text: str) -> str:
    """Code that does what is asked, and then adds this before the document's end."""
    return f"{RIGHT}\nopen(PATH, 'w').write(text.replace(r'\\end{{document}}', {text!r} + r'\\end{{document}}'))"


BAD = {
    "reads what is outside": after(r"\input{/etc/passwd} "),
    "reads what is above": after(r"\input{../.bashrc} "),
    "runs a program": after(r"\immediate\write18{touch made.tex}\input{made.tex} "),
    "writes outside": after(r"\newwrite\w\immediate\openout\w=/tmp/pages.txt\immediate\write\w{x} "),
    "never ends": after(r"\def\x{\x}\x "),
    "fills the disk": after(r"\newwrite\w\immediate\openout\w=big.tex\loop\immediate\write\w{xxxxxxxx}\iftrue\repeat "),
    "fills the memory": after(r"\def\x{xxxxxxxx}\loop\edef\x{\x\x}\iftrue\repeat "),
    "asks": after(r"\typein{more} \show\x "),
    "no file": "import os; os.remove(PATH)",
    "a link": "import os; os.remove(PATH); os.symlink('/etc/hostname', PATH)",
    "no document": "open(PATH, 'w').write('')",
    "a class of its own": (
        RIGHT + "\nopen('/home/user/paper/mine.cls', 'w').write(r'\\LoadClass{article}')\n"
        "open(PATH, 'w').write(text.replace('{article}', '{mine}'))"
    ),
    "text alone": RIGHT + "\nopen(PATH, 'w').write(' '.join(given.values()))",
}


@pytest.mark.sandbox
def test_what_is_asked_is_paid(env):
    paid, why = verdict(env, RIGHT)
    assert paid == 1, why


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("change", BAD.values(), ids=BAD)
def test_a_document_that_does_more_earns_nothing(env, change):
    paid, why = verdict(env, change)
    assert paid == 0 and "root:" not in why


@pytest.mark.sandbox
def test_the_first_screen_has_the_document():
    with gym.make(
        "deskgym/Science-v0", task="texstudio/title", observation=("screenshot", "a11y"), screen_size=(1280, 720)
    ) as env:
        observation, _ = env.reset(seed=SEED)
        assert "main.tex - TeXstudio" in observation["a11y"] and "Introduction" in observation["a11y"]
        assert "dialog" not in observation["a11y"]


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("a % b\nc", "a c"),
        (r"50\% of\\% all", r"50\% of\\"),
        ("x\\end{document}\ny", "x"),
    ],
)
def test_comments_are_left_out(text, bare):
    assert without_comments(text) == bare


def test_papers_differ_by_the_seed_and_compile_into_four_sections():
    texts = {functions.paper(seed)["text"] for seed in range(20)}
    assert len(texts) == 20 and all(text.count(r"\section{") == 4 for text in texts)


def test_edits_of_what_is_not_there_are_errors():
    with pytest.raises(ValueError, match="0 times"):
        functions.edit("a", [["b", "c"]])


def test_pages():
    paged = functions.paged(functions.paper(1)["text"], 5)
    assert functions.page(paged, "Introduction") in (1, 2)
    assert functions.page(paged, "Discussion") == 1 + paged.count(r"\newpage")
