"""The GUI-only variant: which templates have one, and what it is made of."""

import re

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.cli import main
from deskgym.envs.errors import TaskError
from deskgym.task_suites import load_suite

TYPED = ("grass.command", "grass.tell", "pymol.type", "pymol.save", "pymol.picture", "pymol.ask")


@pytest.fixture(scope="module")
def suites():
    return load_suite("science"), load_suite("science", interface="gui")


def test_a_template_without_a_command_line_is_its_own_variant(suites):
    plain, gui = suites
    for name in ("kalgebra/plot-2d", "kstars/find", "coqide/lemma", "texstudio/rename", "cross/plot"):
        assert gui.templates[name].file == plain.templates[name].file


def test_a_variant_closes_the_command_line_and_types_nothing_there(suites):
    _, gui = suites
    variants = [template for name, template in gui.templates.items() if name.startswith("gui/")]
    assert len(variants) >= 27
    for template in variants:
        file = template.file
        assert "console': False" in str(file.setup) or "prompt': False" in str(file.setup)
        assert file.wrong and all(steps for steps in file.wrong.values()) and "gui_only" in file.tags
        scripts = [file.oracle, *file.wrong.values()]
        assert not {name for script in scripts for step in script for name in step} & {*TYPED}
        gui.get(template.id)


def test_a_template_that_only_a_command_is_known_to_solve_has_none(suites):
    plain, gui = suites
    assert "pymol/turn" in plain.ids() and not {"pymol/turn", "gui/pymol/turn"} & set(gui.ids())
    assert {f"gui/{name}" for name in plain.ids() if name.startswith("grass/")} <= set(gui.ids())


def test_proofs_of_variants_are_apart(suites):
    plain, gui = suites
    assert plain.proof_inputs("grass/layers").file != gui.proof_inputs("gui/grass/layers").file
    assert plain.proof_inputs("kstars/find").file == gui.proof_inputs("kstars/find").file


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "gui/grass/buffer"}, r"'gui/grass/buffer' needs interface='gui' \(a command's --interface gui\)"),
        ({"task": "gui/grass/buffer#3"}, "'gui/grass/buffer' needs interface='gui'"),
        ({"task": "gui/grass/bufer"}, "unknown task 'gui/grass/bufer'"),
        ({"task": "pymol/angle", "interface": "gui"}, "'pymol/angle' has no variant .*; leave out interface='gui'"),
        ({"task": "gui/pymol/angle#3", "interface": "gui"}, "'pymol/angle' has no variant without a command line"),
        ({"task": "grass/buffer", "interface": "gui"}, "did you mean 'gui/grass/buffer'"),
    ],
)
def test_a_task_of_the_other_interface_says_which_one_it_needs(options, message, capsys):
    with pytest.raises(TaskError, match=message):
        gym.make("deskgym/Science-v0", machine="fake", **options)
    asked = [text for name, value in options.items() for text in (f"--{name}", value)]
    assert main(["verify", "science", "--check", *asked]) == 1
    assert re.search(message, capsys.readouterr().err)


def test_programs_are_no_actions_there():
    with pytest.raises(ValueError, match="action='code' with interface='gui', .* legal are 'computer' and 'discrete'"):
        gym.make("deskgym/Science-v0", machine="fake", interface="gui", action="code")
