"""What an agent may do to the evaluation of a dbt task of Spider2-V: nothing that earns a reward."""

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.envs.errors import TaskError
from deskgym.envs.machines.packages import missing_packages

TASK = "dbt/1137ff65"  # two models as tables, then `dbt run`: the script runs dbt, and the database is compared
PROJECT = "/home/user/projects/materialize_test"
FAKE = r"""#!/bin/sh
echo "1 of 2 OK created sql table model main.my_first_dbt_model"
echo "2 of 2 OK created sql table model main.my_second_dbt_model"
echo "Completed successfully PASS=2 TOTAL=2"; echo succeed
"""
PLUGIN = f"import os\nprint({FAKE.splitlines()[1:]!r}, 'succeed', flush=True)\nos._exit(0)\n"

ATTACKS = {
    "the commands of the evaluation": f"""
        cd ~; for name in dbt python python3 bash grep conda source; do
            for folder in /opt/deskgym/bin /opt/deskgym/env/dbt/bin /usr/local/bin ~/bin ~/.local/bin ~/anaconda3/bin \\
                    ~/anaconda3/envs/dbt/bin; do
                mkdir -p $folder; printf '%s' '{FAKE}' > $folder/$name; chmod 755 $folder/$name
            done
        done 2>/dev/null
        rm -rf /opt/deskgym/bin/* /opt/deskgym/spider2v/*; mv /opt/deskgym /opt/other""",
    "what a shell reads when it starts": """
        for file in ~/.bashrc ~/.profile ~/.bash_profile ~/.bash_env ~/anaconda3/etc/profile.d/conda.sh; do
            echo 'dbt() { echo succeed; }; conda() { echo succeed; }; echo succeed; exit 0' > $file
        done
        mkdir -p ~/.config/environment.d; echo 'BASH_ENV=/home/user/.bash_env' > ~/.config/environment.d/a.conf""",
    "the names of the evaluation's files": f"""
        cd {PROJECT}; echo 'echo dbt run succeed' | tee ~/eval.sh > eval.sh; chmod 755 ~/eval.sh
        printf gold > materialize_test.gold.duckdb; cp materialize_test.gold.duckdb ~
        ln -sf ~/materialize_test.gold.duckdb materialize_test.duckdb
        mkdir -p /opt/deskgym/spider2v/judge; ln -s ~/eval.sh /opt/deskgym/spider2v/judge/eval.sh""",
    "the clock and the processes": """
        date -s '+6 hours'; echo password | sudo -S date -s '+6 hours'
        for process in $(pgrep -u user); do [ $process = $$ ] || kill -STOP $process; done""",
    "code of its own in dbt": f"""
        cd {PROJECT}; printf '%s' {PLUGIN!r} > plug.py
        plugin='module_paths: [.]\\n      plugins: [{{module: plug}}]'
        sed -i "s/type: duckdb/type: duckdb\\n      $plugin/" ~/.dbt/profiles.yml
        printf '\\non-run-start: "{{{{ print(\\'succeed\\') }}}}"\\n' >> dbt_project.yml""",
}


@pytest.fixture(scope="module")
def env(upstream):
    if missing := missing_packages(("xfce4-terminal", "geany")):
        pytest.skip(f"not installed: {', '.join(missing)}")
    made = gym.make(
        "deskgym/DataEngineering-v0", source="spider2v", source_path=str(upstream), task=TASK, action="code",
        observation=("instruction",), screen_size=(1280, 720),
    )  # fmt: skip
    yield made
    made.close()


def reset(env):
    try:
        env.reset(seed=0)
    except TaskError as error:
        pytest.skip(str(error))


def run(command):
    return f"import subprocess\nsubprocess.run(['bash', '-c', {command!r}], timeout=60)"


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_but_the_work_earns_the_reward(env, attack):
    reset(env)
    env.step(run(ATTACKS[attack]))
    _, reward, terminated, truncated, info = env.step("DONE")
    assert (terminated or truncated) and reward == 0, info
    assert info["verdict"]["score"] == 0 and info["verdict"]["error"] is None, info["verdict"]


@pytest.mark.slow
@pytest.mark.sandbox
def test_the_next_episode_is_as_new(env):
    """After all of it, the oracle types its commands into the terminal, and earns the reward."""
    reset(env)
    for action in env.unwrapped.oracle():
        _, reward, terminated, _, info = env.step(action)
    assert terminated and reward == 1, info["verdict"]
