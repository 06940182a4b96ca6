"""LabPlot's projects as data, and what is not paid for in real sandboxes."""

import base64
import gzip
import lzma
import struct
import time
from html import escape

import gymnasium as gym
import pytest
from paid_code import finish, play

import deskgym  # noqa: F401 - registers the ids
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.evaluation.readers.packed_xml import MAX_ELEMENTS, UNPACKED
from deskgym.envs.observation.accessible_program import AccessibleProgram
from deskgym.task_suites.programs.labplot.functions import arranged, line, measurements, statistic
from deskgym.task_suites.programs.labplot.program import make
from deskgym.task_suites.programs.labplot.project import columns, parse, plots

COLUMNS = {"t": [0.5, 1.5, 2.5], "h": [3.0, 1.0, 2.0]}
TEXT = make(COLUMNS).encode()
DATA = base64.b64encode(struct.pack("<3d", *COLUMNS["t"])).decode()

SHOWN = {
    "worksheet": "Project/Worksheet", "title": "", "x title": "", "y title": "",
    "x scale": "linear", "y scale": "linear", "x range": None, "y range": None, "fits": [], "histograms": [],
    "curves": [{"x": "Project/Measurements/t", "y": "Project/Measurements/h", "line": "solid", "symbol": "none"}],
}  # fmt: skip


def changed(*pairs: tuple[str, str]) -> bytes:
    text = TEXT.decode()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text.encode()


@pytest.mark.parametrize("data", [TEXT, gzip.compress(TEXT), lzma.compress(TEXT)], ids=["plain", "gzip", "xz"])
def test_columns_and_plots_are_read(data):
    root = parse(data)
    assert columns(root) == {f"Project/Measurements/{name}": values for name, values in COLUMNS.items()}
    assert plots(root) == [SHOWN]


CURVE = 'legendVisible="1" visible="1"'
HIDDEN = {
    "curve": (CURVE, 'legendVisible="1" visible="0"'),
    "line of no type": ('<lines type="1"', '<lines type="0"'),
    "clear line": ('color_b="216" width="3.52778" opacity="1"/>', 'color_b="216" width="3.52778" opacity="0"/>'),
}


@pytest.mark.parametrize("change", HIDDEN.values(), ids=HIDDEN.keys())
def test_a_curve_that_nobody_sees_does_not_count(change):
    assert plots(parse(changed(change)))[0]["curves"] == []


def test_a_plot_that_is_hidden_does_not_count():
    assert plots(parse(changed(('height="900" visible="1"', 'height="900" visible="0"')))) == []


def test_a_second_range_is_no_range_nor_is_one_that_labplot_chooses():
    one = '<yRange autoScale="1" start="2" end="9"'
    fixed = ('<xRange autoScale="1"', '<xRange autoScale="0"')
    root = parse(changed(fixed, (one, '<yRange autoScale="0" start="0" end="1" scale="0"/>' + one)))
    assert plots(root)[0]["y range"] is None and plots(root)[0]["x range"] == [1, 4]
    assert plots(parse(changed(fixed)))[0]["y range"] is None


def test_what_labplot_does_not_read_does_not_count():
    text = TEXT.decode()
    inside = text.replace("<child_aspect>", "<other><child_aspect>").replace(
        "</child_aspect>", "</child_aspect></other>"
    )
    assert not columns(parse(inside.encode())) and not plots(parse(inside.encode()))
    column = text.index("<column "), text.index("</spreadsheet>")
    nested = f"{text[: column[0]]}<other>{text[slice(*column)]}</other>{text[column[1] :]}"
    assert not columns(parse(nested.encode()))


def test_the_titles_of_the_axes_at_the_top_and_at_the_right_do_not_count():
    text = TEXT.decode()
    for axis in ("x2", "y2"):
        start = text.index("<text></text>", text.index(f'name="{axis}"'))
        text = f"{text[:start]}<text>There</text>{text[start + 13 :]}"
    plot = plots(parse(text.encode()))[0]
    assert plot["x title"] == plot["y title"] == ""


def test_a_histogram_must_be_seen():
    histogram = (
        '<Histogram><general dataColumn="a" type="0" visible="1"/><line type="1" style="1" opacity="1"/></Histogram>'
    )
    for one, count in ((histogram, 1), (histogram.replace('<line type="1"', '<line type="0"'), 0)):
        assert len(plots(parse(changed(("<xyCurve ", f"{one}<xyCurve "))))[0]["histograms"]) == count


@pytest.mark.parametrize("text", ["<![foo[bar]]>", "<a x" * 8000], ids=["no HTML", "long"])
def test_a_label_that_cannot_be_read_is_refused(text):
    with pytest.raises(CheckFailed, match="a label's text"):
        plots(parse(TEXT.replace(b"<text></text>", f"<text>{escape(text)}</text>".encode(), 1)))


def test_a_scale_is_one_of_those_that_are_known():
    found = plots(parse(changed(('scale="0" format="0"', f'scale="{"1" * 5000}" format="0"'))))[0]
    assert found["x scale"] == "1" * 5000


def test_a_title_is_its_words_without_their_format():
    title = escape("<html><head><style>p {}</style></head><p>Run &lt; <b>12</b></p></html>")
    assert plots(parse(TEXT.replace(b"<text></text>", f"<text>{title}</text>".encode(), 1)))[0]["title"] == "Run < 12"


REFUSED = {
    "bomb of xz": lzma.compress(b" " * (UNPACKED + 2)),
    "bomb of gzip": gzip.compress(b" " * (UNPACKED + 2)),
    "entity": b'<!DOCTYPE p [<!ENTITY a "aaaa">]><project>&a;</project>',
    "outer entity": b'<!DOCTYPE p [<!ENTITY a SYSTEM "file:///etc/passwd">]><project>&a;</project>',
    "deep": b"<project>" + b"<a>" * 300_000 + b"</a>" * 300_000 + b"</project>",
    "many": b"<project>" + b"<a/>" * MAX_ELEMENTS + b"</project>",
    "no project": b"<other/>",
    "no XML": b"text",
    "cut": lzma.compress(TEXT)[:60],
}


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_project_is_refused(data):
    with pytest.raises(CheckFailed):
        parse(data)


def test_a_damaged_column_and_two_of_one_name_are_refused():
    for change in ((DATA, "###"), (DATA, "é"), ('name="h" rows', 'name="t" rows')):
        with pytest.raises(CheckFailed):
            columns(parse(changed(change)))


def test_masked_columns_and_texts_have_no_numbers():
    masked = parse(changed((f"</output_filter>{DATA}", f'</output_filter><mask start_row="0" end_row="0"/>{DATA}')))
    assert columns(masked)["Project/Measurements/t"] is None
    assert set(columns(parse(changed(('mode="0"', 'mode="1"')))).values()) == {None}


def test_measurements_differ_by_the_seed():
    assert measurements(1) == measurements(1) != measurements(2)


def test_what_is_right_of_measurements():
    of = measurements(3)
    rows = list(zip(*arranged(of, of["z"], "Descending").values(), strict=True))
    assert sorted(rows) == list(zip(of["xs"], of["ys"], of["zs"], strict=True))
    assert [row[2] for row in rows] == sorted(of["zs"], reverse=True)
    assert line([0, 1, 2], [1, 3, 5]) == pytest.approx((1, 2))
    names = ("Arithmetic mean", "Geometric mean", "Harmonic mean", "Contraharmonic mean")
    # as LabPlot 2.9.0 shows them
    assert [round(statistic([1, 4, 2, 8], name), 6) for name in names] == [3.75, 2.828427, 2.133333, 5.666667]


SEED = 4


@pytest.fixture(scope="module")
def env():
    with gym.make("deskgym/Science-v0", task="labplot/*", action="code", screen_size=(1280, 800)) as made:
        yield made


def reward(env, task: str, code: str) -> tuple[float, str]:
    """What an agent is paid that runs this, and why; ``params`` are the task's."""
    env.reset(seed=SEED, options={"task": task})
    params = dict(env.unwrapped.task.params)
    play(env, f"params = {params!r}\npath = '/home/user/lab.lml'\n{code}")
    return finish(env)


FORGED = {
    "a link to another file": "import os; os.remove(path); os.symlink('/etc/passwd', path)",
    "a pipe": "import os; os.remove(path); os.mkfifo(path)",
    "a bomb": "import lzma; open(path, 'wb').write(lzma.compress(b'<project>' + b' ' * (1 << 28)))",
    "an entity": "open(path, 'w').write('<!DOCTYPE p [<!ENTITY a \"b\">]><project>&a;</project>')",
    "ranges without their curve": (
        "import re\ntext = re.sub(r'<xyCurve.*</xyCurve>', '', open(path).read(), flags=re.S)\n"
        "for axis, low, high in (('x', 'a', 'b'), ('y', 'c', 'd')):\n"
        "    range_ = f'<{axis}Range autoScale=%s0%s start=%s{params[low]}%s end=%s{params[high]}%s' % (('\"',) * 6)\n"
        "    text = re.sub(f'<{axis}Range .*?end=.[0-9]+.', range_, text)\n"
        "open(path, 'w').write(text)"
    ),
}


@pytest.mark.sandbox
@pytest.mark.parametrize("code", FORGED.values(), ids=FORGED.keys())
def test_forged_projects_earn_nothing(env, code):
    paid, said = reward(env, "labplot/range", code)
    assert paid == 0, said


@pytest.mark.sandbox
def test_another_way_to_the_same_state_counts(env):
    code = "text = open(path).read().replace('scale=\"0\" format', 'scale=\"SCALE\" format', 9)\n"
    code += "scales = ('linear', 'log10', 'log2', 'ln', 'sqrt'); a = params['axis']\n"
    code += "for axis in 'xy': text = text.replace('SCALE', str(scales.index(a[axis])), 1)\nopen(path, 'w').write(text)"
    paid, said = reward(env, "labplot/scale", code)
    assert paid == 1, said


@pytest.mark.sandbox
def test_a_first_click_in_the_tree_stays(env):
    place = None  # read once: while it is read, the tree unfolds
    for _ in range(5):
        env.reset(seed=SEED, options={"task": "labplot/title"})
        if place is None:
            tree = AccessibleProgram(env.unwrapped.machine, "labplot2").tree()
            x, y, _, height = tree.find("table cell", "Measurements").extents
            place = x + 1, y + height // 2
            continue
        env.step(f"pyautogui.click({place[0] + 20}, {place[1]})")
        time.sleep(0.6)  # longer than the tree takes to unfold
        screen = env.step("WAIT 1")[0]["screenshot"]
        red, _, blue = map(int, screen[place[1], place[0]])
        assert blue > red + 16, "the row is not selected"
