"""Each block of Python in the README and the documentation runs as written, but for the names of what a user has."""

import re
import warnings

import gymnasium as gym
import pytest
from test_readme import ROOT

UPSTREAM = ROOT.parent / "shared" / "upstream"
PLAYED = (
    "README.md", "docs/wrappers.md", "docs/agents.md", "docs/company.md", "docs/gvisor.md", "docs/procedures.md",
    "docs/science.md", "docs/states.md", "docs/table_analysis.md", "docs/tutorials/train_a_policy.md",
)  # fmt: skip
"""Pages whose blocks play episodes, as they stand."""
GIVEN = {
    "docs/checks.md": ("", {}),
    "docs/demonstrations.md": ("", {r'"demonstrations/.*"': "demonstration"}),
    "docs/openenv.md": ("", {}),
    "docs/pool.md": ("import gymnasium as gym, deskgym", {}),
    "docs/qemu.md": ("import gymnasium as gym, deskgym", {}),
    "docs/scienceboard.md": ("DIR = upstream / 'scienceboard'", {r'"/path/to/Scie.*?"': "upstream / 'scienceboard'"}),
    "docs/spider2v.md": (
        "import deskgym.task_suites.importers.spider2v.apps.superset.app as superset; globals().update(vars(superset))",
        {r'"/path/to/Spider2-V"': "upstream / 'spider2v'"},
    ),
    "docs/appendix/vector.md": (
        "import os, psutil, statistics, types; envs = types.SimpleNamespace(call=lambda name: [os.getpid()])", {},
    ),
    "docs/vnc.md": ("import gymnasium as gym, deskgym", {}),
}  # fmt: skip
"""Pages whose blocks need no machine: what stands before each, and what stands for what a user has."""
ELSEWHERE = {
    "docs/accessibility.md": "tests/envs/guest/accessibility/test_accessibility.py",
    "docs/attacks.md": "tests/cli/test_verify_attacks.py",
    "docs/computer_use.md": "tests/wrappers/action/test_openai_computer_use.py",
    "docs/datasets.md": "tests/datasets/test_minari_export.py",
    "docs/discrete.md": "tests/envs/action/test_discrete.py",
    "docs/layers.md": "tests/envs/provision/test_layers.py",
    "docs/programs.md": "tests/task_suites/programs/test_programs_docs.py",
    "docs/retrieval.md": "tests/wrappers/observation/test_retrieved_context.py",
    "docs/scaling.md": "tests/envs/ray/test_distributed.py",
    "docs/services.md": "tests/task_suites/programs/test_programs_docs.py",
    "docs/tapilot.md": "tests/task_suites/importers/tapilot/test_tapilot_playing.py",
    "docs/tasks.md": "tests/task_suites/core/test_docs.py",
    "docs/trainers.md": "tests/trainers/test_tables_trainers.py",
    "docs/tutorials/write_a_task.md": "tests/test_readme.py",
    "docs/vector.md": "tests/envs/vector/test_vector_env.py",
}
"""Pages whose code another test runs, or whose calls it makes with what they need around them."""


def python_of(page):
    return re.findall(r"^```python\n(.*?)\n```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


def blocks_of(pages):
    return [pytest.param(page, code, id=f"{page}-{k}") for page in pages for k, code in enumerate(python_of(page))]


def run(code):
    names = {"upstream": UPSTREAM}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(code, "page", "exec"), names)
        finally:
            for value in names.values():
                if isinstance(value, gym.Env):
                    value.close()
    return names


def test_no_page_is_forgotten():
    pages = [path.relative_to(ROOT) for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))]
    assert {str(page) for page in pages if python_of(page)} == {*PLAYED, *GIVEN, *ELSEWHERE}
    assert len(blocks_of(PLAYED)) > 10 and all((ROOT / place).is_file() for place in ELSEWHERE.values())


@pytest.mark.parametrize(("page", "code"), blocks_of(GIVEN))
def test_a_block_runs_with_what_is_given(page, code, tmp_path, monkeypatch):
    before, instead = GIVEN[page]
    if "upstream" in f"{before}{instead}" and not UPSTREAM.is_dir():
        pytest.skip("no copies of the benchmarks at ../shared/upstream")
    demonstrations = ROOT / "task_suites/procedures/demonstrations"
    before += f"\ndemonstration = {str(next(demonstrations.glob('helpdesk.resolve*')))!r}\n"
    for pattern, name in instead.items():
        code, count = re.subn(pattern, name, code)
        assert count or "/path/to" not in code
    monkeypatch.chdir(tmp_path)
    run(f"{before}\n{code}")


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize(("page", "code"), blocks_of(PLAYED))
def test_a_block_plays(page, code):
    names = run(code)
    if "oracle()" in code:
        assert names["reward"] == 1.0
