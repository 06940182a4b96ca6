"""The command line, on a suite of the fake machine."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deskgym.cli import main
from deskgym.cli.tasks import print_unsupported

FAKE = ("--machine", "fake", "--screen", "160x120")


def test_help_is_quick_and_lists_the_commands():
    best = 9.0
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-m", "deskgym.cli", "--help"], capture_output=True, text=True, check=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    for command in ("doctor", "install", "tasks", "run", "verify", "bench", "view", "image"):
        assert f"\n    {command} " in done.stdout
    assert best < 1.0  # s of processor time; 0.25 s where nothing else runs


@pytest.mark.parametrize("library", ["gymnasium", "numpy", "argparse"])
def test_ctrl_c_while_it_is_imported_is_one_line(library, tmp_path):
    (tmp_path / f"{library}.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGINT)")
    done = subprocess.run(
        [sys.executable, "-m", "deskgym.cli", "tasks"], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "deskgym: interrupted\n")


def test_ctrl_c_while_a_command_imports_a_library_waits_for_the_library(tmp_path):
    (tmp_path / "matplotlib.py").write_text(
        "import os, signal, time\ntry:\n    os.kill(os.getpid(), signal.SIGINT); time.sleep(0.2)\n"
        "except KeyboardInterrupt:\n    raise ImportError('broken')"
    )
    done = subprocess.run(
        [sys.executable, "-m", "deskgym.cli", "bench", "startup", "--out", str(tmp_path / "out")],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    )  # fmt: skip
    assert (done.returncode, done.stderr.splitlines()[-1]) == (130, "deskgym: interrupted"), done


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from deskgym.cli.main import build_parser; build_parser().format_help(); "
        "print([m for m in ('cv2', 'rich', 'jinja2', 'Xlib', 'torch', 'msgpack', 'yaml') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(
    "argv, status, message",
    [
        (["rnu"], 2, "did you mean 'run'"),
        (["run"], 2, "required: SUITE"),
        (["run", "science", "--bogus"], 2, "--bogus"),
        (["run", "scence", *FAKE], 1, "did you mean 'science'"),
        (["run", "science", "--task", "fake/cpy", *FAKE], 1, "did you mean 'fake/copy'"),
        (["run", "science", "--agent", "orcle", *FAKE], 1, "did you mean 'oracle'"),
        (["run", "science", "--agent", "wrong:othr", *FAKE], 1, "did you mean 'other'"),
        (["run", "science", "--machine", "sandbx"], 1, "unknown machine"),
        (["run", "science", *FAKE, "--observation", "smell"], 1, "unknown observation 'smell'"),
        (["run", "science", *FAKE, "--action", "fly"], 1, "action='fly'"),
        (["run", "science", "--screen", "big"], 1, "--screen 'big'"),
        (["run", "science", "--episodes", "0", *FAKE], 1, "--episodes 0"),
        (["run", "science", "--episodes", "x"], 2, "invalid int"),
        (["run", "science", "--record", "/proc/no", *FAKE], 1, "cannot record into /proc/no"),
        (["run", "science", "--record", __file__, *FAKE], 1, "test_cli.py is not a folder that you can write to"),
        (["run", "science", "--seed", "-1", *FAKE], 2, "seed '-1'; legal is a whole number from 0 up"),
        (["run", "science", "--agent", "os:path", *FAKE], 1, "'os:path' is a module; legal is a class"),
        (["run", "science", "--agent", "..:Own", *FAKE], 1, "agent '..:Own': "),
        (["tasks", "bmp"], 1, "did you mean 'bpm'"),
        (["tasks", "--split", "train"], 1, "name a SUITE"),
        (["tasks", "science", "--mode", "paper"], 1, "mode='paper' is for a published benchmark's tasks"),
        (["run", "science", "--mode", "paper", *FAKE], 1, "mode='paper' is for a published benchmark's tasks"),
        (["verify"], 1, "needs a SUITE"),
        (["verify", "science", "--workers", "0", *FAKE], 1, "--workers 0"),
        (["verify", "--rescore", "/nowhere"], 1, "no folder /nowhere"),
        (["view", "/nowhere"], 1, "no folder /nowhere"),
        (["install", "scince"], 1, "did you mean 'science'"),
        (["install", "science", "pymol"], 1, "install takes one name at a time, got science pymol"),
        (["install", "supersett"], 1, "a folder of task files; did you mean 'superset'"),
        (["image", "build", "sciense"], 1, "did you mean 'science'"),
    ],
)
def test_what_goes_wrong_is_one_line_and_a_status(cli, argv, status, message):
    got, out, err = cli(*argv)
    assert got == status and message in err and out == ""
    assert err.count("\n") == 1 and err.startswith("deskgym")


def test_mistakes_of_task_files_take_a_line_each(cli, tmp_path):
    (tmp_path / "a.yaml").write_text("id: my/task\ninstruction: Do it.\noracle: []\nnonsense: 1\nrubbish: 2\n")
    status, out, err = cli("tasks", str(tmp_path))
    first, *lines = err.splitlines()
    assert status == 1 and out == "" and first == f"deskgym: {len(lines)} mistakes in task files:"
    assert len(lines) > 2 and all(line.startswith(f"{tmp_path}/a.yaml:") for line in lines)


def test_traceback_shows_where_an_error_came_from():
    with pytest.raises(ValueError, match="needs a SUITE"):
        main(["--traceback", "verify"])


def test_tasks(cli, science_has_bad_tasks):
    status, out, err = cli("tasks", "science")
    assert status == 0 and not err
    assert "6 tasks, 5 supported" in out
    assert "not supported: fake/unsupported: its program is not installed" in out
    rows = json.loads(cli("tasks", "science", "--json")[1])["tasks"]
    assert rows[0]["id"] == "fake/copy" and rows[0]["wrong_attempts"] == ["other", "done"] and rows[0]["supported"]
    assert rows[-1]["supported"] is False and rows[-1]["reason"]


def test_what_holds_for_all_tasks_is_not_said_of_each(cli):
    assert cli("tasks", "science")[1].count("supported") == 1  # in the title: 1 tasks, 1 supported


def test_tasks_that_cannot_be_played_for_one_reason_are_said_together(capsys):
    print_unsupported({f"t/{k}": "no pandas" for k in range(5)} | {"t/x": "too new", "u/0": "no pandas"})
    assert capsys.readouterr().out.splitlines() == [
        "not supported: 6 tasks, 5 of t/*, u/0: no pandas",
        "not supported: t/x: too new",
    ]


@pytest.mark.parametrize("plan", [(), ("--task", "fake/c*"), ("--all",)])
@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("wrong:othr", "has no wrong attempt 'othr'; it has other, done; did you mean 'other'?"),
        ("attack:FAIL alon", "has no attack 'FAIL alon'; it has "),
        ("mutant:drop 99", "has no mutant 'drop 99'; it has "),
    ],
)
def test_an_attempt_that_no_task_has_is_said_before_anything_starts(cli, plan, agent, said, tmp_path, monkeypatch):
    from deskgym.envs.machines.fake.machine import FakeMachine

    monkeypatch.setattr(FakeMachine, "start", None)  # it would not work
    argv = ["--agent", agent, *plan, "--record", str(tmp_path / "out"), *FAKE]
    status, out, err = cli("run", "science", *argv)
    assert status == 1 and out == "" and err.count("\n") == 1
    assert said in err
    assert not (tmp_path / "out").exists()


def test_suites(cli):
    rows = {row["suite"]: row for row in json.loads(cli("tasks", "--json")[1])["suites"]}
    assert rows["science"]["tasks"] == 1 and rows["bpm"]["tasks"] > 1
    assert "table_analysis" in cli("tasks")[1]


@pytest.mark.parametrize("action", ["computer", "code"])
def test_run_with_the_oracle(cli, action):
    status, out, err = cli("run", "science", "--task", "fake/copy", "--action", action, "--episodes", "2", *FAKE)
    assert status == 0 and "2 solved; mean score 1 over 2 evaluated" in out
    assert err.count("solved, score 1") == 2
    assert re.search(r"steps, [\d.]+ s \(reset [\d.]+, agent [\d.]+, steps [\d.]+, evaluation [\d.]+\)", err)


@pytest.mark.parametrize("agent", ["random", "noop", "wrong:done"])
def test_an_agent_that_fails_its_task_has_run_well(cli, agent):
    status, out, _ = cli("run", "science", "--agent", agent, "--max-steps", "3", *FAKE, "--json")
    data = json.loads(out)
    assert status == 0 and data["mean_score"] == 0 and data["outcomes"] == {"failed": 1}


def test_run_all_plays_every_task_and_says_what_broke(cli, science_has_bad_tasks):
    status, out, err = cli("run", "science", "--all", "--agent", "oracle", *FAKE, "--json")
    outcomes = {row["task"].partition("#")[0]: row for row in json.loads(out)["episodes"]}
    assert status == 1
    assert outcomes["fake/copy"]["outcome"] == "solved" and outcomes["fake/lazy"]["outcome"] == "failed"
    assert outcomes["fake/no-setup"]["outcome"] == "error" and outcomes["fake/no-setup"]["score"] is None
    assert "fake/unsupported: not supported: its program is not installed" in err
    assert outcomes["fake/broken"]["outcome"] == "fault" and "fire" in outcomes["fake/broken"]["message"]


def test_run_all_instances_draws_none(cli):
    plan = ["--all", "--instances", "--episodes", "2", "--seed", "3"]
    status, out, _ = cli("run", "science", *plan, "--agent", "noop", *FAKE, "--json")
    assert status == 0, out
    assert [row["task"] for row in json.loads(out)["episodes"]] == ["fake/copy#3", "fake/copy#4"]
    status, _, err = cli("run", "science", "--instances", *FAKE)
    assert status == 1 and "--instances goes with --all" in err


def test_a_recording_tells_why_its_episode_was_given_up(cli, tmp_path, monkeypatch):
    from deskgym.agents import OracleAgent

    monkeypatch.setattr(OracleAgent, "act", lambda self, observation: 1 / 0)
    status, out, err = cli("run", "science", *FAKE, "--record", str(tmp_path))
    assert status == 1 and "error, score -" in err and "ZeroDivisionError" in out
    assert cli("view", str(tmp_path))[0] == 0
    assert "ZeroDivisionError: division by zero" in (tmp_path / "episodes.html").read_text()


def test_record_view_and_score_again(cli, tmp_path):
    record = ["--record", str(tmp_path / "out")]
    for agent in ("oracle", "noop"):
        assert cli("run", "science", "--agent", agent, "--seed", "5", *FAKE, *record)[0] == 0
    status, out, _ = cli("view", str(tmp_path / "out"))
    assert status == 0 and "(2 episodes" in out and (tmp_path / "out" / "episodes.html").exists()
    assert cli("view", str(tmp_path / "out"), "--out", str(tmp_path / "new" / "page.html"))[0] == 0
    status, out, _ = cli("verify", "--rescore", str(tmp_path / "out"), "--json")
    rows = json.loads(out)["episodes"]
    assert status == 0 and [(row["before"], row["now"], row["outcome"]) for row in rows] == [(1, 1, "ok"), (0, 0, "ok")]
    next(tmp_path.glob("out/00000*/state.json")).unlink()
    status, out, _ = cli("verify", "--rescore", str(tmp_path / "out"))
    assert status == 1 and "error: the state was not kept" in out


@pytest.mark.parametrize(("cause", "before", "outcome"), [("agent", 0.0, "ok"), ("infrastructure", None, "error")])
def test_what_the_agent_broke_is_scored_0_again(cause, before, outcome, cli, tmp_path):
    assert cli("run", "science", *FAKE, "--record", str(tmp_path))[0] == 0
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    (folder / "verdict.json").unlink(), (folder / "state.json").unlink()
    lines = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    lines[-1]["info"]["fault"] = {"kind": "guest_lost", "message": "gone", "cause": cause}
    (folder / "steps.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    status, out, _ = cli("verify", "--rescore", str(tmp_path), "--json")
    (row,) = json.loads(out)["episodes"]
    assert (row["before"], row["outcome"], status) == (before, outcome, int(outcome == "error"))


def test_a_recording_names_the_suite_it_is_from(cli, tmp_path):
    assert cli("run", "science", *FAKE, "--record", str(tmp_path))[0] == 0
    meta = json.loads(next(tmp_path.glob("*/meta.json")).read_text())
    assert meta["env_id"] == "deskgym/Science-v0" and meta["env"]["suite"] == "science"


def test_verify_a_good_suite(cli):
    status, out, err = cli("verify", "science", "--resets", "2", *FAKE)
    assert status == 0 and err.count("\n") == 1 and "no proof is kept" in err
    assert "1 of 1 tasks are as they must be" in out and "2/2" in out and "4/4" in out


def test_verify_finds_every_defect(cli, science_has_bad_tasks):
    status, out, _ = cli("verify", "science", "--resets", "2", *FAKE, "--json")
    data = json.loads(out)
    assert status == 1 and data["ok"] is False and list(data["unsupported"]) == ["fake/unsupported"]
    rows = {row["task"]: row for row in data["tasks"]}
    assert rows["fake/copy"]["ok"]
    assert rows["fake/no-wrong"]["problems"] == ["the task has no wrong attempt"]
    set_up, *others = rows["fake/no-setup"]["problems"]
    assert "oracle seed 0: error: launch" in set_up
    assert len(others) == 3 and all("not played: the task could not be set up" in problem for problem in others)
    assert "fault: the machine is on fire" in rows["fake/broken"]["problems"][0]
    assert rows["fake/lazy"]["problems"][0].startswith("oracle seed 0: score 0, must be 1")
    seeds = [episode["seed"] for episode in rows["fake/copy"]["attempts"][0]["episodes"]]
    assert seeds == [0, 1]
    assert "wrong: oracle seed 0" in cli("verify", "science", "--task", "fake/lazy", "--resets", "1", *FAKE)[1]


def test_install_says_what_is_missing_and_does_nothing_in_a_dry_run(cli, monkeypatch):
    from deskgym.cli import install
    from deskgym.envs.machines import packages

    monkeypatch.setattr(packages, "package_versions", lambda names: dict.fromkeys({*names} - {"kalgebra"}))
    status, out, _ = cli("install", "kalgebra", "--dry-run")
    assert status == 0 and out.endswith("apt-get install -y --no-install-recommends kalgebra\n")
    monkeypatch.setattr(install.os, "geteuid", lambda: 1000)
    status, _, err = cli("install", "kalgebra", "--yes")
    assert status == 1 and "run: sudo apt-get install -y --no-install-recommends kalgebra" in err
    monkeypatch.setattr(packages, "package_versions", dict.fromkeys)
    assert cli("install", "kalgebra")[1] == "all packages of kalgebra are installed\n"  # it has no layers to build


def test_doctor_does_what_mends_a_failure(cli, monkeypatch, tmp_path):
    from deskgym import apt
    from deskgym.envs.machines.doctor import doctor

    installed, looks, setting = [], [], tmp_path / "setting"
    program = tmp_path / "sysctl"
    program.write_text(f'#!/bin/sh\necho "$@" > {setting}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(apt, "install", installed.extend)

    def checks(start):
        looks.append(start)
        yield doctor.CheckUp("disk", "warn", "1 MiB free", "sudo apt-get install nothing")
        if installed:
            yield doctor.CheckUp("OCI runtime", "ok", "runc")
        else:
            yield doctor.CheckUp("OCI runtime", "fail", "no runc", "sudo apt-get install runc")
            yield doctor.CheckUp("user namespaces", "fail", "0", "sudo sysctl -w user.max_user_namespaces=10000")
            yield doctor.CheckUp("rights", "fail", "few", "start this container with more rights; rm -rf /")

    monkeypatch.setattr(doctor, "iterate", checks)
    status, _, err = cli("doctor", "--fix")
    assert status == 1 and "nobody to ask" in err and not installed and not setting.exists()
    assert "apt-get install runc && sysctl -w user.max_user_namespaces=10000" in err
    status, out, err = cli("doctor", "--fix", "--yes")
    assert (status, installed, setting.read_text()) == (0, ["runc"], "-w user.max_user_namespaces=10000\n"), err
    assert "rights, by hand: start this container" in err and "can run deskgym" in out and len(looks) == 3
    assert cli("doctor", "--fix")[0] == 0 and len(looks) == 4, "nothing was mended, so nothing is looked at again"
    program.write_text("#!/bin/sh\nexit 3\n")
    installed.clear()
    status, _, err = cli("doctor", "--fix", "--yes")
    assert status == 1 and "sysctl -w user.max_user_namespaces=10000 failed" in err
    assert cli("doctor", "--yes")[0] == 1


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_a_shell_completes_commands_and_options(cli, tmp_path):
    status, out, _ = cli("--print-completion", "bash")
    assert status == 0
    (tmp_path / "completion").write_text(out)
    asked = 'source ./completion; COMP_WORDS=({}); COMP_CWORD={}; _shtab_deskgym; echo "${{COMPREPLY[@]}}"'
    for words, wanted in (("deskgym ver", "verify"), ("deskgym verify --mut", "--mutants")):
        script = asked.format(words, words.count(" "))
        found = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert wanted in found.stdout.split(), found


def test_doctor(cli, monkeypatch):
    from deskgym.envs.machines.doctor import doctor

    found = [doctor.CheckUp("Xvfb", "ok", "/usr/bin/Xvfb"), doctor.CheckUp("disk", "warn", "1 MiB free", "free some")]
    monkeypatch.setattr(doctor, "iterate", lambda start: iter(found))
    status, out, _ = cli("doctor")
    assert status == 0 and "free some" in out and "can run deskgym" in out
    found.append(doctor.CheckUp("OCI runtime", "fail", "no runc", "sudo apt-get install runc"))
    status, out, _ = cli("doctor", "--json")
    data = json.loads(out)
    assert status == 1 and data["ok"] is False and data["checks"][2]["fix"] == "sudo apt-get install runc"
    assert "cannot run deskgym yet: OCI runtime" in cli("doctor")[1]


def test_sigterm_closes_the_machine(tmp_path):
    code = (
        "import deskgym.task_suites as t, sys; vars(t.find_entry('science'))['load'] = 'fake_suite:suite'\n"
        "from deskgym.envs.machines.fake.machine import FakeMachine\n"
        "from deskgym.agents import OracleAgent\n"
        "import os, signal\n"
        "stop = FakeMachine.stop; FakeMachine.stop = lambda self: (print('stopped', self.alive), stop(self))\n"
        "OracleAgent.act = lambda self, observation: os.kill(os.getpid(), signal.SIGTERM)\n"
        "from deskgym.cli import main\n"
        f"sys.exit(main(['run', 'science', *{FAKE!r}]))"
    )
    here = str(Path(__file__).parent)
    environment = os.environ | {"PYTHONPATH": f"{here}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 130 and "stopped True" in done.stdout and done.stderr == "deskgym: interrupted\n"


def test_ctrl_c_closes_the_machine(cli, monkeypatch):
    from deskgym.agents import OracleAgent
    from deskgym.envs.machines.fake.machine import FakeMachine

    stopped = []
    stop = FakeMachine.stop
    monkeypatch.setattr(FakeMachine, "stop", lambda self: (stopped.append(self), stop(self))[1])
    monkeypatch.setattr(OracleAgent, "act", lambda self, observation: (_ for _ in ()).throw(KeyboardInterrupt))
    stopped.clear()
    status, _, err = cli("run", "science", *FAKE)
    assert status == 130 and "interrupted" in err and not stopped[-1].alive
