"""What may take part in an operation with an input or a sample: all else is refused."""

from pathlib import Path
from textwrap import dedent, indent

import pytest

from dipapprox.errors import SourceError
from dipapprox.language.functions import operators
from dipapprox.language.functions.mechanism import read_mechanism

HEAD = """
import collections, contextlib, decimal, enum, fractions, functools, itertools, math, operator
import statistics, sys, time
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal, NamedTuple
import numpy as np
from dipapprox import *

Bit = Annotated[Quantity, "in {0, 1}"]
Three = Annotated[Quantity, "in 0..3"]
Out = Annotated[int, "in -9..9"]

class Level(enum.IntEnum):
    LOW = 0
    HIGH = 1

class Colour(enum.Enum):
    RED = 1

class Plain(int): pass

class Word(enum.StrEnum):
    LOW = "low"

class Odd(int):
    def __radd__(self, other): return 5
    def __eq__(self, other): return True
    __hash__ = int.__hash__
    def __gt__(self, other): return True

class Percent(Fraction):
    def __mul__(self, other): return Percent(round(Fraction(self) * Fraction(other), 2))
    __rmul__ = __mul__

class Reaching(int):
    def __getattr__(self, name): return 5

class Loud(str):
    def __eq__(self, other): return True
    __hash__ = str.__hash__

class Point(NamedTuple):
    x: int
    y: int
    def __eq__(self, other): return True

class Money:
    def __init__(self, amount): self.amount = amount
    def __add__(self, other): return Money(self.amount + other)
    def __radd__(self, other): return Money(other + self.amount)
    def __gt__(self, other): return self.amount > other

NAMES = {"low", "mid", "high"}
GROUPS = {"a": {"x", "yy"}, "b": {"z"}}
class Held:
    names = {"a", "bb"}
LIMITS = np.array([3, 5, 7])
"""


def made(body: str, signature: str, result: str) -> str:
    lines = indent(dedent(body).strip(), "    ")
    text = f'{HEAD}@mechanism(adjacent="all")\ndef f({signature}) -> {result}:\n{lines}\n'
    return str(read_mechanism(Path("f.py"), text, "f").text())


NUMBERS = "q: Bit, k: Three, eps: Weight, N: int = 3"
TEXTS = 'q: Literal["low", "high"], on: bool, eps: Weight'

REFUSED = {
    # arrays and scalars of numpy
    "isnan": (
        "try:\n    bad = np.isnan(q)\nexcept TypeError:\n    bad = True\nreturn 1 if bad else 0"
    ),
    "asarray caught": "try: a = np.asarray([q, k])\nexcept Exception: return 1\nreturn 0",
    "matmul": "return 1 if np.array([1, 2]) @ [q, k] > 0 else 0",
    "int64 times": "return np.int64(2) * q",
    "in an array": "return 1 if q in np.array([0, 1]) else 0",
    "array by import": "from numpy import array\nreturn len(array([q]))",
    "array by another import": "import numpy.linalg as la\nreturn int(la.norm([q]))",
    # operands with operators of their own
    "radd of an int": "return q + Odd(1)",
    "percent": "return 1 if q * Percent(1, 3) > Fraction(1, 3) else 0",
    "attribute": "return q + Reaching(1)",
    "named tuple": "return 1 if q == Point(1, 2) else 0",
    "text": "return 1 if q == Loud('x') else 0",
    "Decimal": "return 1 if q * Decimal('0.123') > Decimal('0.12') else 0",
    "context": (
        "with decimal.localcontext(prec=2):\n"
        "    return 1 if k * Decimal('0.333') > 1 - Decimal('0.001') else 0"
    ),
    "floor by float": "return 1 if k // 2.0 == 1 else 0",
    "complex": "try:\n    return 1 if q + 1j else 0\nexcept TypeError:\n    return 0",
    # errors of C, whoever catches them
    "len": "try: return len(q)\nexcept TypeError: return 3",
    "subscript": "try: return q[0]\nexcept TypeError: return 3",
    "call": "try: return q()\nexcept TypeError: return 3",
    "range of a sample": "try: return len(range(laplace(q, 1)))\nexcept TypeError: return 3",
    "not a number at all": "try: return 1 + 'a' + q\nexcept TypeError: return 3",
    "join": "try: return len('-'.join([q]))\nexcept TypeError: return 3",
    "in a text": "try: return 1 if q in 'abc' else 0\nexcept TypeError: return 3",
    "ceil of a sample": "try: return math.ceil(laplace(q, 1))\nexcept TypeError: return 3",
    "memoryview": "try: return len(memoryview(q))\nexcept TypeError: return 3",
    "setattr": "try: q.x = 1\nexcept AttributeError: return 3\nreturn 0",
    "hint of length": "return operator.length_hint(q, 7)",
    "doc": "return 1 if q.__doc__ is None else 0",
    "attrgetter": (
        "try: operator.attrgetter('__index__')(laplace(q, 1))\nexcept Exception: return 3\nreturn q"
    ),
    "everything caught": "try: return len(''.join([q]))\nexcept BaseException: return 3",
    # the order of sets, and hashes
    "first of a set": "return len(next(iter({'a', 'bb', 'ccc'})))",
    "loop over a set": "n = 0\nfor each in {'a', 'bb'}:\n    n = len(each)\nreturn n",
    "list of a set": "return len(list({'a', 'bb', 'ccc'})[0])",
    "named set": "s = {'a', 'bb', 'ccc'}\nreturn len(list(s)[0])",
    "popped set": "s = {'a', 'bb', 'ccc'}\nreturn len(s.pop())",
    "unpacked set": "a, *_ = {'a', 'bb', 'ccc'}\nreturn len(a)",
    "made set": "return len(tuple(set(['a', 'bb', 'ccc']))[0])",
    "set of a comprehension": "return [len(w) for w in {w for w in ('a', 'bb', 'ccc')}][0]",
    "global set": "return len(next(iter(NAMES)))",
    "frozen set": "return len(sorted(frozenset(['a', 'bc', 'cd']), key=len)[1])",
    "views": "d = {'a': 1, 'bb': 2}\nreturn len(list(d.keys() & {'a', 'bb'})[0])",
    "set in a tuple": "def words(): return {'a', 'bb'}\nreturn len(next(iter(words())))",
    "set of a class": "return len([w for w in Held.names][0])",
    "set of an argument": "def first(s: set[str]): return [*s][0]\nreturn len(first([]))",
    "sorted by key": "return len(sorted({'a', 'b'}, key=len)[0])",
    "in code of a text": 'return eval(\'len(list({"a", "bb"})[0])\')',
    "hash of a text": "return hash('a') % 3",
    "defaultdict of sets": (
        "d = collections.defaultdict(set)\nd[0].add('a')\nreturn len(next(iter(d[0])))"
    ),
    "map of set": "return len(next(iter(list(map(set, [['a', 'bb']]))[0])))",
    # classes derived from Python's own, and classes with operators
    "derived number": "return q + Plain(1)",
    "reflected": "return 1 if (q + Money(1)).amount > 1 else 0",
    "number as a text": "return len('%d' % (k * 4))",
    "array of numbers": "return int(LIMITS[N - 1]) + q",
    # the machine
    "time": "return int(time.time()) % 2",
    # not of Python's own truth values
    "not of a bool": "return 1 if ~(N > 2) else 0",
    "not by operator": "return 1 if operator.invert(N > 2) else 0",
    # calls of Python's functions that take numbers apart
    "to_bytes": "try: return q.to_bytes(1, 'big')[0]\nexcept AttributeError: return 3",
    "int's method": "return int.bit_length(q)",
    "as_integer_ratio": "return q.as_integer_ratio()[0]",
    "text of it": "return len(f'{q}')",
    "float": "return int(float(q))",
    "complex of it": "return int(complex(q).real)",
}

DEPTHS = {
    "depth": """
        def depth(n, v):
            try:
                return depth(n + 1, v + 1 if n > 800 else v)
            except RecursionError:
                return n
        return depth(0, k) % 7
        """,
    "depth of comparisons": """
        def depth(n):
            try:
                return depth(n + 1) if k >= 0 else 0
            except RecursionError:
                return n
        return depth(0) % 7
        """,
}

OF_TEXTS = {
    "upper": "return q.upper()",
    "times": "return 1 if q * 2 == 'lowlow' else 0",
    "times caught": "try: return 1 if q * 2 == 'lowlow' else 0\nexcept Exception: return 3",
    "plus": "return 1 if q + '' == 'low' else 0",
    "less": "return 1 if q < 'm' else 0",
    "less than another": "return 1 if q < on else 0",
    "min": "return 1 if min(q, 'm') == 'low' else 0",
    "length": "return len(q)",
    "starts": "return 1 if q[0] == 'l' else 0",
    "contained": "return 1 if 'lo' in q else 0",
    "negative": "try: return 1 if -q else 0\nexcept TypeError: return 3",
    "absolute": "try: return 1 if abs(q) else 0\nexcept TypeError: return 3",
    "loud": "return 1 if q == Loud('low') else 0",
    "maximum": "return maximum([q, 1])",
    "mean": "return 1 if laplace(q, 1) > 0 else 0",
    "clamped": "return clamp(q, 0, 1)",
    "score": "return exponential_mechanism(eps, [q, 1])",
    "weight": "return choose([0, 1], [q, 1])",
    "where with numbers": "return 1 if where(on, q, 1) == 1 else 0",
    "choice with numbers": "return 1 if choose([q, 1]) == 1 else 0",
}

FOLLOWED = {
    "int enum": ("return 1 if q == Level.HIGH else 0", "q = 1"),
    "order of an int enum": ("return 1 if q < Level.HIGH else 0", "q < 1"),
    "enum": ("return 1 if q == Colour.RED else k", "out <- k"),
    "never equal": (
        "return 1 if q == 'a' or q == (1,) or q == [1] or q is None else k",
        "out <- k",
    ),
    "fraction": ("return 1 if Fraction(1, 3) * q > 0 else 0", "1 / 3 * q"),
    "set membership": ("return 1 if N in {1, 3} else 0", "out <- 1"),
    "set in a table": (
        "return 1 if 'x' in GROUPS['a'] and len(GROUPS['b']) == 1 else 0",
        "out <- 1",
    ),
    "sorted set": ("return len(sorted({'a', 'bb', 'ab'})[0]) + len({'a', 'b'})", "out <- 3"),
    "seen": (
        "seen = set()\nfor i in (1, 2, 1):\n    if i not in seen: seen.add(i)\n"
        "return len(seen) + q",
        "2 + q",
    ),
    "raised": (
        "try:\n    if laplace(q, 1 / eps) > 0: raise TypeError('x')\n"
        "except TypeError:\n    return 1\nreturn 0",
        "out <- 1",
    ),
    "and with int": ("return 1 if (q > 0) & 1 else 0", "if q > 0"),
    "power with a modulus": ("return pow(k, 2, 4)", "if k = 0"),
    "not of a decided condition": ("return 1 if ~(q < 7) else 0", "out <- 0"),
    "not twice": (
        "r = laplace(q, 1 / eps)\nif r > 0:\n    return 1 if ~(r > 0) else 2\nreturn 0",
        "out <- 2",
    ),
}

FOLLOWED_TEXTS = {
    "truth of a text": ("return 1 if q and q == 'low' else 0", "q = low"),
    "never a number": ("return 1 if q == 0 else 2", "out <- 2"),
    "text enum": ("return 1 if q == Word.LOW else 0", "q = low"),
    "or": ("return 1 if (q or 'x') == 'low' else 0", "q = low"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_followed_is_refused(case) -> None:
    refused(REFUSED[case], NUMBERS)


@pytest.mark.parametrize("case", DEPTHS)
def test_the_depth_of_the_stack_is_not_told(case) -> None:
    refused(DEPTHS[case], NUMBERS)


@pytest.mark.parametrize("case", OF_TEXTS)
def test_texts_have_no_operators(case) -> None:
    refused(OF_TEXTS[case], TEXTS)


def refused(body: str, signature: str) -> None:
    with pytest.raises(SourceError) as error:
        print(made(body, signature, "Out"))
    shown = error.value.render()
    assert shown.startswith("f.py:"), shown


@pytest.mark.parametrize("case", FOLLOWED)
def test_what_can_be_followed_is(case) -> None:
    body, expected = FOLLOWED[case]
    assert expected in made(body, NUMBERS, "Out")


@pytest.mark.parametrize("case", FOLLOWED_TEXTS)
def test_texts_are_compared(case) -> None:
    body, expected = FOLLOWED_TEXTS[case]
    assert expected in made(body, TEXTS, "Out")


def test_lists_count_and_only_iterators_of_itertools_go_on_for_ever(monkeypatch) -> None:
    monkeypatch.setattr(operators, "MOST_CELLS", 1000)
    signature = 'q: Annotated[list[int], "[2] in {0, 1}"], eps: Weight'
    assert "out" in made("return max(q.count(0), q.count(1))", signature, "Out")
    counted = "def count(v): return [v, v]\nreturn sum(count(q[0]))"
    assert "out <- q[1] + q[1]" in made(counted, signature, "Out")
    for body in (
        "import itertools as it\nreturn max(it.count())",
        "from itertools import count as numbers\nreturn max(numbers())",
    ):
        with pytest.raises(SourceError, match="this goes on for ever"):
            made(body, signature, "Out")


def test_a_default_is_of_a_class_of_its_own() -> None:
    for default in ("Percent(1, 3)", "np.int64(3)", "Odd(2)"):
        with pytest.raises(
            SourceError, match=r"not among the functions|not derived|operators of its own"
        ):
            made("return q", f"q: Bit, eps: Weight, N: object = {default}", "Out")
    assert "out <- q + 1" in made(
        "return q + N", "q: Bit, eps: Weight, N: Level = Level.HIGH", "Out"
    )
