"""What may take part in an operation with an input or a sample: all else is refused."""

from pathlib import Path
from textwrap import dedent, indent

import pytest

from dipapprox.errors import SourceError
from dipapprox.language.functions import operators
from dipapprox.language.functions.mechanism import read_mechanism
from tests.cases import cases, refuses
from tests.golden_text import check_answers, complaint

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
NAMES = 'q: Literal["low", "high"], on: bool, eps: Weight'


@cases("kind, signature", ("numbers", NUMBERS), ("names", NAMES))
def test_what_may_meet_inputs_and_samples(kind, signature) -> None:
    check_answers(f"functions_{kind}", complaint(lambda body: made(body, signature, "Out")))


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
        refuses(SourceError, "this goes on for ever", made, body, signature, "Out")


def test_a_default_is_of_a_class_of_its_own() -> None:
    for default in ("Percent(1, 3)", "np.int64(3)", "Odd(2)"):
        with pytest.raises(
            SourceError, match=r"not among the functions|not derived|operators of its own"
        ):
            made("return q", f"q: Bit, eps: Weight, N: object = {default}", "Out")
    assert "out <- q + 1" in made(
        "return q + N", "q: Bit, eps: Weight, N: Level = Level.HIGH", "Out"
    )
