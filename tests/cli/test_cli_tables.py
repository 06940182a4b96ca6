"""Table analysis on the command line, in real sandboxes: agents, recordings, their page, rescoring, tasks, install."""

import json
import re
import shutil
import subprocess

import gymnasium
import numpy as np
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.agents import ConstantAgent, OracleAgent, RandomAgent, make_agent, run_episode
from deskgym.agents.constant import options, unanswerable
from deskgym.agents.random_texts import random_text
from deskgym.envs.action.actions import Action
from deskgym.viewer.page import write_page
from deskgym.wrappers import RecordEpisode, Recording
from deskgym.wrappers.recording.recording import STEPS, find_recordings

EVIL = "</template></script><script>alert('hi')</script>"
PLOT = ("instruction", "dialogue", "feedback", "plot")
BAD = "import os\nclass Bad(Artist):\n    def draw(self, renderer):\n        marker.append(1)\n        os._exit(0)"
DRAW = "figure, axes = plt.subplots()\naxes.plot([1, 3, 2])"


def make(**kwargs):
    return gymnasium.make("deskgym/TableAnalysis-v0", disable_env_checker=True, **kwargs)


# --- agents


def test_the_first_option_that_says_so_is_taken():
    asked = "Mean?\n\nA. 12\nB. It cannot be answered: no height\nC. It cannot be answered: no year\nD. 4\n\nAnswer."
    assert list(options(asked)) == ["A", "B", "C", "D"]
    assert unanswerable(asked) == "B"
    assert unanswerable("Mean?\n\nA. 12\nB. 13") == "it cannot be answered"


def test_a_constant_on_a_desktop_and_what_it_does_not_play():
    env = gymnasium.make("deskgym/Science-v0", machine="fake", screen_size=(160, 120), disable_env_checker=True)
    agent = make_agent("constant:42")
    observation, info = env.reset(seed=1)
    agent.reset(env, observation, info)
    assert agent.act(observation) == Action("answer", text="42")
    with pytest.raises(TypeError, match="got a CartPoleEnv"):
        agent.reset(gymnasium.make("CartPole-v1"), None, {})
    with pytest.raises(TypeError, match="plays a DesktopEnv, a TableAnalysisEnv, a ProverEnv or a ProcedureEnv"):
        RandomAgent().reset(gymnasium.make("CartPole-v1"), None, {})
    with pytest.raises(ValueError, match="legal are .*constant:TEXT"):
        make_agent("constant:")
    env.close()


@pytest.mark.sandbox
def test_constants_earn_what_their_letter_is_worth():
    env = make(task="*/*/action/*.fast_fail")
    letters = {}
    for seed in range(12):
        env.reset(seed=seed)
        choice = env.unwrapped.task.turns[0].choice
        for letter in "ABCD":
            result = run_episode(env, ConstantAgent(letter), seed=seed)
            assert (result.score, result.steps) == (float(letter == choice.letter), 1)
        said = run_episode(env, ConstantAgent("unanswerable"), seed=seed)
        first = next(n for n, text in enumerate(choice.options) if text.startswith("It cannot be answered"))
        assert said.score == float(first == choice.right)
        letters[choice.letter] = True
    assert len(letters) > 1
    env.close()


@pytest.mark.sandbox
def test_random_texts_are_legal_repeatable_and_run():
    env = make(task="penguins/ines/normal/mean-mass")
    first, again = (run_texts(env, seed=3) for _ in range(2))
    assert first == again
    texts = [text for text, _ in first]
    assert len(set(texts)) == 5 and not any("Traceback" in feedback for _, feedback in first)
    some = [random_text(env.unwrapped, np.random.default_rng(seed)) for seed in range(40)]
    assert any(text.startswith("mean_mass = ") for text in some) and len(set(some)) > 20
    env.reset(seed=0, options={"task": "*/*/action/*.best_guess"})
    said = {random_text(env.unwrapped, np.random.default_rng(seed)) for seed in range(60)}
    assert {"ANS A", "ANS B", "ANS C", "ANS D"} < said
    env.close()


def run_texts(env, seed):
    agent, seen = RandomAgent(5), []
    observation, info = env.reset(seed=seed)
    agent.reset(env, observation, info)
    over = False
    while not over:
        text = agent.act(observation)
        observation, _, terminated, truncated, info = env.step(text)
        assert "invalid_action" not in info
        seen.append((text, observation["feedback"]))
        over = terminated or truncated
    return seen


# --- recordings


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A dialogue solved by its oracle; a turn with a figure, an error and hostile texts; one that is cut off."""
    folder = tmp_path_factory.mktemp("recorded")
    env = RecordEpisode(make(task="penguins/ines/private", episode="dialogue", observation=PLOT), folder)
    run_episode(env, OracleAgent(), seed=0)
    env.close()
    env = RecordEpisode(make(task="penguins/ines/normal/mean-mass", observation=PLOT), folder)
    env.reset(seed=1)
    for text in (DRAW, f"print({EVIL!r})", "1 / 0", "ASK Is it the median?", "DONE"):
        env.step(text)
    env.reset(seed=2)
    env.step("1 + 1")
    env.close()
    env = RecordEpisode(make(task="*/*/action/*.insight_mining"), folder)
    run_episode(env, ConstantAgent("A"), seed=1)
    env.close()
    env = RecordEpisode(make(task="penguins/ines/normal/mean-mass"), folder)
    env.reset(seed=3)
    env.step(DRAW)
    env.close()
    return folder


@pytest.mark.sandbox
def test_a_dialogue_is_recorded_whole(recorded):
    dialogue = find_recordings(recorded)[0]
    assert dialogue.is_conversation and dialogue.complete and dialogue.verdict["success"]
    begun = [step["texts"] for step in dialogue.steps if "texts" in step]
    outcomes = dialogue.steps[-1]["info"]["analysis"]["turns"]
    assert len(begun) == len(outcomes) > 3
    assert all(set(texts) == {"instruction", "dialogue", "tables", "library"} for texts in begun)
    assert len({texts["instruction"] for texts in begun}) == len(begun) and begun[0]["library"]
    assert begun[0]["dialogue"] in begun[-1]["dialogue"]
    assert dialogue.meta["versions"]["pandas"] and dialogue.meta["env"]["episode"] == "dialogue"
    assert not (dialogue.folder / "state.json").exists()


@pytest.mark.sandbox
def test_frames_are_the_plots_seen_by_the_agent_or_not(recorded):
    _, turn, cut, choice, unseen = find_recordings(recorded)
    frames = [step["frame"] for step in turn.steps]
    assert frames[:4] == [0, 1, 1, 1]  # nothing, then the figure
    assert (turn.frame(0) == 255).all() and turn.frame(1).shape == (600, 800, 3) and (turn.frame(1) < 255).any()
    assert [step["action"] for step in turn.steps[1:]][-2:] == ["ASK Is it the median?", "DONE"]
    assert "performed" not in turn.steps[4]
    assert {step["frame"] for step in choice.steps} == {None} and choice.verdict is not None
    assert [step["frame"] for step in unseen.steps] == [None, 0] and (unseen.frame(0) == turn.frame(1)).all()
    assert not cut.complete and cut.steps[-1]["feedback"] == "2"


@pytest.mark.sandbox
def test_a_recording_changes_nothing_in_the_kernel(tmp_path):
    """What an artist does while it is drawn for the recording stays in a child."""
    env = RecordEpisode(make(task="penguins/ines/normal/mean-mass"), tmp_path)
    env.reset(seed=3)
    env.step(
        f"from matplotlib.artist import Artist\nmarker = [42]\n{BAD}\nfigure = plt.figure()\nfigure.add_artist(Bad())"
    )
    assert env.step("print(marker)")[0]["feedback"] == "[42]"
    env.step("plt.close('all')\n" + DRAW)
    env.close()
    (recording,) = find_recordings(tmp_path)
    assert [step["frame"] for step in recording.steps] == [None, None, None, 0]


@pytest.mark.sandbox
def test_rescoring_is_one_clear_line(recorded, cli):
    status, out, err = cli("verify", "--rescore", str(recorded))
    assert (status, out) == (1, "") and err.count("\n") == 1
    assert "(5 episodes)" in err and "cannot be scored again from files; play it again" in err
    assert "deskgym results" in err
    assert cli("results", str(recorded))[0] == 0


@pytest.mark.sandbox
def test_a_page_of_conversations(recorded, tmp_path):
    page = tmp_path / "page.html"
    write_page(find_recordings(recorded), page)
    text = page.read_text()
    dialogue, turn, cut, choice, _ = re.findall(r'<template class="turns">(.*?)</template>', text, re.DOTALL)
    turns = len(find_recordings(recorded)[0].steps[-1]["info"]["analysis"]["turns"])
    assert dialogue.count('<section class="turn">') == turns
    assert dialogue.count("<summary>tables</summary>") == 1 == dialogue.count("<summary>private library</summary>")
    assert "import " in dialogue and "private functions were called" in dialogue and 'class="chip pass"' in dialogue
    assert turn.count("data:image/webp;base64,") == 1
    assert "ZeroDivisionError" in turn and "cell code wrong" in turn and 'class="chip fail"' in turn
    assert EVIL not in text and "&lt;/template&gt;&lt;/script&gt;" in turn
    assert "this turn was not judged" in cut
    assert "A. " in choice and "right is" in choice


@pytest.mark.sandbox
@pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")
def test_the_page_in_a_browser(recorded, tmp_path):
    page = tmp_path / "page.html"
    write_page(find_recordings(recorded), page)
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=3000", "--dump-dom", f"file://{page}#2",
    ]  # fmt: skip
    dom = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout
    body = dom.partition("<main>")[2].partition("</main>")[0]
    assert body.count('<section class="turn">') == 1 and "Turn 1 of 1 · normal" in body
    assert '<div id="player" hidden="">' in body and "the figure after step 1" in body
    assert "&lt;script&gt;alert" in body


@pytest.mark.sandbox
def test_a_recording_that_broke_off_reads_and_shows(recorded, tmp_path):
    whole = find_recordings(recorded)[1].folder
    broken = tmp_path / "broken"
    shutil.copytree(whole, broken)
    (broken / "verdict.json").unlink()
    lines = (broken / STEPS).read_text().splitlines()
    (broken / STEPS).write_text("\n".join(lines[:3]) + '\n{"step": 3, "act')
    shutil.rmtree(broken / "frames")
    assert not Recording.load(broken).complete
    write_page([Recording.load(broken)], tmp_path / "page.html")
    assert "this turn was not judged" in (tmp_path / "page.html").read_text()


@pytest.mark.sandbox
def test_run_records_what_view_shows(cli, tmp_path):
    out = tmp_path / "out"
    parts = ",".join(PLOT)
    argv = ["run", "table_analysis", "--agent", "oracle", "--task", "penguins/ines/normal/mean-mass", "--seed", "3"]
    status, said, _ = cli(*argv, "--record", str(out), "--observation", parts)
    assert status == 0 and "1 solved" in said
    assert cli("view", str(out))[0] == 0
    assert "mean_mass" in (out / "episodes.html").read_text()


# --- tasks, install


def test_tasks_tell_mode_action_type_and_result_types(cli):
    status, out, _ = cli("tasks", "table_analysis")
    assert status == 0 and "action type" in out and "max steps" not in out
    assert re.search(r"penguins/ines/action/mean-mass.update_code +action +update_code +value", out)
    assert re.search(r"^modes: .*private-action \d+", out, re.M) and re.search(r"^result types: value \d+", out, re.M)
    rows = json.loads(cli("tasks", "table_analysis", "--json")[1])["tasks"]
    row = next(row for row in rows if row["id"] == "penguins/ines/private/mean-mass")
    assert (row["modes"], row["action_types"], row["result_types"], row["turns"]) == (["private"], [], ["value"], 1)


def test_install_adds_what_is_missing_of_python(cli, monkeypatch, tmp_path):
    from deskgym.envs.machines import packages

    installation = tmp_path / "deskgym-9.dist-info"
    installation.mkdir()
    wants = ["numpy>=1; extra == 'tables'", "no-such-thing>=2; extra == 'tables'", "deskgym[more]; extra == 'tables'"]
    wants += ["nor-this==1; extra == 'more'", "unwanted; extra == 'rl'"]
    lines = "".join(f"Requires-Dist: {line}\n" for line in wants)
    (installation / "METADATA").write_text(f"Metadata-Version: 2.1\nName: deskgym\nVersion: 9\n{lines}")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(packages, "package_versions", dict.fromkeys)
    status, out, _ = cli("install", "table_analysis", "--dry-run")
    assert status == 0 and out.endswith("-m pip install 'no-such-thing>=2' nor-this==1\n")
    assert cli("install", "science", "--dry-run")[1] == "all packages of science are installed\n"
    status, _, err = cli("install", "table_analysis")
    assert status == 1 and "--yes, or run: " in err and "pip install" in err
    from deskgym.cli.doctor import suite_checks

    (outcome,) = [check for check in suite_checks() if check.name == "table_analysis"]
    assert outcome.status == "warn" and outcome.found == "missing: no-such-thing, nor-this"
    assert outcome.fix == "deskgym install table_analysis"
