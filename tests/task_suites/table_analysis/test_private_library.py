"""Private libraries: translated code does the same, and nothing but the seed decides what it looks like."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from private_running import differences, module_of, ran, same
from private_snippets import SNIPPETS, shop_tables

from deskgym.task_suites.table_analysis import domains
from deskgym.task_suites.table_analysis.dialogue_file import DialogueFile, load_dialogues
from deskgym.task_suites.table_analysis.domains import domain, domain_names
from deskgym.task_suites.table_analysis.host_run import tables
from deskgym.task_suites.table_analysis.private import PrivateLibrary, called, make_library, recall
from deskgym.task_suites.table_analysis.private.library import look_alikes
from deskgym.task_suites.table_analysis.private.scope import STANDARD, Scope
from deskgym.task_suites.table_analysis.private.shapes import Shape, match_call
from deskgym.task_suites.table_analysis.sampling import SampledDialogue

CODES = list(SNIPPETS.values())
FILES = sorted((Path(domains.__file__).parent.parent / "dialogues").glob("*.yaml"))


def defined(library: PrivateLibrary) -> dict[str, ast.FunctionDef]:
    return {
        node.name: node
        for node in ast.parse(library.source).body
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    }


@cache
def dialogue(path: Path) -> DialogueFile:
    (file,) = load_dialogues([path], domain_names()).values()
    return file


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", SNIPPETS)
def test_a_translated_snippet_leaves_the_same(name: str, seed: int) -> None:
    library = make_library(seed, [SNIPPETS[name]])
    assert len(library.functions) > 14
    assert differences([SNIPPETS[name]], shop_tables(), library) == []


def test_one_library_serves_all_turns() -> None:
    library = make_library(3, CODES)
    for code in CODES:
        assert differences([code], shop_tables(), library) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_translated_dialogue_leaves_the_same(path: Path) -> None:
    file = dialogue(path)
    drawn = SampledDialogue(file, domain(file.domain), 5)
    codes = [drawn.fill(k, f"{turn.plot}\n{turn.code}") for k, turn in enumerate(file.turns)]
    library = make_library(5, codes)
    assert differences(codes, tables(domain(file.domain), 5), library) == []
    for k, turn in enumerate(file.turns):
        for wrong in turn.wrong.values():
            ast.parse(library.translate(drawn.fill(k, wrong)))
        if turn.result:
            assert recall(library.translate(codes[k]), [library.translate(codes[k])], library) == 1.0


def test_nothing_of_pandas_is_left_in_translated_code() -> None:
    library = make_library(4, [SNIPPETS["groups"]])
    text = library.translate(SNIPPETS["groups"])
    assert f"import {library.module} as {library.alias}" in text
    for word in ("groupby", "sort_values", ".mean(", ".agg(", "transform(", "reset_index", 'sales["'):
        assert word not in text


def test_seeds_differ_in_names_orders_and_wording() -> None:
    libraries = [make_library(seed, CODES) for seed in range(6)]
    assert len({library.module for library in libraries}) == 6
    for left, right in zip(libraries, libraries[1:], strict=False):
        assert len(left.names & right.names) < len(left.names) / 4
    orders = set()
    for library in libraries:
        (node,) = [one for one in defined(library).values() if ".pivot_table(" in ast.unparse(one)]
        call = next(one for one in ast.walk(node) if isinstance(one, ast.Call) and one.keywords)
        real = {ast.unparse(keyword.value): keyword.arg for keyword in call.keywords}
        orders.add(tuple(real.get(argument.arg, "self") for argument in node.args.args))
        (sentence,) = {(ast.get_docstring(node) or "").split("\n")[0]}
        orders.add((sentence,))
    assert len(orders) > 6


def test_the_same_seed_is_the_same_library_in_every_process() -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); from private_snippets import SNIPPETS\n"
        "from deskgym.task_suites.table_analysis.private import make_library\n"
        "codes = list(SNIPPETS.values()); made = make_library(9, codes)\n"
        "sys.stdout.write(made.source + made.documentation + ''.join(made.translate_all(codes)))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program, str(Path(__file__).parent)],
            env={"PYTHONHASHSEED": salt},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for salt in ("1", "2")
    }
    library = make_library(9, CODES)
    assert texts == {library.source + library.documentation + "".join(library.translate_all(CODES))}


def test_making_a_library_loads_no_heavy_package() -> None:
    program = (
        "import sys; from deskgym.task_suites.table_analysis.private import make_library\n"
        "make_library(0, ['a = b.mean()']).translate('a = b.mean()'); print('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip() == "False"


def test_every_function_is_documented_with_its_parameters() -> None:
    library = make_library(7, CODES)
    module = module_of(library)
    assert set(defined(library)) == set(library.functions)
    assert library.module in library.documentation.split("\n")[0]
    for name in library.functions:
        function = getattr(module, name)
        (entry,) = [part for part in library.documentation.split("\n\n") if part.startswith(f"{name}(")]
        assert f"{name}{inspect.signature(function)}" == entry.split("\n")[0]
        assert all(f"    - {parameter}: " in entry for parameter in inspect.signature(function).parameters)
        assert "Result: " in entry and function.__doc__


def test_decoys_are_there_and_never_called() -> None:
    plain, full = make_library(7, CODES, decoys=0), make_library(7, CODES)
    assert plain.decoys == () and len(full.decoys) == 12
    assert len(full.functions) == len(plain.functions) + 12
    used = frozenset().union(*(called(text, full) for text in full.translate_all(CODES)))
    assert used.isdisjoint(full.decoys)


@pytest.mark.parametrize(
    ("code", "other"),
    [
        ("sales.sort_values('price', ascending=False)", "sales.sort_values('price', ascending=True)"),
        ("sales.sort_values('price')", "sales.sort_values('price', ascending=False)"),
        ("sales['price'].mean()", "sales['price'].median()"),
        ("sales.merge(towns, on='town')", "sales.merge(towns, on='town', how='left')"),
        ("sales.merge(towns, on='town', how='left')", "sales.merge(towns, on='town', how='outer')"),
        ("sales['price'].std()", "sales['price'].std(ddof=0)"),
        ("sales['price'].rank()", "sales['price'].rank(ascending=False)"),
        ("sales['town'].str.upper()", "sales['town'].str.lower()"),
        ("sales.groupby('town')['price'].max()", "sales.groupby('town')['price'].min()"),
        ("sales['town'].value_counts()", "sales['town'].value_counts(normalize=True)"),
        ("sales.head(3)", "sales.tail(3)"),
        ("sales.nlargest(3, 'price')", "sales.nsmallest(3, 'price')"),
        ("np.log(sales['number'])", "np.log10(sales['number'])"),
    ],
)
def test_look_alikes_give_something_else(code: str, other: str) -> None:
    left, right = (ran([f"out = {text}"], shop_tables())["out"] for text in (code, other))
    assert not same(left, right)
    shape, alike = outermost(code), outermost(other)
    assert alike in look_alikes(shape) and shape not in look_alikes(shape)
    wanted = make_library(0, [other], decoys=0)._by_shape[alike]
    body = wanted.source.rpartition("return ")[2].partition("(")[0].rpartition(".")[2]
    decoys = {
        ast.unparse(defined(library)[name].body[-1])
        for library in (make_library(seed, [code]) for seed in range(40))
        for name in library.decoys
    }
    setting = "".join(f"{name}={value}" for name, value in alike.settings)
    assert any(f".{body}(" in decoy and setting in decoy for decoy in decoys)


def outermost(code: str) -> Shape:
    node = ast.parse(code, mode="eval").body
    assert isinstance(node, ast.Call)
    match = match_call(node, Scope(STANDARD))
    assert match is not None
    return match.shape


def test_a_run_can_be_traced() -> None:
    library = make_library(2, [SNIPPETS["groups"]])
    module = module_of(library)
    text = library.translate(SNIPPETS["groups"])
    ran([text], shop_tables())
    assert module.CALLS == called(text, library)
    exec(library.forgetting, {})
    assert module.CALLS == set()
    with pytest.raises(TypeError):
        getattr(module, library.functions[0])(no_such=1)
    assert module.CALLS == set()


def test_what_is_outside_the_library_stays() -> None:
    library = make_library(2, ["low = sales['price'].min()"])
    wrong = "# why\nlow = sales['price'].quantile(0.1)  # too high\nother = {'a': [1, 2][0]}\n"
    text = library.translate(wrong)
    assert ".quantile(0.1)" in text and "# why" in text and "# too high" in text and "{'a': [1, 2][0]}" in text
    assert library.translate("x = 1 + 1\n") == "x = 1 + 1\n"
    assert differences([wrong], shop_tables(), library) == []


@pytest.mark.parametrize(
    "code",
    [
        "log = []\ndef say(x):\n    log.append(x)\n    return x\nout = say(sales).nlargest(say(2), say('price'))",
        "rest = ['price', 'number']\nout = sales.groupby('town')[rest.pop()].sum().add_suffix(rest.pop()).round(1)",
        "sales['new'] = sales.pop('price').fillna(0).round(1).astype(int)\nleft = list(sales.columns)",
        "if len(sales) > 3: a = 1; low = sales['price'].dropna().abs().round(1).min(); b = 2",
        "low = (sales\n  .dropna()  # first\n  .groupby('town')['price']\n  .mean()\n  .min())\nö = sales.iloc[0]",
        "from __future__ import annotations\nlow: float = sales['price'].min()",
        "get = lambda table, key='price': table[key].max()\nlow = get(sales)",
        "low = [row['price'] for _, row in sales.head(3).iterrows() if row['number'] > 2]",
        "mean = sum = 3\nlow = sales['price'].sum()\ndel mean",
        "np = 3\nlow = np + 1",
        "kept = sales\nkept['x'] = 1\nwidth = sales.shape[1]",
        "out = sales.assign(holdings=1, source=sales['price'].rank(method='dense'))",
        "step_1 = stage_1 = 1\nout = sales['price'].dropna().abs().round(1).sort_values().head(3)",
        "out = ', '.join(sales['town'].unique()).replace('U', 'u').split()",
        "class Box:\n    def low(self, t):\n        return t['price'].min()\nlow = Box().low(sales)",
    ],
)
def test_translation_keeps_what_code_means(code: str) -> None:
    library = make_library(11, [code])
    assert differences([code], shop_tables(), library) == []
    assert called(library.translate(code), library).isdisjoint(library.decoys)


def test_names_of_the_code_are_left_alone() -> None:
    first = make_library(12, CODES)
    words = " = ".join([first.alias, first.module, *first.functions, "1"])
    second = make_library(12, [*CODES, words])
    assert second.names.isdisjoint(first.names) and second.module != first.module and second.alias != first.alias
    clash = f"{first.alias} = 1\nlow = sales['price'].dropna()"
    assert f"{first.module}." in first.translate(clash)
    assert differences([clash], shop_tables(), first) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_library(0, ["a = ("]), "not Python code"),
        (lambda: make_library(0, "a = 1"), "legal is a list"),
        (lambda: make_library(0, [], decoys=-1), "legal is 0 or more"),
        (lambda: make_library(0, []).translate("a ="), "not Python code"),
        (lambda: recall("a = 1", ["a = 1"], make_library(0, [])), "calls no function"),
        (lambda: recall("a = 1", "a = 1", make_library(0, [])), "legal is a list"),
    ],
)
def test_bad_arguments_are_one_clear_error(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_it_is_fast_enough_for_every_reset() -> None:
    codes = [SNIPPETS[name] for name in ("groups", "joins", "reshaping", "selection", "texts", "dates")]
    times = []
    for seed in range(6):
        start = time.process_time()
        make_library(1000 + seed, codes).translate_all(codes)
        times.append(time.process_time() - start)
    assert min(times) < 0.06
