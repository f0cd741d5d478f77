"""Python functions as programs: what they become, and what is refused, at the user's line."""

import enum
import re
from pathlib import Path
from textwrap import dedent
from typing import Annotated, Any

import pytest

import dipapprox
from dipapprox import Answer, Mechanism, Quantity, SourceError, UserError, Weight
from dipapprox.language.elaborate import elaborate
from dipapprox.language.functions.mechanism import read_mechanism
from dipapprox.language.load import load
from dipapprox.language.parser import parse
from tests.cases import cases, refuses

EXAMPLES = Path(__file__).parents[3] / "examples" / "mechanisms.py"

Bit = Annotated[Quantity, "in {0, 1}"]

HEAD = """
import random
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal
from dipapprox import *

Bit = Annotated[Quantity, "in {0, 1}"]
Out = Annotated[int, "in {0, 1}"]
import contextlib, functools, itertools, math, numbers, numpy.random, secrets, threading
box = [0]
def counted():
    while True:
        yield from range(3)
steps = counted()
thirds = itertools.cycle([0, 1, 2])
class Held:
    count = 0
held = Held()
class Missing: pass
import enum
class Colour(enum.Enum):
    RED = 1
@functools.singledispatch
def shown(value):
    return 0
kept = []
count = 0
seeded = random.Random(1)
truth, p = True, 0
from operator import is_ as same
turns = itertools.cycle([0, 1])
def helper():
    global count
    count += 1
    return count
"""

RANDOM = "another source of randomness"


def example(name: str) -> Mechanism[Any, Any]:
    return read_mechanism(EXAMPLES, EXAMPLES.read_text(encoding="utf-8"), name)


def made(
    body: str, signature: str = "q: Bit, eps: Weight", result: str = "Out", adjacent: str = "linf 1"
) -> Any:
    """A mechanism with this body, from a file of its own."""
    lines = "\n".join(f"    {line}" for line in dedent(body).strip().splitlines())
    text = f'{HEAD}@mechanism(adjacent="{adjacent}")\ndef f({signature}) -> {result}:\n{lines}\n'
    return read_mechanism(Path("f.py"), text, "f")


@pytest.mark.parametrize("name", ["svt", "count_above", "above", "sign"])
def test_the_text_says_what_was_executed(name) -> None:
    mechanism = example(name)
    executed = mechanism.execute({})
    assert parse(executed.text) == executed.program
    assert elaborate(parse(executed.text), {}, executed.name) == mechanism.program()


STATE = """
import itertools
from typing import Annotated
from dipapprox import Quantity, Weight, laplace, mechanism

class Base:
    log = []
    count = 0
    def __init__(self): self.held = []
    @property
    def told(self):
        self.held.append(1)
        return len(self.held)
    def note(self):
        self.log.append(1)
        return len(self.log)
    @classmethod
    def add(cls):
        cls.count += 1
        return cls.count

held, pairs, words, seen = Base(), itertools.pairwise(range(10000)), {{}}, {{1}}
box = [[0], held]

def default(cells=[]):
    cells.append(0)
    return len(cells)

def made():
    cells = []
    def add():
        cells.append(0)
        return len(cells)
    return add
closed = made()

def counting():
    n = 0
    def add():
        nonlocal n
        n += 1
        return n
    return add
counted, kept, failed = counting(), {{Base(): 1}}, ValueError([1])

@mechanism(adjacent="linf 1")
def told(q: Annotated[Quantity, "in {{0, 1}}"], eps: Weight) -> Annotated[int, "in {{0, 1}}"]:
    if {state} > 100: return q
    return 1 if laplace(q, 1 / eps) > 0 else 0
"""


@cases(
    "state",
    *("held.note()", "held.add()", "held.told", "default()", "closed()", "next(pairs)[1]"),
    *("len(words.setdefault(len(words), 'more'))", "len([seen.add(2)])", "box[0].pop()"),
    *("counted()", "[each.told for each in kept][0]", "failed.args[0].pop()"),
    *("len([*pairs])", "sum(1 for _ in pairs)", "box[1].told", "(box := [1])[0]"),
)
def test_what_lasts_is_seen_wherever_it_is(state, tmp_path) -> None:
    (tmp_path / "told.py").write_text(STATE.format(state=state), encoding="utf-8")
    if ":=" in state:  # a name of the function's own
        load(tmp_path / "told.py:told", {})
        return
    refuses(SourceError, r"runs again|a class is not changed", load, tmp_path / "told.py:told", {})


def test_a_module_that_changes_is_read_again(tmp_path) -> None:
    (tmp_path / "m.py").write_text(
        "from typing import Annotated\n"
        "from dipapprox import Quantity, Weight, mechanism\n"
        "from beside_it import drawn\n"
        '@mechanism(adjacent="linf 1")\n'
        'def f(q: Annotated[Quantity, "in {0, 1}"], eps: Weight) -> bool:\n'
        "    return drawn(q, eps)\n"
    )
    texts = []
    for scale in (1, 10, 100):
        (tmp_path / "beside_it.py").write_text(
            "from dipapprox import laplace\n"
            f"def drawn(q, eps): return laplace(q, {scale} / eps) > 0\n"
        )
        texts += [read_mechanism(tmp_path / "m.py", (tmp_path / "m.py").read_text(), "f").text()]
    assert [
        f"Lap(q, {scale} / eps)" in text for scale, text in zip((1, 10, 100), texts, strict=True)
    ]
    assert len(set(texts)) == 3


def test_values_of_many_kinds() -> None:
    text = made(
        """
        coin = choose([(q, exp(eps) / (1 + exp(eps))), (1 - q, 1 / (1 + exp(eps)))])
        best = argmax([laplace(coin, 2 / eps), laplace(0, 2 / eps)])
        top = maximum([laplace(best, 1), 0])
        votes = (top > 1) + (top > 2)
        return ["low", "high", "high"][votes], top - Fraction(1, 3)
        """,
        result='Annotated[tuple[str, Quantity], "level in {low, high}", "y in real"]',
    ).text()
    for line in (
        "coin <- choose {q : exp(eps) / (1 + exp(eps)), 1 - q : 1 / (1 + exp(eps))}",
        "best <- argmax(r, r_2)",
        "top <- max(r_3, 0)",
        "level <- low",
        "y <- top - 1 / 3",
    ):
        assert line in text, text


WRONG = {
    "while laplace(q, 1 / eps) > 0: pass": "a loop without end?",
    "r = laplace(q, 1 / eps)\nreturn r * r > 0": "the product of two samples",
    "return laplace(q, 0.1 / eps) > 0": "got the float 0.1",
    "return laplace(q, 1 / eps) > 1 / 3": "write Fraction(1, 3)",
    "print(1)\nreturn 0": "the function prints",
    "return int(f'{q}')": "in it is no number",
    "return float(laplace(q, 1)) > 0": "is no float",
    "kept.append(laplace(q, 1 / eps))\nreturn kept[0] > 0": "when it runs again",
    "return next(thirds) == 1": "when it runs again",
    "Held.count = (Held.count + 1) % 3\nreturn Held.count": "a class is not changed here",
    "held.count = (held.count + 1) % 3\nreturn held.count": "when it runs again",
    "return next(steps) == 1": "the mechanism yields",
    "return int(isinstance(q, int))": "is asked for its type",
    "match q:\n    case int(): return 1\nreturn 0": "is asked for its type",
    "return int(q.__class__ is int)": "'.__class__' tells what is known",
    "return int(type(q) is int)": "'type' tells what is known",
    "return int(Fraction(laplace(q, 1)) > 0)": "what depends on samples",
    "return shown(q)": "the decorator 'functools.singledispatch' is not followed",
    "global kept\nkept = []\nreturn 0": "outside itself",
    "return random.random() < 0.5": "another source of randomness",
    "return 0 if eps < 1 else 1": "eps is not known",
    "if laplace(q, 1 / eps) > 0: return 1": "returned as nothing",
    "return [q, q]": "returned as the list",
    "return 0.5": "got the float 0.5",
    "if laplace(q, 1 / eps) > 0:\n    return [1][2]\nreturn 0": "on the path where",
    "return laplace(q, laplace(0, 1)) > 0": "depends on a sample",
    "return [0, 1][laplace(q, 1 / eps)]": "has no value to compute with",
    "return q / q": "division by zero",
    "return laplace(q, 1) > laplace(0, 0)": "a scale must be > 0",
    "try:\n    print(1)\nexcept Exception:\n    pass\nreturn 0": "the function prints",
    "return {laplace(q, 1): 1}[0]": "has no value to compute with",
    "if laplace(0, 1 / eps) > 0: return 0\nif secrets.randbelow(2): return q\nreturn 0": RANDOM,
    "import os\nreturn os.urandom(1) == b'0'": RANDOM,
    "return q + 0 * int(numpy.random.default_rng().integers(2))": RANDOM,
    "if laplace(0, 1) > 0: return 0\nkept.append(1)\nreturn q * (len(kept) % 2)": "runs again",
    "helper()\nreturn 0": "outside itself",
    "threading.Thread(target=lambda: q).start()\nreturn 0": (
        "'threading.Thread' is not among the functions"
    ),
    "return where(q == 1, 'low', 'high') == 'low'": "'low' is no value of an input or output",
    "return choose({'q': 1, 'p': 0}) == 'q'": "'q' is no value of an input or output",
    "return q == eps": "eps is not known",
    "return q + math.ceil(math.log2(3))": "ceil(log2(n)) is (n - 1).bit_length()",
    "return 0 if q != (1 + 0j) else 1": "complex is nothing to compute with",
    "return 1 if laplace(q, 1) in {1, 2} else 0": "has no value to compute with",
    "return 1 if str([q]) == '[1]' else 0": "these are not compared",
    "return 1 if f'{q!r}' == '1' else 0": "these are not compared",
    "try: m = q * 0.5\nexcept Exception: m = 0\nreturn gauss(m, 1 / eps) > 0": "the float 0.5",
    "with contextlib.suppress(Exception): k = q * 1.0\nreturn 0": "'with' is not followed",
    "try: k = {eps: 0}\nexcept Exception: k = 0\nreturn k": "eps is not known",
    "try: k = q @ 1\nexcept TypeError: k = 0\nreturn k": "no such operation",
    "return 1 if hasattr(q, '__index__') else 0": "'hasattr' tells what is known",
    "try: k = Decimal(q)\nexcept TypeError: k = 0\nreturn k": (
        "'decimal.Decimal' is not among the functions"
    ),
    "import builtins\nreturn int(builtins.type(q) is int)": "'type' tells what is known",
    "return 1 if q is True else 0": "'is' tells",
    "match q:\n    case True: return 1\nreturn 0": "'is' tells",
    "return 1 if q is (None if p else 1) else 0": "'is' tells",
    "import operator\nreturn int(operator.is_(q, 1))": "'operator.is_' is not among the functions",
    "import builtins\nreturn int(getattr(builtins, 'id')(q) == id(1))": (
        "'getattr' tells what is known"
    ),
    "return 0 if int.__add__(1, q) == NotImplemented else q": "'.__add__' tells",
    "import sys\nreturn 0 if sys.getsizeof(q) > 40 else q": (
        "'sys.getsizeof' is not among the functions"
    ),
    "import sys\nreturn int(sys._getframe(1).f_lineno == 1)": (
        "'sys._getframe' is not among the functions"
    ),
    "return 1 if isinstance(q, Quantity) else 0": "is asked for its type",
    "match q:\n    case Quantity(): return 1\nreturn 0": "is asked for its type",
    "try: k = q.node\nexcept AttributeError: k = 0\nreturn 0": "no attribute 'node'",
    "return sum(iter(int, 1))": "it is called iter(values, /)",
    "return q + max(*itertools.count())": "a loop without end?",
    "return len([x for x in list(itertools.repeat(q))])": "a loop without end?",
    "yield q": "the mechanism yields",
    "while True:\n    try: k = q * 0.5\n    except Exception: pass": "got the float 0.5",
    "return choose([(Fraction(1, 3), 0), (Fraction(2, 3), 1)])": "pairs are (value, probability)",
    "return choose([(1 / (1 + exp(eps)), q), (0, 1)])": "pairs are (value, probability)",
    "return choose([0, 1], [Fraction(1, 2), Fraction(1, 3)])": "add up to 5/6, and not to 1",
    "return choose({0: 2, 1: -1})": "the probability -1 is negative",
    "return choose([0, 1], weights=[1, 0])": "it is called choose(options, probabilities=None)",
    "return laplace(q, ln(2) / eps) > 0": "dipapprox.log(x) is the natural logarithm",
    "return gauss(q, numpy.sqrt(eps)) > 0": "dipapprox.sqrt(x) is the root",
    "return numpy.random.normal(q, 1) > 0": "dipapprox.gauss(mean, standard_deviation)",
    "return q + numpy.random.gumbel(0, 1) > 0": "dipapprox.gumbel(mode, scale)",
    "return numpy.random.standard_t(q) > 0": "there is no such noise",
    "return random.choice([0, 1])": "dipapprox.choose",
    "return numpy.ndarray.clip(q, 0, 1)": "dipapprox.clamp(x, low, high)",
    "return int(laplace(q, 1))": "dipapprox.rounded(x, low, high, step=1)",
    "return numpy.mean([q, q]) > 0": "sum(values) / n",
    "return Lap(q, 1) > 0": "dipapprox.laplace(mean, scale)",
    "return discrete_laplac(q, 1) > 0": "did you mean 'discrete_laplace'?",
    "return q + numpy.random.laplace(0, 1 / eps)": "dipapprox.laplace(mean, scale)",
    "return discrete_gaussian(q, 1) > 0": "did you mean 'discrete_gauss'?",
    "from dipapprox import discrete_gaussian\nreturn q": "did you mean 'discrete_gauss'?",
    "if laplace(q, 1) > 0: return 1": "on the path where 'laplace(q, 1) > 0' at line",
    "while True:\n    r = laplace(0, 1)\n    if abs(r) < 1: return r": "a loop without end?",
    "return laplace(q, sqrt(eps)) > 0": "'sqrt' of something that depends on eps",
    "def h(n): return h(n + 1)\nreturn h(0)": "a recursion without end?",
    "return 1 if q < float('nan') else 0": "numbers are exact",
    "n = sum(int(laplace(q, 1) > 0) for _ in range(13))\nreturn n > 3": "more than 4096 paths",
}


@pytest.mark.parametrize("body", WRONG)
def test_what_is_no_mechanism_is_refused_where_it_is_written(body, monkeypatch) -> None:
    monkeypatch.setattr("dipapprox.language.functions.run.MOST_TURNS", 10)
    monkeypatch.setattr("dipapprox.language.functions.machine.MOST_STEPS", 20_000)
    if "4096" in WRONG[body]:
        body, expected = body.replace("13", "4"), "more than 8 paths"
        monkeypatch.setattr("dipapprox.language.functions.paths.MOST_PATHS", 8)
    else:
        expected = WRONG[body]
    with pytest.raises(SourceError) as error:
        made(body).program()
    assert expected in error.value.render()
    assert error.value.render().startswith(tuple(f"f.py:{n}" for n in "12345")), (
        error.value.render()
    )


def test_a_run_that_asks_nothing_ends(monkeypatch) -> None:
    monkeypatch.setattr("dipapprox.language.functions.machine.MOST_STEPS", 1000)
    with pytest.raises(SourceError, match="more than 1000 steps"):
        made("while True: eps").program()


def test_signatures_that_say_too_little() -> None:
    with pytest.raises(SourceError, match="'q' is no input, and has no value"):
        made("return 0", "q, eps: Weight").program()
    with pytest.raises(SourceError, match="the result of 'f' has no domain"):
        made("return 0", result="int").program()
    with pytest.raises(SourceError, match="the privacy parameter is called eps"):
        made("return 0", "q: Bit, epsilon: Weight").program()
    with pytest.raises(SourceError, match=r"'\*q' cannot be an input"):
        made("return 0", "*q: Bit, eps: Weight").program()
    with pytest.raises(SourceError, match=r"got the float 0.5"):
        made("return 0", "q: Bit, T: float = 0.5").program()
    with pytest.raises(UserError, match="no parameter 'M'"):
        made("return 0", "q: Bit, N: int = 2").program(M=3)


@cases(
    "adjacent, message",
    ("linf1", "unknown adjacency 'linf1'"),
    ("linf", "'linf' needs a radius"),
    ("substitution", "unknown adjacency 'substitution'"),
    ("Linf 1", "did you mean 'linf'?"),
    ("all 1", "'all' takes no radius"),
    ("l1 eps", "'eps' can only be used"),
    ("linf 1 where q = x", "unknown name 'x'"),
    ("linf 1; input z in {0, 1}", "declares more than one thing"),
)
def test_adjacency_is_what_programs_have(adjacent, message) -> None:
    with pytest.raises(SourceError) as error:
        made("return q", adjacent=adjacent).program()
    assert message in error.value.render()


def test_domains_are_what_programs_have() -> None:
    for domain in ("{0, 1}", "bool", "real", "[2] {0, 1}"):
        with pytest.raises(SourceError, match=r"is no domain of 'q'\n.*\n.*\nhint: for .* \"in {0"):
            made("return 0", f'q: Annotated[Quantity, "{domain}"], eps: Weight').program()
    with pytest.raises(SourceError, match="is no domain of the result"):
        made("return 0", result='Annotated[int, "{0, 1}"]').program()
    with pytest.raises(
        SourceError, match=r"'out' is returned as the str 'noo'\n.*\n.*\n.*{no, yes}"
    ):
        made("return 'noo'", result='Annotated[str, "in {no, yes}"]').program()
    with pytest.raises(SourceError, match=r"f.py:\d+:5: .*returned as the str"):
        made("return 'a'", result='Annotated[Quantity, "in real"]').program()
    with pytest.raises(
        SourceError, match=r"declarations of f:2:20: type error: a real output has no"
    ):
        made("return laplace(q, 1)", result='Annotated[Quantity, "in real 0..1"]').program()


def test_a_file_is_never_run(tmp_path) -> None:
    (tmp_path / "f.py").write_text(
        "from typing import Annotated\n"
        "from dipapprox import *\n"
        f"import os\nopen({str(tmp_path / 'touched')!r}, 'w').close()\nos._exit(3)\n"
        "SCALE = 2\nprint(1 / 0)\n"
        "@mechanism(adjacent='linf 1')\n"
        "def f(q: Annotated[Quantity, 'in {0, 1}'], eps: Weight) -> bool:\n"
        "    return laplace(q, SCALE / eps) > 0\n"
    )
    assert dipapprox.verify(dipapprox.parse(tmp_path / "f.py"), eps=1, delta=0).answer is Answer.DP
    assert not (tmp_path / "touched").exists()
    with pytest.raises(SourceError, match=r"'os._exit' is not among the functions"):
        made("import os\nif laplace(q, 1) > 0: os._exit(0)\nreturn q").program()


UNREAD = """
from dipapprox import *
from typing import Annotated
import elsewhere
table, limit, other = [1], 2, (3,)
{statement}
@mechanism(adjacent="linf 1")
def f(q: Annotated[Quantity, "in {{0, 1}}"], eps: Weight) -> bool:
    return laplace(q, {used} / eps) > 0
"""


@cases(
    "statement, used, is_read",
    ("elsewhere.change(table)", "table[0]", False),
    ("elsewhere.change(table)", "limit", True),
    ("elsewhere.change(limit)", "limit", True),
    ("exec('table.append(1)')", "len(table)", False),
    ("limit = elsewhere.limit()", "limit", False),
    ("def change(): global limit; limit = 3\nchange()", "limit", False),
    ("def change(): table.append(elsewhere.f())\nchange()", "len(table)", False),
    ("if elsewhere.on:\n    limit = 3", "limit", False),
    ("for limit in elsewhere.all(): pass", "limit", False),
    ("elsewhere.f(limit := 3)", "limit", False),
    ("with elsewhere.f() as limit: pass", "limit", False),
    ("elsewhere.f(table)", "other[0]", True),
    ("alias = table\nelsewhere.change(table)", "alias[0]", False),
    ("alias = (0, {1: table})\nelsewhere.change(table)", "alias[1][1][0]", False),
    ("def first(v=table): return v[0]\nelsewhere.change(table)", "first()", False),
    ("def first(v=[1]): return v[0]\nelsewhere.change(table)", "first()", True),
    ("raise ValueError", "limit", False),
    ("x: (limit := 3) = 1", "(limit if limit == 3 else elsewhere.f())", True),
    ("def g(a: elsewhere.change(table)): pass", "len(table)", False),
    ("globals()['limit'] = 3", "limit", False),
    ("reach = globals\nreach().update(limit=3)", "limit", False),
    ("def change(): globals()['limit'] = 3\nchange()", "limit", False),
    ("class A:\n    globals()['limit'] = 3", "limit", False),
    ("def g(): return 1\ng.__code__ = (lambda: 2).__code__", "g()", False),
    ("import math\ndef change(): math.gcd = max\nchange()", "math.gcd(2, 4)", False),
    ("def change(f): table.append(1)\n@change\ndef g(): pass", "len(table)", False),
    (
        "class A:\n    def __init_subclass__(cls): table.append(1)\nclass B(A): pass",
        *("len(table)", False),
    ),
    ("try:\n    import nowhere\nexcept ImportError:\n    limit = 3", "limit", False),
    ("__builtins__ = {'len': lambda v: 7}", "len(table)", False),
    ("import importlib\nimportlib.import_module(__name__).limit = 3", "limit", False),
    ("from unittest import mock\nmock.patch('f.limit', 3).start()", "limit", False),
    ("from numpy import *", "any(n > limit for n in table)", False),
    ("def max(v): return 5\ndel max", "max(table)", True),
    ("import sys\nsys.setrecursionlimit(5000)", "len(table)", True),
    ("def change(): print(vars())\nprint(1)", "limit", True),
)
def test_what_a_file_does_that_is_not_followed_leaves_names_unread(
    statement, used, is_read
) -> None:
    text = UNREAD.format(statement=statement, used=used)
    if is_read:
        assert "Lap(q, " in read_mechanism(Path("f.py"), text, "f").text()
        return
    with pytest.raises(SourceError):
        read_mechanism(Path("f.py"), text, "f").text()


@cases(
    "statement, used",
    ("import beside\nbeside.change()", "beside.table[0]"),
    ("from beside import change, first\nchange()", "first()"),
    ("import beside\nbeside.change()", "beside.limit"),
    ("import beside", "(3 if beside.unknown is None else 2)"),
)
def test_what_another_file_does_leaves_its_names_unread(statement, used, tmp_path) -> None:
    (tmp_path / "beside.py").write_text(
        "import elsewhere\ntable, limit, unknown = [1], 2, elsewhere.f()\n"
        "def first(): return table[0]\n"
        "def change():\n    global limit\n    table[0] = limit = elsewhere.f()\n"
    )
    text = UNREAD.format(statement=statement, used=used)
    with pytest.raises(SourceError, match=r"'elsewhere.f' is not among|outside itself"):
        read_mechanism(tmp_path / "f.py", text, "f").text()


PACKAGE = {
    "near.py": "__all__ = ['_own']\ndef _own(): return 1\ndef max(v): return 50\n",
    "name.py": "two = 50\n",
    "pack/__init__.py": "from .name import two\n",
    "pack/name.py": "two = 2\n",
    "pack/part/more.py": "from ..name import two\nfrom . import name\n",
    "pack/part/name.py": "two = 3\n",
    "odd/__init__.py": "from . import name\nname.two = 5\n",
    "odd/name.py": "two = 2\n",
    "statistics.py": "def mode(v): return 50\n",
}


@cases(
    "statement, used",
    ("from near import *", "(max([_own(), 0]) + _own())"),
    ("from math import *\nfrom pack import two", "two"),
    ("from pack.name import two", "two"),
    ("from pack.part.more import two", "two"),
    ("from pack.part.more import name", "(name.two - 1)"),
    ("from odd.name import two", ""),
    ("import statistics", ""),
    ("from math import *", "pow(limit, 1)"),
)
def test_names_are_those_that_python_imports(statement, used, tmp_path) -> None:
    for name, held in PACKAGE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(held)
    text = UNREAD.format(statement=statement, used=used or "statistics.mode(table) + two")
    if used and "pow" not in used:
        assert "Lap(q, 2 / eps)" in read_mechanism(tmp_path / "f.py", text, "f").text()
        return
    with pytest.raises(SourceError):
        read_mechanism(tmp_path / "f.py", text, "f").text()


def test_conditions_may_differ() -> None:
    assert "r > 0 and not on or r <= 0 and on" in text_of_two("(r > 0) ^ on")
    assert "out <- not on" in text_of_two("True ^ on")


def text_of_two(result: str) -> str:
    body = f"r = laplace(0, 1 / eps)\nreturn {result}"
    return str(made(body, "on: bool, eps: Weight", "bool", "all").text())


class One(enum.IntEnum):
    ONE = 1


def test_a_running_program_is_read_as_it_is() -> None:
    marks: Any = {One.ONE, 2}
    table: Any = {One.ONE: 5}
    places = range(3)

    def mechanism(function: Any) -> Any:
        return dipapprox.mechanism(adjacent="all")(function)

    @mechanism
    def f(q: Bit, eps: Weight) -> Bit:
        return later(q)  # type: ignore[no-any-return]  # a number

    refuses(SourceError, "'later' is not defined", f.text)

    def later(x: Any) -> Any:
        return x + sum(places)

    assert f.text().endswith("out <- q + 3\n")

    @mechanism
    def marked(q: Bit, eps: Weight) -> Bit:
        return q in marks  # type: ignore[return-value]  # a truth value

    @mechanism
    def held(q: Bit, eps: Weight) -> Bit:
        return table.get(q, q)  # type: ignore[no-any-return]  # what it finds

    for asked in (marked, held):
        refuses(SourceError, "which is not followed", asked.text)


def test_the_decorator_is_called() -> None:
    refuses(UserError, "which inputs are neighbours", dipapprox.mechanism, print)  # type: ignore[arg-type]  # the mistake
    with pytest.raises(SourceError, match="which inputs are neighbours") as error:
        read_mechanism(Path("f.py"), f"{HEAD}@mechanism\ndef f(q: Bit) -> Out: return 0\n", "f")
    assert 'adjacent="linf 1"' in error.value.render()


@cases(
    "texts, why",
    ('"true", "false"', "'true' means something else"),
    ('"1", "2"', "'1' is no name"),
    ('"fast", ""', "'' is no name"),
    ('"k", "m"', "'k' is an argument, too"),
    ('1, "a"', "numbers and names are no values of one domain"),
    ("1, True", "a truth value alone"),
    ("True", "a truth value alone"),
)
def test_texts_that_mean_something_else_are_no_domains(texts, why) -> None:
    with pytest.raises(SourceError, match=f"the values of 'q' are no domain: {re.escape(why)}"):
        made("return 0", f"q: Literal[{texts}], eps: Weight, k: int = 2").program()
    with pytest.raises(SourceError, match="the values of the result are no domain"):
        made("return 0", "q: Bit, eps: Weight, k: int = 2", f"Literal[{texts}]").program()


def test_comparisons_with_one_number_tell_of_others() -> None:
    """A test that the numbers compared before decide is no test, whatever the domain is."""
    body = "return max(q.count(0), q.count(1)) + laplace(0, 1 / eps) > 1"
    signature = 'q: Annotated[list[Quantity], "[2] in 0..2"], eps: Weight'
    lines = made(body, signature, "bool").text().splitlines()
    depth: list[str] = []
    for line in map(str.strip, lines):
        if line == "end":
            depth.pop()
        elif line.startswith("if "):
            cell = line.removeprefix("if ").split(" = ")[0]
            assert not any(each.startswith(f"if {cell} = ") for each in depth)
            depth.append(line)
    body = (
        "r = laplace(q, 1 / eps)\n"
        "if r < 2:\n    return int(r < 3) + int(3 <= r) + int(r > Fraction(7, 3))\n"
        "return int(-1 < r) + int(r >= 2)"
    )
    text = made(body, "q: Bit, eps: Weight", 'Annotated[int, "in 0..2"]').text()
    assert text.count("if ") == 1 and "out <- 1" in text and "out <- 2" in text


def test_delta_is_that_of_the_claim() -> None:
    body = "return gauss(q, sqrt(2 * log(Fraction(5, 4) / delta)) / eps) > 0"
    textbook = made(body, "q: Bit, eps: Weight, delta: Weight")
    assert "Gauss(q, sqrt(2 * log(1.25 / delta)) / eps)" in textbook.text()
    assert "log(12.5)" in textbook.text(delta="0.1")
    assert dipapprox.verify(textbook, eps=1, delta="0.1").answer is Answer.DP
    assert dipapprox.profile(textbook, eps=1, delta="0.1").eps_prv_enclosure.lower > 0
    with pytest.raises(SourceError, match="the scale depends on delta, which is 0 here"):
        dipapprox.verify(textbook, eps=1, delta=0)


def test_noise_outside_a_mechanism_says_so() -> None:
    with pytest.raises(UserError, match="a mechanism that dipapprox executes"):
        example("sign")(0, 1)


def test_files_that_fail_say_where() -> None:
    refuses(SourceError, r"m.py:1:5: syntax error", read_mechanism, Path("m.py"), "def :\n", "f")
    refuses(UserError, "defines no mechanism", read_mechanism, Path("m.py"), "x = 1\n", "f")
    with pytest.raises(UserError, match="no mechanism 'svd'") as error:
        read_mechanism(EXAMPLES, EXAMPLES.read_text(encoding="utf-8"), "svd")
    assert "did you mean 'svt'" in error.value.hint


@cases(
    "body, line, said",
    ("x = 1\nreturn sum([q, 'a'])", "return sum([q, 'a'])", "no number: str"),
    ("return max([q, None])", "return max([q, None])", "no number"),
    ("return sum(map(lambda x:\n    x * 0.5, [q]))", "x * 0.5", "the float 0.5"),
    ("import heapq\nreturn heapq.nlargest(1, 3)[0]", "heapq.nlargest(1, 3)", "iterate over"),
    ("return max([])", "return max([])", "ValueError: max()"),
    ("return [1].index(q, 0, 1, 2)", "[1].index(q, 0, 1, 2)", "too many positional arguments"),
)
def test_what_the_prelude_refuses_stands_at_the_users_call(body, line, said) -> None:
    with pytest.raises(SourceError) as error:
        made(body).text()
    shown = error.value.render()
    assert shown.startswith("f.py:") and said in shown and line in shown, shown
