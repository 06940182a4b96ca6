"""The interpreter of lambda strings: what it computes, what it refuses, and that nothing hurts the host."""

import json
import random
import time
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deskgym.envs.errors import TaskError
from deskgym.task_suites.importers.lambdas import LambdaError, Limits, compile_lambda


def run(source, *args, **options):
    return compile_lambda(source, "a.json:key", **options)(*args)


@pytest.mark.parametrize(
    ("source", "args"),
    [
        ("lambda: 1 + 2 * 3 - 4 / 5 // 1 % 7 ** 2", ()),
        ("lambda a, b: a[0] < b <= 5 and not a == b or -b", ([1], 3)),
        ("lambda d: d['x'][1:][::-1]", ({"x": [1, 2, 3]},)),
        ("lambda d: [i['n'] for i in d if i['n'] != 'a' if len(i['n']) < 3]", ([{"n": "a"}, {"n": "bc"}],)),
        ("lambda d: [x * y for x in d for y in range(x)]", ([1, 2, 3],)),
        ("lambda d: (s := sum(d), m := s / len(d), [x - m for x in d])[-1]", ([1, 2, 6],)),
        ("lambda k: '.'.join(k.split('.')[:-1] + ['z'])", ("a.b.c",)),
        ("lambda k: (k.strip().startswith('a'), k.endswith('b'), k.replace('a', 'bb'))", (" ab",)),
        ("lambda v: any([x > 2 for x in v]) and all(x < 9 for x in v)", ([1, 5],)),
        ("lambda v: sorted(v, key=lambda x: -x)[0] + max(v, key=lambda x: x % 3)", ([4, 8, 6],)),
        ("lambda v: [(i, a, b) for i, (a, b) in enumerate(zip(v, v[1:]))]", ([1, 2, 3],)),
        ("lambda v: 'yes' if v is None else str(v) + str([1, v])", (3,)),
        ("lambda d: {'a': d}['a'].get('q', 7) in (7, 8)", ({},)),
        ("lambda n: (f := lambda k: 1 if k < 2 else k * f(k - 1), f(n))[1]", (9,)),
        ("lambda: (lambda x: x + 1)(2)", ()),
        ("lambda x: __import__('math').sqrt(x) * __import__('math').pi", (2,)),
        ("lambda x: [x for x in [1, 2]] + [x]", (5,)),
        ("lambda v: ([last := x for x in v], last)", ([1, 2],)),
        ("lambda a: int('12') + float('.5') + round(a, 1) + abs(-a)", (1.26,)),
    ],
)
def test_same_as_python(source, args):
    assert run(source, *args) == eval(source)(*args)


def test_every_lambda_of_the_given_files_is_accepted(upstream):
    found = []

    def collect(value):
        if isinstance(value, str) and value.startswith("lambda"):
            found.append(compile_lambda(value))
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            collect(inner)

    for file in upstream.glob("tasks/*/*/*.json"):
        collect(json.loads(file.read_text(encoding="utf-8")))
    assert len(found) > 100


def test_celestias_eclipse():
    source = (
        "lambda dump: (s := dump['S']['p'], e := dump['E']['p'], v := [s[i] - e[i] for i in range(3)], "
        "n := __import__('math').sqrt(v[0]**2 + v[1]**2 + v[2]**2), v[0] / n)[-1]"
    )
    assert run(source, {"S": {"p": [3, 4, 0]}, "E": {"p": [0, 0, 0]}}) == 0.6


def test_clock():
    source = "lambda: __import__('datetime').datetime.today().strftime('%Y-%m-%d')"
    assert run(source, now=lambda: datetime(2020, 5, 17)) == "2020-05-17"
    assert run(source) == datetime.today().strftime("%Y-%m-%d")


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("lambda: open('/etc/passwd')", "'open'"),
        ("lambda: eval('1')", "'eval'"),
        ("lambda: getattr(1, 'real')", "'getattr'"),
        ("lambda: ().__class__", "'__class__'"),
        ("lambda: ''.__class__.__mro__", "'__mro__'|'__class__'"),
        ("lambda: 'x'.format(1)", "'format'"),
        ("lambda: f'{1}'", "JoinedStr"),
        ("lambda: __import__('os').system('true')", "'os.system'"),
        ("lambda: __import__('math').factorial(9)", "'math.factorial'"),
        ("lambda: __import__('math').__loader__", "'__loader__'"),
        ("lambda: __import__('datetime').datetime.today()", "'datetime.datetime.today'"),
        ("lambda m: __import__(m).sqrt(2)", "'sqrt'|'__import__'"),
        ("lambda: __import__", "'__import__'"),
        ("lambda: len", "'len'"),
        ("lambda x: nope", "'nope'"),
        ("lambda x: x.y", "'y'"),
        ("lambda __x: __x", "'__x'"),
        ("lambda *a: a", "parameters"),
        ("lambda a=1: a", "parameters"),
        ("lambda a: [*a]", "Starred"),
        ("lambda a: {**a}", r"\*\*"),
        ("lambda a: max(*a)", "Starred"),
        ("lambda a: max(**a)", r"\*\*"),
        ("lambda a: sorted(a, foo=1)", "'foo'"),
        ("lambda a: {x for x in a}", "SetComp"),
        ("lambda: 1j", "complex"),
        ("lambda: b'x'", "bytes"),
        ("lambda: (yield)", "Yield"),
        ("lambda a: [x async for x in a]", "async"),
        ("lambda a: [0 for a[0] in a]", "target"),
        ("lambda a: [x for x in (y := a)]", "':='"),
        ("lambda a: a @ a", "MatMult"),
        ("lambda a: a << 9", "LShift"),
    ],
)
def test_refused_at_load(source, names):
    with pytest.raises(LambdaError, match=names) as caught:
        compile_lambda(source, "VM/x.json:evaluate[0].key")
    assert caught.value.kind == "forbidden"
    assert str(caught.value).startswith("VM/x.json:evaluate[0].key: ")
    assert isinstance(caught.value, TaskError)


@pytest.mark.parametrize("source", ["", "1 + 1", "lambda", "lambda x: x; 1", "import os", "lambda: \0", "\ud800", "("])
def test_not_a_lambda(source):
    with pytest.raises(LambdaError) as caught:
        compile_lambda(source)
    assert caught.value.kind == "syntax"


def test_arity():
    with pytest.raises(LambdaError, match="must take 1 parameters, takes 2"):
        compile_lambda("lambda a, b: a", arity=1)
    with pytest.raises(LambdaError, match="takes 1 arguments"):
        run("lambda a: a", 1, 2)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("lambda d: d['x']", "KeyError: 'x'"),
        ("lambda d: d['a'][5]", "IndexError"),
        ("lambda d: d['a'] + 1", "TypeError"),
        ("lambda d: 1 / 0", "ZeroDivisionError"),
        ("lambda d: d.split('.')", "AttributeError"),
        ("lambda d: d()", "TypeError: 'dict' object is not callable"),
        ("lambda d: [x for y in [1]] + [x for x in [1]]", "NameError"),
        ("lambda d: {d: 1}", "TypeError"),
        ("lambda d: int('z')", "ValueError"),
    ],
)
def test_errors_of_a_call(source, message):
    with pytest.raises(LambdaError, match=message) as caught:
        run(source, {"a": [1]})
    assert caught.value.kind == "runtime"
    assert str(caught.value).startswith("a.json:key: ")


def shared(levels):
    """Lists in lists: a few characters of source, 2**levels items to walk."""
    names = [f"v{level}" for level in range(levels)]
    return "v0 := [1, 1], " + "".join(f"{b} := [{a}, {a}], " for a, b in zip(names, names[1:], strict=False)), names[-1]


HOSTILE = [
    "lambda: 'a' * 10**9",
    "lambda: 10**9 * 'a'",
    "lambda: [0] * 10**9",
    "lambda: range(10**12)",
    "lambda: range(0, -10**12, -1)",
    "lambda: 9**9**9",
    "lambda: 10**10**1000",
    "lambda: 0xffffffff ** 200",
    "lambda: 'a' * 10**1200",
    "lambda: round(5, -10**9)",
    "lambda: round(5, -(10**1000))",
    "lambda: [i for i in range(10**6) for j in range(10**6)]",
    "lambda: [[i] * 9000 for i in range(9000)]",
    "lambda: ['a' * 900000 for i in range(9000)]",
    "lambda: [0.5 in range(10**6) for i in range(10**6)]",
    "lambda: (s := 'a' * 10**6, [float(s) for i in range(1000)])",
    "lambda: (s := 'a' * 10**6, [s.count('ab') for i in range(10**6)])",
    "lambda: (s := 'a' * 10**5, s.replace('a', s))",
    "lambda: (s := 'a' * 10**5, s.join([s] * 100))",
    "lambda: (s := 'a' * 10**5, s.join(s))",
    "lambda: (f := lambda: f(), f())",
    "lambda: (f := lambda: [f() for i in range(9)], f())",
    "lambda: (n := 3, [n := n * n for i in range(99)])",
    "lambda: (n := [1], [n := n + n for i in range(99)])",
    "lambda: sum(range(10**6) for i in range(9))",
    "lambda: __import__('datetime').datetime.today().strftime('%999999999d')",
    "lambda: '%999999999d' % 3",
    "lambda: (-1) ** 0.5",
    "lambda: int('f' * 10**5, 16)",
    f"lambda: ({shared(40)[0]} str({shared(40)[1]}))",
    f"lambda: ({shared(40)[0]} [{shared(40)[1]}] == [[]])" + f" or ({shared(40)[0]} {{{shared(40)[1]}: 1}})",
    "lambda: " + "-" * 9000 + "1",
    "lambda: " + "(" * 4000 + ")" * 4000,
    "lambda: " + "+".join(["1"] * 4000),
    "lambda x: x" + ".a" * 4000,
    "lambda: " + "[" * 150 + "]" * 150,
    "lambda: '" + "a" * 20000 + "'",
    "lambda: " + "9" * 4400,
    "lambda: 0x" + "f" * 2000,
    "lambda: " + "lambda: " * 1000 + "1",
]


@pytest.mark.parametrize("source", HOSTILE, ids=lambda source: source[:40])
def test_hostile_text_ends_with_an_error_soon(source):
    start = time.monotonic()
    with pytest.raises(LambdaError) as caught:
        run(source)
    assert time.monotonic() - start < 5
    assert len(str(caught.value)) < 1000


def test_equal_deep_values_cost_steps_not_time():
    left, right = shared(30), shared(30)
    source = f"lambda: ({left[0]} a := {left[1]}, {right[0]} a == {right[1]})"
    with pytest.raises(LambdaError, match="steps"):
        run(source)


def test_limits_can_be_set():
    with pytest.raises(LambdaError, match="more than 50 steps"):
        run("lambda: [i for i in range(100)]", limits=Limits(steps=50))


def test_a_result_is_plain_data():
    for source in ("lambda: (x for x in [1])", "lambda: lambda: 1", "lambda: zip([1])"):
        with pytest.raises(LambdaError, match="not plain data"):
            run(source)


def test_equality_is_by_source():
    assert compile_lambda("lambda a: a", "x") == compile_lambda("lambda a: a", "y")
    assert compile_lambda("lambda a: a") != compile_lambda("lambda a: -a")


@given(st.text(max_size=60) | st.text(alphabet="lambda xy:()[]{}'.,=+-*/%<>!&|^~@0123456789\n\t\\_eor", max_size=80))
@settings(max_examples=300, deadline=None)
def test_random_text_raises_only_lambda_errors(text):
    for source in (text, "lambda x: " + text):
        try:
            made = compile_lambda(source)
            made(*([3] * len(made.parameters)))
        except LambdaError:
            pass


WORDS = "x d 'a' 1 0 2.5 [ ] ( ) { } : , . + - * ** / % // < == in not and or if else for lambda := len str range sum \
d['k'] .split('.') .join __import__('math') .sqrt .__class__ max sorted abs".split()


@given(st.lists(st.sampled_from(WORDS), max_size=25))
@settings(max_examples=500, deadline=None)
def test_random_words_raise_only_lambda_errors(words):
    try:
        compile_lambda("lambda x, d: " + " ".join(words))(2, {"k": [1, 2]})
    except LambdaError:
        pass


def expression(rng: random.Random, kind: str, depth: int) -> str:
    """A random expression of the language whose value is a number, a string, a list of numbers or a truth value."""

    def sub(inner: str) -> str:
        return expression(rng, inner, depth - 1)

    atoms = {
        "number": ["n", "3", "2.5", "-7", "d['n']", "d['v'][0]"],
        "text": ["s", "'a.b'", "''", "d['s']"],
        "list": ["v", "[]", "d['v']"],
        "truth": ["True", "False", "d['t']"],
    }
    if depth == 0:
        return rng.choice(atoms[kind])
    any_kind = rng.choice(["number", "text", "list", "truth"])
    choices = {
        "number": [
            lambda: f"({sub('number')} {rng.choice('+ - * / // %'.split())} {sub('number')})",
            lambda: f"(abs({sub('number')}) % 5) ** 2",
            lambda: f"{rng.choice(['abs', 'int', 'float', 'round', '-'])}({sub('number')})",
            lambda: f"{rng.choice(['sum', 'len'])}({sub('list')})",
            lambda: f"{rng.choice(['min', 'max'])}({sub('list')}, default={sub('number')})",
            lambda: f"({sub('list')})[{rng.randint(-2, 2)}]",
            lambda: f"({sub('text')}).{rng.choice(['find', 'count'])}({sub('text')})",
            lambda: f"__import__('math').{rng.choice(['sqrt', 'floor'])}(abs({sub('number')}))",
            lambda: f"(t := {sub('number')}, t * t)[1]",
            lambda: f"(lambda k: k + {sub('number')})({sub('number')})",
        ],
        "text": [
            lambda: f"({sub('text')} + {sub('text')})",
            lambda: f"({sub('text')})[{rng.randint(-2, 2)}:]",
            lambda: f"({sub('text')}).{rng.choice(['strip', 'lower', 'upper'])}()",
            lambda: f"str({sub('number')})",
            lambda: f"{sub('text')}.join([str(e) for e in {sub('list')}])",
            lambda: f"({sub('text')}).replace('a', {sub('text')})",
        ],
        "list": [
            lambda: f"[{sub('number')}, {sub('number')}]",
            lambda: f"({sub('list')} + {sub('list')})",
            lambda: f"({sub('list')} * 2)[::{rng.choice([-1, 1, 2])}]",
            lambda: f"[e {rng.choice('+-*')} {sub('number')} for e in {sub('list')} if {sub('truth')}]",
            lambda: f"sorted({sub('list')}, reverse={sub('truth')})",
            lambda: "list(range(5))",
            lambda: f"[a + b for a, b in zip({sub('list')}, {sub('list')})]",
        ],
        "truth": [
            lambda: f"({sub('number')} {rng.choice('< <= > >= == !='.split())} {sub('number')} < {sub('number')})",
            lambda: f"({sub('truth')} {rng.choice(['and', 'or'])} {sub('truth')})",
            lambda: f"(not {sub('truth')})",
            lambda: f"({sub('number')} {rng.choice(['in', 'not in'])} {sub('list')})",
            lambda: f"({sub('text')} in {sub('text')})",
            lambda: f"{rng.choice(['any', 'all'])}([e > 1 for e in {sub('list')}])",
            lambda: f"({sub(any_kind)} == {sub(any_kind)})",
            lambda: f"({sub('text')}).{rng.choice(['startswith', 'endswith'])}({sub('text')})",
        ],
    }
    made = rng.choice(choices[kind])()
    return made if rng.random() < 0.85 else f"({made} if {sub('truth')} else {sub(kind)})"


@given(st.integers(0, 2**32), st.sampled_from(["number", "text", "list", "truth"]), st.integers(1, 4))
@settings(max_examples=600, deadline=None)
def test_generated_expressions_equal_python(seed, kind, depth):
    data = {"n": 4, "s": " A.b", "v": [3, 1, 2.5], "t": True}
    source = f"lambda d, n, s, v: {expression(random.Random(seed), kind, depth)}"
    args = (data, 5, "ab.a ", [2, -1, 7])
    try:
        expected = eval(source)(*args)
    except SyntaxError:
        with pytest.raises(LambdaError):
            compile_lambda(source)
    except Exception as error:
        with pytest.raises(LambdaError, match=type(error).__name__):
            run(source, *args)
    else:
        made = run(source, *args)
        assert type(made) is type(expected)
        assert made == expected or made != made
