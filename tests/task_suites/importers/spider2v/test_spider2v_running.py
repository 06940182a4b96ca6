"""Running Spider2-V's tasks: the machine's layout, setup scripts, evaluation scripts, and how scores are made."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import openpyxl
import pytest

import deskgym  # noqa: F401 - registers the environments
from deskgym.envs.action.actions import Action, to_pyautogui
from deskgym.envs.episode import FinalState
from deskgym.envs.errors import SetupError
from deskgym.envs.machines import MachineConfig, create_machine
from deskgym.envs.machines.packages import missing_packages
from deskgym.envs.provision.layers import layer_paths
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.importers.spider2v.apps import find_app
from deskgym.task_suites.importers.spider2v.evaluator import SpiderEvaluator
from deskgym.task_suites.importers.spider2v.frame import App, Correction, Stage
from deskgym.task_suites.importers.spider2v.layout import LAYER
from deskgym.task_suites.importers.spider2v.record import Comparison, Getter, Step, UpstreamTask
from deskgym.task_suites.importers.spider2v.scripts import run_setup
from deskgym.task_suites.importers.spider2v.tasks import convert, max_steps, reasons

HOME = "/home/user"


@pytest.fixture(scope="module")
def machine():
    with create_machine("sandbox", MachineConfig(screen_size=None, layers=layer_paths([LAYER]))) as made:
        yield made


@pytest.fixture
def clean_machines():
    """Gives second machines, one at a time."""
    with ExitStack() as stack:

        def make(*arguments):
            config = MachineConfig(screen_size=None, layers=layer_paths([LAYER]))
            return stack.enter_context(create_machine("sandbox", config))

        yield make


def record(tmp_path: Path, *comparisons: Comparison, **changes) -> UpstreamTask:
    file = tmp_path / "T.json"
    made = UpstreamTask(
        id="excel/T", app="excel", file=file, variant="abstract", counterpart="excel/U", instruction="Do it.",
        action_number=4, comparisons=comparisons,
    )  # fmt: skip
    return replace(made, **changes)


def says(tmp_path: Path, text: str, include: str = "succeed") -> Comparison:
    """A comparison of what a script prints."""
    script = tmp_path / f"{abs(hash(text))}.sh"
    script.write_text(text)
    rules = {"include": [include], "exclude": ["failed"]}
    return Comparison(
        "check_include_exclude",
        Getter("vm_script_output", {"src": script, "dest": f"{HOME}/eval.sh"}),
        Getter("rule", {"rules": rules}),
    )


def verdict(task: UpstreamTask, machine, clean_machines, mode="corrected", stop="done"):
    final = FinalState(machine, stop, acted=True, clean_machine=clean_machines)
    return SpiderEvaluator(record=task, mode=mode).evaluate(final)


def sh(machine, text: str) -> str:
    done = machine.run(["bash", "-c", text])
    return (done.stdout + done.stderr).decode()


# The layout


@pytest.mark.sandbox
def test_the_commands_are_roots_and_come_first(machine):
    assert sh(machine, "command -v code gedit gnome-terminal google-chrome sudo systemctl xdg-open").splitlines() == [
        f"/opt/deskgym/bin/{name}"
        for name in ("code", "gedit", "gnome-terminal", "google-chrome", "sudo", "systemctl", "xdg-open")
    ]
    assert "Permission denied" in sh(machine, "rm /opt/deskgym/bin/code")
    assert "Permission denied" in sh(machine, "mv /opt/deskgym /opt/other")
    assert set(sh(machine, "ls ~").split()) == {"Desktop", "Documents", "Downloads", "anaconda3", "projects"}


@pytest.mark.sandbox
def test_conda_puts_an_environment_first_and_takes_it_away(machine):
    begin = "source ~/anaconda3/etc/profile.d/conda.sh; "
    assert "Could not find conda environment: nope" in sh(machine, f"{begin} conda activate nope")
    assert (
        sh(machine, f"{begin} conda create -n mine python=3.11 -y; conda env list").splitlines()[-1].startswith("mine")
    )
    path = sh(machine, f"{begin} conda activate mine; command -v python; conda deactivate; command -v python")
    assert path.strip() == f"{HOME}/anaconda3/envs/mine/bin/python"


@pytest.mark.sandbox
def test_a_shell_that_a_setup_starts_in_an_environment_has_a_prompt(machine):
    begin = "source ~/anaconda3/etc/profile.d/conda.sh; conda create -n mine -y;"
    inner = 'PS1=\\$; source ~/anaconda3/etc/profile.d/conda.sh; conda activate mine; echo "[$PS1]"; conda deactivate'
    assert sh(machine, f"{begin} conda activate mine; bash -c '{inner}; echo \"[$PS1]\"'").split("\n")[:2] == [
        "[(mine) $]",
        "[$]",
    ]


@pytest.mark.sandbox
def test_sudo_asks_for_the_password_and_gives_no_rights(machine):
    assert "incorrect password" in sh(machine, "echo wrong | sudo -S id -u")
    assert sh(machine, "echo password | sudo -S id -u; sudo id -un").split() == ["1000", "user"]
    assert "Permission denied" in sh(machine, "sudo rm /opt/deskgym/bin/sudo")
    assert "unknown user postgres" in sh(machine, "sudo -u postgres psql")


# Setup scripts


def run_script(machine, tmp_path, text, app=None):
    stage = Stage(Setup(machine, "excel/T"), record(tmp_path), app or find_app("excel"))
    run_setup(stage, f"exec 1>/dev/null 2>/dev/null\n{text}", f"{HOME}/init.sh")


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("docker compose up", "docker: there is no such command"),
        ("cd ~/projects && unzip -q nothing.zip", "unzip -q nothing.zip: ended with 9"),
        ("function f() { mv nothing.csv ~; }\nf", "mv nothing.csv ~: ended with 1"),
        ("source ~/anaconda3/etc/profile.d/conda.sh; conda activate dbt9", "conda activate dbt9: there is no such env"),
    ],
)
def test_a_silent_script_that_fails_is_noticed(machine, tmp_path, text, said):
    with pytest.raises(SetupError, match=said):
        run_script(machine, tmp_path, text)


@pytest.mark.sandbox
def test_what_an_app_knows_may_fail(machine, tmp_path):
    run_script(machine, tmp_path, "mv nothing.csv ~", App(name="excel", may_fail=("mv nothing.csv*",)))


@pytest.mark.sandbox
def test_a_script_waits_for_nothing_and_leaves_nothing(machine, tmp_path):
    run_script(machine, tmp_path, "for i in 1 2 3 4; do sleep 100; done; touch ~/done; grep -q nothing ~/done")
    assert machine.guest.exists(f"{HOME}/done") and not machine.guest.exists(f"{HOME}/init.sh")


# Evaluation scripts


@pytest.mark.sandbox
def test_an_evaluation_runs_where_the_agent_never_was(machine, tmp_path, clean_machines):
    sh(
        machine,
        """mkdir -p ~/.local/bin ~/bin ~/project
        for place in ~/.local/bin ~/bin; do
            printf '#!/bin/sh\\necho succeed' > $place/grep; chmod +x $place/grep; cp $place/grep $place/bash
        done
        echo 'echo succeed; exit' | tee ~/.bashrc ~/.profile ~/.bash_profile > ~/.bash_env
        echo 'conda() { echo succeed; }; echo succeed' > ~/anaconda3/etc/profile.d/conda.sh
        echo 'echo succeed' > ~/eval.sh
        echo right > ~/project/answer; ln -s /etc/passwd ~/project/link""",
    )
    script = """source ~/anaconda3/etc/profile.d/conda.sh
    ls -A ~ | sort | tr '\\n' ' '; ls ~/project
    grep -q right ~/project/answer && echo found"""
    found = verdict(record(tmp_path, says(tmp_path, script, "found")), machine, clean_machines)
    assert found.success, found
    wrong = verdict(record(tmp_path, says(tmp_path, script)), machine, clean_machines)
    assert wrong.score == 0 and wrong.error is None  # nothing printed "succeed"
    assert "failed" not in script


@pytest.mark.sandbox
def test_what_right_files_are_called_is_of_no_use(machine, tmp_path, clean_machines):
    gold = tmp_path / "gold.txt"
    gold.write_text("right")
    placed = Step("copyfile_from_host_to_guest", {"src": gold, "dest": f"{HOME}/gold.txt"})
    task = record(tmp_path, says(tmp_path, "grep -q right ~/gold.txt && echo succeed"), postconfig=(placed,))
    sh(machine, "echo wrong > ~/gold.txt")
    assert verdict(task, machine, clean_machines).success
    assert sh(machine, "cat ~/gold.txt") == "wrong\n"  # it never came to the agent's machine


@pytest.mark.sandbox
def test_an_evaluation_that_hangs_over_the_agents_files_fails(machine, tmp_path, clean_machines, monkeypatch):
    monkeypatch.setattr("deskgym.task_suites.importers.spider2v.scripts.TIMEOUT", 1.0)
    sh(machine, "echo 'while true; do :; done' > ~/loop.sh")
    found = verdict(record(tmp_path, says(tmp_path, "source ~/loop.sh; echo succeed")), machine, clean_machines)
    assert found.score == 0 and found.error is None and "took longer than 1 s" in found.checks[-1].message


INTRUSION = """
import os
open(f"/proc/{os.getppid()}/mem", "r+b")
print("succeed")
"""
END = """
import os
print("succeed", flush=True)
os.kill(os.getppid(), 9)
"""


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("code", "message"),
    [
        (INTRUSION, "score 0"),  # the script's shell is shut to it
        (END, "signal 9 ended it"),  # no word comes after its own
    ],
)
def test_code_of_the_agents_that_a_script_runs_cannot_speak_for_it(machine, tmp_path, clean_machines, code, message):
    machine.put(f"{HOME}/code.py", code.encode())
    found = verdict(record(tmp_path, says(tmp_path, "python3 ~/code.py; echo end")), machine, clean_machines)
    assert found.score == 0 and found.error is None and message in found.checks[-1].message, found


# Scores


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("said", "conjunction", "mode", "score", "compared"),
    [
        (["succeed", "succeed"], "and", "corrected", 1.0, 2),
        (["nothing", "succeed"], "and", "corrected", 0.0, 1),
        (["succeed", "nothing"], "and", "paper", 0.0, 2),
        (["nothing", "succeed"], "or", "corrected", 1.0, 1),
        (["succeed", "nothing"], "or", "paper", 1.0, 1),
        (["nothing", "nothing"], "or", "paper", 0.0, 2),
    ],
)
def test_comparisons_make_one_score(machine, tmp_path, clean_machines, said, conjunction, mode, score, compared):
    comparisons = [says(tmp_path, f"echo {word} {index}") for index, word in enumerate(said)]
    found = verdict(record(tmp_path, *comparisons, conjunction=conjunction), machine, clean_machines, mode)
    assert found.score == score and found.error is None
    assert sum(check.name == "check_include_exclude" for check in found.checks) == compared


@pytest.mark.sandbox
@pytest.mark.parametrize(("mode", "score"), [("paper", 0.75), ("corrected", 0.0)])
def test_a_part_of_a_score_is_upstreams_alone(machine, tmp_path, clean_machines, mode, score):
    gold = tmp_path / "gold.toml"
    gold.write_text("a\nb\n")
    sh(machine, "printf 'a\\nc\\n' > ~/made.toml")
    near = Comparison(
        "diff_text_file", Getter("vm_file", {"path": f"{HOME}/made.toml"}), Getter("local_file", {"path": gold})
    )
    found = verdict(record(tmp_path, says(tmp_path, "echo succeed"), near), machine, clean_machines, mode)
    assert found.score == pytest.approx(score, abs=0.2) and found.score < 1 and not found.success
    assert (found.score > 0) == (mode == "paper")


@pytest.mark.sandbox
def test_giving_up_and_a_missing_file_score_0_and_a_missing_gold_is_an_error(machine, tmp_path, clean_machines):
    task = record(tmp_path, says(tmp_path, "echo succeed"))
    assert verdict(task, machine, clean_machines, stop="fail").score == 0
    result = Getter("vm_file", {"path": f"{HOME}/none.csv"})
    gold = Getter("local_file", {"path": tmp_path / "none.csv"})
    assert verdict(record(tmp_path, Comparison("compare_csv", result, gold)), machine, clean_machines).error is None
    sh(machine, "echo a > ~/some.csv")
    result = Getter("vm_file", {"path": f"{HOME}/some.csv"})
    broken = verdict(record(tmp_path, Comparison("compare_csv", result, gold)), machine, clean_machines)
    assert broken.score == 0 and "none.csv" in broken.error


# Tasks


def workbook_task(tmp_path: Path) -> UpstreamTask:
    """A task about a workbook, with its files."""
    for name, profit in (("given.xlsx", None), ("gold.xlsx", "Profit")):
        book = openpyxl.Workbook()
        book.active.append(["Sales", profit])
        book.active.append([3, profit and "=A2*2"])
        book.save(tmp_path / name)
    path = f"{HOME}/book.xlsx"
    comparison = Comparison(
        "compare_table",
        Getter("vm_file", {"path": path}),
        Getter("local_file", {"path": tmp_path / "gold.xlsx"}),
        {"rules": [{"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"}]},
    )
    config = (
        Step("copyfile_from_host_to_guest", {"src": tmp_path / "given.xlsx", "dest": path}),
        Step("open", {"path": path}),
    )
    return record(tmp_path, comparison, config=config)


def test_what_keeps_a_task_from_running_is_named(tmp_path):
    task = workbook_task(tmp_path)
    assert reasons(task) == []
    assert reasons(replace(task, app="snowflake")) == ["no program for the tasks of 'snowflake' yet"]
    step = Step("snowflake_init", {})
    assert reasons(replace(task, config=(step,), postconfig=(step,))) == [
        "needs a Snowflake account",
        "no setup step 'snowflake_init'",
        "no step before the evaluation 'snowflake_init'",
    ]
    comparison = replace(task.comparisons[0], metric="beauty", result=Getter("smell", {}))
    assert reasons(replace(task, comparisons=(comparison,))) == [
        "no getter 'smell'",
        "no metric 'beauty'",
    ]


def test_a_task_is_converted_twice_and_alike(tmp_path):
    task = workbook_task(tmp_path)
    one, other = convert(task, "corrected"), convert(task, "corrected", "Please.")
    assert one.setup_key == other.setup_key and one.setup_key != convert(task, "paper").id
    assert (one.instruction, other.instruction) == ("Do it.", "Please.")
    assert set(one.wrong_attempts) == {"the right file in another place", "a new sheet, left empty", "one cell off"}
    assert (one.difficulty, max_steps(task, "paper"), one.max_steps) == ("easy", 15, 20)


def test_corrections_are_said_in_the_notes(tmp_path, monkeypatch):
    app = App(name="excel", corrections={"excel/U": Correction("its check sees nothing")})
    monkeypatch.setattr("deskgym.task_suites.importers.spider2v.tasks.find_app", lambda name: app)
    task = workbook_task(tmp_path)
    assert convert(task, "corrected").evaluator.notes[0] == "corrected: its check sees nothing"
    assert list(convert(task, "paper").evaluator.notes) == []


# Upstream's own


@pytest.fixture(scope="module")
def env(upstream):
    if missing_packages(("libreoffice-calc", "libreoffice-gtk3")):
        pytest.skip("LibreOffice Calc is not installed")
    made = gym.make(
        "deskgym/DataEngineering-v0", source="spider2v", source_path=str(upstream), task="excel/1e8df695",
        action="code", observation=("instruction",),
    )  # fmt: skip
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("script", ["oracle", "noop", "one cell off"])
def test_a_given_task_about_a_workbook(env, script):
    """Its oracle types formulas into Calc; what nobody has saved is saved before the evaluation."""
    env.reset(seed=0)
    inner = env.unwrapped
    actions = {"oracle": inner.oracle, "noop": lambda: iter([inner.done])}.get(script)
    for action in actions() if actions else inner.attempt(script):
        if action == to_pyautogui(Action("press", keys=("ctrl", "s"))):
            continue  # forgets to save
        _, reward, terminated, truncated, info = env.step(action)
    assert terminated or truncated
    assert info["verdict"]["error"] is None and reward == (script == "oracle"), info["verdict"]
