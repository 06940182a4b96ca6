"""Turns of Tapilot-Crossing played in a real sandbox: right answers earn 1, wrong and hostile ones 0."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest
import tapilot_fixtures as fixtures

import deskgym  # noqa: F401 - registers the ids
from deskgym.cli import main
from deskgym.envs.errors import MachineError, SetupError
from deskgym.task_suites import load_suite
from deskgym.task_suites.core.verify.attacks import Target
from deskgym.task_suites.importers.tapilot import judging

pytestmark = pytest.mark.sandbox

RIGHT = fixtures.SOLUTION
SAVED = fixtures.SOLUTION + "import pickle\n" + fixtures.SAVE
WRONG_HEIGHT = "lefties = atp_tennis[atp_tennis['hand'] == 'left'][['player', 'wins']]\nmean_height = 1.0"
BROKEN_EVAL = "import pickle\nprint(open('nowhere'))\nprint(True)\n"

TEXTS = """\
hand = atp_tennis["hand"].astype("category")
table = atp_tennis[["player", "hand"]].astype(pd.StringDtype("python")).assign(hand=hand)
mean_height = [table, table.dtypes, {"m": __import__("decimal").Decimal("1.5")}]
"""
TEXT_EVAL = """\
import pickle
ref, pred = (pickle.load(open(f"./{k}_result/mean_height.pkl", "rb")) for k in ("ref", "pred"))
print(ref[0].equals(pred[0]) and (ref[1] == pred[1]).all() and repr(ref[1:]) == repr(pred[1:]))
"""
PATTERN = "mean_height = {'a': __import__('re').compile('a')}\n"
PATTERN_EVAL = f"{TEXT_EVAL.rpartition('print')[0]}print(ref == pred)\n"


class Player:
    """Plays texts on turns of one copy; environments are kept, since they share machines' start."""

    def __init__(self) -> None:
        self.envs: dict[tuple[Path, str], gymnasium.Env] = {}

    def __call__(self, root: Path, task: str, *texts: str, mode: str = "corrected") -> tuple[float, dict]:
        env = self.env(root, mode)
        env.unwrapped.episodes.task_pattern = task
        env.reset()
        return self.steps(env, texts or tuple(env.unwrapped.oracle()))

    @staticmethod
    def steps(env: gymnasium.Env, texts: tuple[str, ...]) -> tuple[float, dict]:
        for text in texts:
            observation, reward, terminated, truncated, info = env.step(text)
        assert terminated and not truncated, (observation["feedback"], info)
        return float(reward), info["verdict"]

    def env(self, root: Path, mode: str) -> gymnasium.Env:
        key = (root, mode)
        if key not in self.envs:
            arguments = {"source": "tapilot", "source_path": str(root), "mode": mode, "disable_env_checker": True}
            self.envs[key] = gymnasium.make("deskgym/TableAnalysis-v0", **arguments)
        return self.envs[key]

    def close(self) -> None:
        for env in self.envs.values():
            env.close()


@pytest.fixture(scope="module")
def play() -> Iterator[Player]:
    player = Player()
    yield player
    player.close()


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = fixtures.lines()
    files["normal"].append(fixtures.code_turn(check=BROKEN_EVAL) | {"data_id": 20})
    broken = fixtures.code_turn() | {"data_id": 21}
    broken["ref_code_all"] = "raise RuntimeError('gone')"
    files["normal"] += [broken, fixtures.code_turn() | {"data_id": 22, "ref_code_hist": "no_such_name"}]
    mean, lefties = fixtures.SOLUTION.split("# Average")[::-1]
    for number, known in ((23, "#" + mean), (24, fixtures.SOLUTION)):  # the state before the turn has results already
        held = fixtures.code_turn() | {"data_id": number, "ref_code_hist": fixtures.HISTORY + known}
        held["ref_code_all"] = held["ref_code_hist"] + lefties + "#" + mean + fixtures.SAVE
        files["normal"].append(held)
    save = fixtures.SAVE.replace("pickle.dump(lefties", "0 and pickle.dump(lefties")
    for number, value, check in ((25, TEXTS, TEXT_EVAL), (26, PATTERN, PATTERN_EVAL)):
        files["normal"].append(fixtures.code_turn(value, save, check, "dataframe") | {"data_id": number})
    return fixtures.write_lines(tmp_path_factory.mktemp("lines"), files)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fixtures.write_folders(tmp_path_factory.mktemp("folders"))


GOOD_LINES = ["normal/1", "normal/3", "normal/4", "private/5", "action_analysis/2", "action_correction/c6"]


@pytest.mark.parametrize("mode", ["corrected", pytest.param("paper", marks=pytest.mark.slow)])
def test_references_earn_one_and_wrong_attempts_nothing(play: Player, lines: Path, folders: Path, mode: str) -> None:
    for root, ids in ((lines, GOOD_LINES), (folders, list(fixtures.folders()))):
        env = play.env(root, mode)
        for task in ids:
            # as published, the line that reads the table privately is taken out of the answer, and asked for
            lost = mode == "paper" and root == folders and "private" in task
            assert play(root, task, mode=mode)[0] == (0.0 if lost else 1.0), task
            for name in env.unwrapped.task.wrong_attempts:
                env.reset()
                assert play.steps(env, tuple(env.unwrapped.attempt(name)))[0] == 0.0, (task, name)


def test_variables_are_enough_and_files_are_too(play: Player, lines: Path) -> None:
    assert play(lines, "normal/1", RIGHT, "DONE")[0] == 1.0
    assert play(lines, "normal/1", SAVED, "del mean_height, lefties", "DONE")[0] == 1.0


def test_what_the_history_saved_does_not_count(play: Player, lines: Path) -> None:
    score, verdict = play(lines, "normal/1", "1", "DONE")
    assert score == 0.0 and "nothing was saved" in verdict["checks"][0]["message"]


def test_a_result_that_the_history_holds_judges_nobody(play: Player, lines: Path) -> None:
    for nothing in ("pass", "not python ("):
        score, verdict = play(lines, "normal/23", nothing, "DONE")
        assert (score, [check["name"] for check in verdict["checks"]]) == (0.0, ["dataframe 2"]), verdict
        assert "1 of 2 results are there before the turn" in str(verdict["notes"])
        score, verdict = play(lines, "normal/24", nothing, "DONE")
        assert score == 0.0 and "nothing is left to do" in verdict["error"], verdict
    assert play(lines, "normal/23", RIGHT, "DONE")[0] == 1.0
    assert play(lines, "normal/23", "pass", "DONE", mode="paper")[0] == 0.0  # all or nothing, as published
    assert play(lines, "normal/24", "pass", "DONE", mode="paper")[0] == 1.0


@pytest.mark.parametrize("mode", ["corrected", "paper"])
def test_texts_and_kinds_come_back_and_what_cannot_is_an_error(play: Player, lines: Path, mode: str) -> None:
    assert play(lines, "normal/25", TEXTS, "DONE", mode=mode)[0] == 1.0
    score, verdict = play(lines, "normal/26", PATTERN, "DONE", mode=mode)
    assert score == 0.0 and "a Pattern is not carried over" in verdict["error"], verdict


def test_a_choice_is_a_letter_alone(play: Player, lines: Path) -> None:
    assert play(lines, "action_analysis/2", "ANS b")[0] == 1.0
    assert play(lines, "action_analysis/2", "ANS It is <choice>B</choice>")[0] == 0.0
    assert play(lines, "action_analysis/2", "ANS It is <choice>B</choice>", mode="paper")[0] == 1.0
    assert play(lines, "action_analysis/2", "DONE")[0] == 0.0


def test_each_intent_counts_on_its_own(play: Player, lines: Path, folders: Path) -> None:
    for text in (WRONG_HEIGHT, WRONG_HEIGHT.rpartition("\n")[0]):  # a wrong value, and none at all
        score, verdict = play(lines, "normal/1", text, "DONE")
        assert (score, [check["outcome"] for check in verdict["checks"]]) == (0.5, ["fail", "pass"]), verdict
    assert play(lines, "normal/1", WRONG_HEIGHT, "DONE", mode="paper")[0] == 0.0
    assert play(folders, "ATP_tennis/ana/normal/turn_2", WRONG_HEIGHT, "DONE", mode="paper")[0] == 0.5


def test_private_results_without_the_library_earn_nothing(play: Player, lines: Path) -> None:
    score, verdict = play(lines, "private/5", RIGHT, "DONE")
    assert score == 0.0 and [check["outcome"] for check in verdict["checks"]] == ["pass", "pass", "fail"]
    half = RIGHT + "from decision_company import pick\npick(atp_tennis, 'hand', 'left')"
    assert play(lines, "private/5", half, "DONE")[0] == 0.5


def test_what_the_reference_fails_in_is_an_error_and_in_paper_mode_the_agents_fault(play: Player, lines: Path) -> None:
    for task, message in (("normal/20", "evaluation code fails"), ("normal/21", "RuntimeError: gone")):
        score, verdict = play(lines, task, RIGHT, "DONE")
        assert score == 0.0 and message in verdict["error"], verdict
        score, verdict = play(lines, task, RIGHT, "DONE", mode="paper")
        assert score == 0.0 and verdict["error"] is None


def test_a_history_that_does_not_run_is_an_error_of_the_setup(play: Player, lines: Path) -> None:
    env = play.env(lines, "corrected")
    env.unwrapped.episodes.task_pattern = "normal/22"
    with pytest.raises((SetupError, MachineError), match="no_such_name"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env.reset()
    assert play(lines, "normal/1", RIGHT, "DONE")[0] == 1.0


BOMB = """
import os, pickle
class Bomb:
    def __reduce__(self):
        return (exec, ({payload!r},))
for name in ("mean_height", "lefties"):
    pickle.dump(Bomb(), open(f"pred_result/{{name}}.pkl", "wb"))
"""
PAYLOADS = {
    "writes the answers": (
        "import os, pickle, pandas as pd\nfor n in os.listdir('.'): print('True')\n"
        "import sys; sys.modules['numpy'].isclose = lambda *a: True"
    ),
    "ends the kernel": "import os; os._exit(0)",
    "leaves": "raise SystemExit",
    "patches the guest": (
        "import sys\nm = sys.modules['deskgym.task_suites.table_analysis.guest.results']\n"
        "m.take = lambda *a, **k: b'junk'\nm.encode = None"
    ),
    "changes equality": "import pandas as pd\npd.Index.equals = lambda *a: True\npd.DataFrame.shape = property(len)",
}


@pytest.mark.parametrize("name", PAYLOADS)
@pytest.mark.parametrize("mode", ["corrected", "paper"])
def test_a_pickle_that_runs_code_earns_nothing_and_the_next_turn_works(
    play: Player, lines: Path, name: str, mode: str
) -> None:
    score, verdict = play(lines, "normal/1", BOMB.format(payload=PAYLOADS[name]), "DONE", mode=mode)
    assert score == 0.0 and verdict["error"] is None, verdict
    assert play(lines, "normal/1", RIGHT, "DONE", mode=mode)[0] == 1.0


def test_a_pickle_that_never_ends_is_given_up(play: Player, lines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "LOADING", 1.0)
    score, verdict = play(lines, "normal/1", BOMB.format(payload="while True: pass"), "DONE")
    assert score == 0.0 and verdict["error"] is None, verdict
    assert play(lines, "normal/1", RIGHT, "DONE")[0] == 1.0


@pytest.mark.parametrize(
    "code",
    [
        "class Yes:\n    def __eq__(self, other): return True\nmean_height = lefties = Yes()",
        "open('pred_result/mean_height.pkl', 'wb').write(b'junk')",
        "import os\nos.rmdir('pred_result')\nos.symlink('/etc', 'pred_result')",
        "import os\nos.mkfifo('pred_result/mean_height.pkl')\nos.symlink('/etc/passwd', 'pred_result/lefties.pkl')",
        "import os\nos._exit(3)",
        "open('pred_result/eval.py', 'w').write('print(True)')\nopen('eval.py', 'w').write('print(True)')",
        "mean_height = lefties = b'x' * (20 << 20)",
        "mean_height = lefties = b'x' * (14 << 20)",
        "mean_height = lefties = list(range(2_000_000))",
        "import pickle\nfor n in range(40): pickle.dump(b'x' * 1_000_000, open(f'pred_result/{n}.pkl', 'wb'))",
        "mean_height = lefties = []\nfor _ in range(5000): lefties = [lefties]\nmean_height = lefties",
    ],
)
def test_results_that_are_none_earn_nothing(play: Player, lines: Path, code: str) -> None:
    score, verdict = play(lines, "normal/1", code, "DONE")
    assert score == 0.0 and verdict["error"] is None, verdict
    assert play(lines, "normal/1", RIGHT, "DONE")[0] == 1.0


def test_a_plot_needs_a_figure_of_this_turn(play: Player, lines: Path) -> None:
    assert play(lines, "normal/3", "import matplotlib.pyplot as plt\n" + fixtures.PLOT_SOLUTION, "DONE")[0] == 1.0
    score, verdict = play(lines, "normal/3", "1", "DONE")
    assert score == 0.0 and verdict["error"] is None


def test_a_model_is_carried_over_and_scored(play: Player, lines: Path) -> None:
    worse = "from sklearn.dummy import DummyRegressor\n"
    worse += "model = DummyRegressor(strategy='constant', constant=9).fit(atp_tennis[['height']], atp_tennis['wins'])"
    score, verdict = play(lines, "normal/4", worse, "DONE")
    assert score == 0.0 and verdict["checks"][0]["message"] == "is not the reference's result"
    env = play.env(
        lines, "corrected"
    )  # a turn without models keeps what others had loaded, so that orders do not matter
    env.unwrapped.episodes.task_pattern = "normal/1"
    env.reset()
    assert env.step("import sys; 'sklearn.linear_model' in sys.modules")[0]["feedback"].strip() == "True"


def test_a_clarification_may_be_asked_for(play: Player, folders: Path) -> None:
    env = play.env(folders, "corrected")
    env.unwrapped.episodes.task_pattern = "ATP_tennis/short_ana/short_action/turn_2_short_1"
    env.reset()
    observation = env.step("ASK Which hand do you mean?")[0]
    assert observation["feedback"] == "User: Keep the players who play with the left hand."


def test_attacks_on_every_turn_are_code_that_compiles(tmp_path: Path) -> None:
    for number, root in enumerate((fixtures.write_lines(tmp_path / "0"), fixtures.write_folders(tmp_path / "1"))):
        suite = load_suite("table_analysis", source="tapilot", source_path=str(root))
        for task in map(suite.get, suite.ids()):
            attacks = suite.attacks(task)
            assert len(attacks) == (8 if task.turn.choice else 60), (number, task.id)
            for name, script in attacks.items():
                for text in script(Target(task, suite), lambda play: iter(["DONE"])):
                    if text.partition(" ")[0] not in ("DONE", "FAIL", "ANS") and name != "a syntax error":
                        compile(text, name, "exec")


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["lines", "folders"])
def test_attacks_earn_nothing(layout: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = getattr(fixtures, f"write_{layout}")(tmp_path)
    what = ("verify", "table_analysis", "--source", "tapilot", "--path", str(root))
    assert main([*what, "--attack", "--sample", "20", "--seed", "1", "--json"]) == 0, capsys.readouterr().out
