"""Dialogue files: what is read, and every mistake with its line."""

from pathlib import Path

import pytest
from shop_domain import DOMAINS, FOLDER

from deskgym.envs.errors import TaskError
from deskgym.task_suites.core.schema_yaml import Document, TaskFileError
from deskgym.task_suites.table_analysis.code_names import names, needed, sliced
from deskgym.task_suites.table_analysis.dialogue_file import fill, load_dialogues, read_dialogue

TEXT = (FOLDER / "shop-ada.yaml").read_text()


def problems(text: str) -> list[str]:
    document = Document.parse(text, "f.yaml")
    read_dialogue(document, DOMAINS)
    return [str(problem) for problem in sorted(document.problems)]


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def test_a_file_is_read():
    (file,) = load_dialogues([FOLDER], DOMAINS).values()
    assert (file.id, file.domain, len(file.turns)) == ("shop/ada", "shop", 7)
    assert file.turns[0].result == {"mean_price": "value", "count": "value"}
    assert file.turns[0].update.from_ == "all towns"
    assert problems(TEXT) == []


@pytest.mark.parametrize(
    ("old", "new", "at", "message"),
    [
        ("id: shop/ada", "id: shap/ada", "id: shap/ada", "unknown domain 'shap'; did you mean 'shop'?"),
        ("id: shop/ada", "id: ada", "id: ada", "legal is domain/persona such as 'penguins/ines', got 'ada'"),
        ("id: many-units", "id: Many", "id: Many", "legal is kebab-case such as 'mean-mass', got 'Many'"),
        ("id: many-units", "id: mean-price", "  - id: mean-price\n    query: How", "duplicate turn id 'mean-price'"),
        ("in {town}? Put", "in {twon}? Put", "in {twon}", "unknown parameter 'twon'; did you mean 'town'?"),
        ("{many: dict}", "{many: dct}", "{many: dct}", "unknown result type 'dct'; did you mean 'dict'?"),
        ("{many: dict}", "{much: dict}", "    code: |\n      many =", "the code sets no variable 'much'"),
        ("def discounted(price, number):", "def discounted(price number):", "def discounted(price n", "is not Python"),
        ("      more than: |\n", "      blank plot: |\n", "blank plot", "the wrong code 'blank plot' is made for you"),
        ("from: all towns", "from: all town", "from: all town", "unknown wrong code 'all town'"),
        ("    action: plot_qa\n", "    action: best_guess\n", "id: second-bar", "a plot_qa turn has 'plot'"),
        ("      answerable = ", "      possible = ", "    choice: |\n      possible", "sets no variable 'answerable'"),
        ("probes:\n      d", "truth:\n      d", "{discounted: function}", "the function 'discounted' needs 'probes'"),
        ("choice: [Bath, Cork, Dover, Exeter]", "choose: [Bath]", "choose", "unknown draw or function 'choose'"),
        ("choice: [first, second, third]", "choice: []", "[]", "legal is a list with at least one item"),
        ("  asked: {", "  means: {", "    code: |\n      means =", "variable 'means' is named like a parameter"),
        ("    result: {many", "    results: {many", "results:", "unknown key 'results'; did you mean 'result'?"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_line(old: str, new: str, at: str, message: str):
    text = TEXT.replace(old, new, 1)
    found = [problem for problem in problems(text) if message in problem]
    assert found, problems(text)
    assert found[0].startswith(f"f.yaml:{line_of(text, at)}:")


def test_two_wrong_codes_at_least():
    text = TEXT.replace("      pie: |\n", "").replace(
        '        figure, axes = plt.subplots()\n        axes.pie(sales.groupby("town")["price"].mean().values)\n', ""
    )
    assert "at least 2 wrong codes of different kinds, got 1" in problems(text)[0]


def test_an_empty_split_is_told():
    text = TEXT.replace("turns:\n", "split_by: [asked]\nsplits: {train: 0.5, test: 0.499, rest: 0.001}\nturns:\n", 1)
    assert "no instance of 300 is in the split 'rest'" in problems(text)[0]


def test_mistakes_of_all_files_come_together(tmp_path: Path):
    (tmp_path / "a.yaml").write_text(TEXT.replace("{many: dict}", "{many: dct}"))
    (tmp_path / "b.yaml").write_text(TEXT)
    (tmp_path / "c.yaml").write_text(TEXT)
    (tmp_path / "d.yaml").write_text("- 1\n")
    with pytest.raises(TaskFileError) as caught:
        load_dialogues([tmp_path], DOMAINS)
    told = str(caught.value)
    assert "a.yaml" in told and "c.yaml" in told and "duplicate id 'shop/ada'" in told
    assert "d.yaml:1:1: a dialogue file is a mapping, got a list" in told
    with pytest.raises(TaskError, match="there is no folder or file"):
        load_dialogues([tmp_path / "nothing"], DOMAINS)


def test_only_declared_names_are_filled():
    code = "f\"{price:.2f} {town} {x}\"; d = {'town': 1, 2: {town}}"
    assert fill(code, {"town": "Bath"}) == "f\"{price:.2f} Bath {x}\"; d = {'town': 1, 2: Bath}"


@pytest.mark.parametrize(
    ("code", "needs", "changes"),
    [
        ("a = b + 1\nc = a", {"b"}, {"a", "c"}),
        ("a += 1", {"a"}, {"a"}),
        ("if q:\n    a = 1\nb = a", {"q", "a"}, {"a", "b"}),
        ("t['x'] = 1", {"t"}, {"t"}),
        ("u = t\nu['x'] = 1", {"t"}, {"u", "t"}),
        ("t.drop(columns='x', inplace=True)", {"t"}, {"t"}),
        ("l.append(1)", {"l"}, {"l"}),
        ("import numpy as n\nfrom os import path\nx = n.pi", set(), {"n", "path", "x"}),
        ("def f(y):\n    z = y * k\n    return z", {"y", "z", "k"}, {"f"}),
        ("t.loc[0, 'x'] = 2", {"t"}, {"t"}),
    ],
)
def test_what_code_needs_and_changes(code: str, needs: set[str], changes: set[str]):
    assert (names(code).needs, names(code).changes) == (needs, changes)


def test_needed_follows_the_chain_backwards():
    codes = ["a = 1", "b = a", "z = 9", "t['x'] = b"]
    assert needed(codes, ["t.sum()"]) == [True, True, False, True]
    assert needed(codes, ["z"]) == [False, False, True, False]


@pytest.mark.parametrize(
    ("code", "final", "kept"),
    [
        ("a = 1\nb = 2\nc = a", "c + 1", ["a = 1", "c = a"]),
        ("n = len(t)\nfigure, axes = plt.subplots()\naxes.bar(['x'], n)", "n", ["n = len(t)"]),
        ("figure, axes = plt.subplots()\naxes.bar(x, y)", "axes.patches",
         ["figure, axes = plt.subplots()", "axes.bar(x, y)"]),
        ("figure, axes = plt.subplots()\nt.plot(ax=axes)", "axes.lines",
         ["figure, axes = plt.subplots()", "t.plot(ax=axes)"]),
        ("x = [2, 1]\nrng.shuffle(x)", "x", ["x = [2, 1]", "rng.shuffle(x)"]),
        ("d = {}\nfor k in ks:\n    d[k] = f(k)", "d", ["d = {}", "for k in ks:\n    d[k] = f(k)"]),
        ("m = Model()\nm.fit(t[['x']], t['y'])\nb = t.copy()", "t, b", ["b = t.copy()"]),
        ("t['y'] = t['x'] * 2\nz = 1", "t.sum()", ["t['y'] = t['x'] * 2"]),
        ("d = {}\nd.setdefault('k', []).append(1)", "d", ["d = {}", "d.setdefault('k', []).append(1)"]),
    ],
)  # fmt: skip
def test_statements_that_matter_are_kept(code: str, final: str, kept: list[str]):
    assert sliced([code], [final]) == kept
