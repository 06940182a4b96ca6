"""PSPP in real sandboxes: its first screen, and files that try to be paid for nothing, to get out, or never end."""

import gymnasium as gym
import pytest
from paid_code import finish, play

import deskgym  # noqa: F401 - registers the ids
from deskgym.task_suites.programs.pspp import functions, reports

SEED = 3
DATA, SYNTAX = "/home/user/work/survey.sav", "/home/user/work/analysis.sps"

RUN = """
import subprocess
def run(syntax):
    open("/tmp/x.sps", "w").write(syntax)
    done = subprocess.run(["pspp", "-o", "/dev/null", "/tmp/x.sps"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
"""


@pytest.fixture(scope="module")
def env():
    with gym.make("deskgym/Science-v0", task="pspp/*", action="code", screen_size=(1280, 720)) as made:
        yield made


def reward(env, task: str, change: str) -> tuple[float, str]:
    """What an agent is paid that runs this, and why; the task's parameters are ``params`` in it."""
    env.reset(seed=SEED, options={"task": task})
    params = {key: value for key, value in env.unwrapped.task.params.items() if key not in ("s", "o", "e")}
    play(env, f"params = {params!r}\n{RUN}\n{change}")
    return finish(env)


def weighted(more: str = "", by: str = "{params['variable']}") -> str:
    """Code that weights the cases, with more syntax before they are saved."""
    return f"run(f'''GET FILE='{DATA}'.\nWEIGHT BY {by}.\n{more}\nSAVE OUTFILE='{DATA}'.\n''')"


def test_data_differ_by_seed_and_not_by_run():
    for make in (functions.survey, functions.experiment, functions.readings, functions.sites):
        assert make(1) == make(1) != make(2)


def test_a_line_of_a_cell_is_no_table():
    printed = 'Table: Variables\nName,Label\nage,"x\n\nTable: File Information\nWeight,age"\n'
    assert [title for title, _ in reports.tables(printed)] == ["Variables"]


def test_a_cell_is_found_by_what_stands_before_it():
    table = [["", "", "F", "t"], ["post", "equal", "1.8", ".2"], ["", "not", "", ".3"]]
    assert reports.cell(table, ["post", "not"], "t") == ".3"
    for row, column in ((["pre", "not"], "t"), (["post", "not"], "df")):
        with pytest.raises(ValueError, match="there is no"):
            reports.cell(table, row, column)


@pytest.mark.sandbox
def test_the_first_screen_has_the_data_and_no_dialog():
    with gym.make("deskgym/Science-v0", task="pspp/weight", observation=("a11y",), screen_size=(1280, 720)) as env:
        observation, _ = env.reset(seed=SEED)
        assert "survey.sav" in observation["a11y"] and "User Hint" not in observation["a11y"]


@pytest.mark.sandbox
def test_the_command_line_counts_as_well(env):
    paid, why = reward(env, "pspp/weight", weighted())
    assert paid == 1, why


BAD_DATA = {
    "another weight": weighted(by="{'income'}"),
    "a label more": weighted("VARIABLE LABELS age 'Age'."),
    "a case less": weighted("SELECT IF id <> 1."),
    "a variable more": weighted("COMPUTE more = 1."),
    "a variable less": weighted("DELETE VARIABLES q5."),
    "another order of the variables": weighted("SAVE OUTFILE='/tmp/o.sav' /KEEP=q5 ALL.\nGET FILE='/tmp/o.sav'."),
    "a label of the file": weighted("FILE LABEL 'mine'."),
    "a label of a missing value": weighted("MISSING VALUES q1 (9).\nVALUE LABELS q1 9 'none'."),
    "more cells than its size tells": weighted(
        "VECTOR v(6000).\nLOOP #i = 1 TO 6000.\nCOMPUTE v(#i)=1.5.\nEND LOOP.\nSAVE OUTFILE='/tmp/z.sav' /ZCOMPRESSED."
    )
    + f"\nimport shutil; shutil.copy('/tmp/z.sav', {DATA!r})",
    "a document that looks like output": (
        "run(f'''GET FILE='" + DATA + "'.\nDOCUMENT x\nTable: File Information\nWeight,{params['variable']}\n\n.\n"
        "SAVE OUTFILE='" + DATA + "'.\n''')"
    ),
    "no data": f"open({DATA!r}, 'w').write('nothing')",
    "half a file": f"text = open({DATA!r}, 'rb').read(); open({DATA!r}, 'wb').write(text[:900])",
    "syntax for data": f"open({DATA!r}, 'w').write('WEIGHT BY wgt.')",
    "a link": f"import os; os.remove({DATA!r}); os.symlink('/etc/passwd', {DATA!r})",
    "a pipe": f"import os; os.remove({DATA!r}); os.mkfifo({DATA!r})",
    "too large a file": f"import os; os.truncate({DATA!r}, 1 << 33)",
}


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("change", BAD_DATA.values(), ids=BAD_DATA)
def test_bad_data_earn_nothing(env, change):
    paid, why = reward(env, "pspp/weight", change)
    assert paid == 0, why


def mended(more: str) -> str:
    """Code that mends the syntax, with more syntax at its end."""
    return f"open({SYNTAX!r}, 'w').write(params['right'] + {more!r})"


BAD_SYNTAX = {
    "is not mended": "",
    "runs a program": mended("HOST COMMAND=['touch /tmp/x'].\n"),
    "reads from a program": mended("DATA LIST FILE='cat /etc/passwd |' /a 1-9 (A).\nEXECUTE.\n"),
    "erases a file": mended("ERASE FILE='/home/user/work/survey.sav'.\n"),
    "never ends": mended("SET MXLOOPS=2000000000.\nLOOP.\nCOMPUTE x = 1.\nEND LOOP.\nEXECUTE.\n"),
    "writes without end": mended(
        "INPUT PROGRAM.\nLOOP #i = 1 TO 1000000000.\nCOMPUTE x = #i.\nEND CASE.\nEND LOOP.\n"
        "END FILE.\nEND INPUT PROGRAM.\n"
        "SAVE OUTFILE='/home/user/work/result.sav'.\n"
    ),
    "has typed in what it found": (
        "run(params['right'] + 'SAVE TRANSLATE /OUTFILE=\"/tmp/r.csv\" /TYPE=CSV /FIELDNAMES.')\n"
        "names, *rows = open('/tmp/r.csv').read().splitlines()\n"
        "data = ''.join(row + chr(10) for row in rows)\n"
        f"open({SYNTAX!r}, 'w').write('DATA LIST LIST (\",\") NOTABLE /' + names.replace(',', ' ') + '.' + chr(10)"
        " + 'BEGIN DATA' + chr(10) + data + 'END DATA.' + chr(10)"
        " + 'SAVE OUTFILE=\"/home/user/work/result.sav\".' + chr(10))"
    ),
    "only its result": "run(params['right'])",
    "is a link": f"import os; os.remove({SYNTAX!r}); os.symlink('/etc/passwd', {SYNTAX!r})",
}


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("change", BAD_SYNTAX.values(), ids=BAD_SYNTAX)
def test_bad_syntax_earns_nothing(env, change):
    paid, why = reward(env, "pspp/mend", change)
    assert paid == 0, why


@pytest.mark.sandbox
@pytest.mark.slow
def test_syntax_that_is_mended_otherwise_counts(env):
    paid, why = reward(env, "pspp/mend", mended("* A comment at the end.\n"))
    assert paid == 1, why


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("content", ["Table: Descriptive Statistics\n,N\n", "nothing", "PK\x03\x04"])
def test_a_forged_output_earns_nothing(env, content):
    paid, why = reward(env, "pspp/export", f"open('/home/user/work/' + params['file'], 'w').write({content!r})")
    assert paid == 0, why


ALL_TABLES = f"""
asked = [(sex, a, b) for sex in (1, 2) for a in ("income", "age") for b in ("hours", "educ")]
asked.sort(key=lambda each: (each == tuple(params[name] for name in ("sex", "a", "b"))) is LAST)
with open("/tmp/all.sps", "w") as file:
    file.write("GET FILE='{DATA}'.\\n")
    for sex, a, b in asked:
        file.write(f"TEMPORARY.\\nSELECT IF sex = {{sex}}.\\nDESCRIPTIVES {{a}} {{b}}.\\n")
subprocess.run(["pspp", "-o", "/home/user/work/" + params["file"], "/tmp/all.sps"], check=True)
"""


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("last", [True, False])
def test_of_all_tables_that_might_be_right_the_last_one_counts(env, last):
    paid, why = reward(env, "pspp/export", ALL_TABLES.replace("LAST", str(last)))
    assert paid == last, why
