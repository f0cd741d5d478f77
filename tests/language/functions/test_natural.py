"""Python as people write it: what is followed does what CPython does, and the rest is refused."""

from pathlib import Path
from textwrap import indent

import pytest

from dipapprox.language.functions.mechanism import read_mechanism
from tests.golden_text import check_answers, complaint
from tests.language.functions.beside import differences

HEAD = """
import bisect, collections, contextlib, copy, dataclasses, decimal, enum, functools, heapq
import itertools, math, operator, statistics, types
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal, NamedTuple
import numpy as np
from dipapprox import *

class Level(enum.IntEnum):
    LOW = 0
    MID = 1
    HIGH = 2

class Colour(enum.Enum):
    RED = 1
    BLUE = 2

class Word(enum.StrEnum):
    LOW = "low"
    HIGH = "high"

@dataclass
class Box:
    v: object
    n: int = 0
    def grow(self, by): self.v, self.n = self.v + by, self.n + 1; return self

@dataclass(frozen=True, order=True)
class Pair:
    a: object
    b: object = 0

class P(NamedTuple):
    x: object
    y: object
    def total(self): return self.x + self.y

@mechanism(adjacent="all")
def f(
    q: Annotated[list[Quantity], "[3] in 0..2"], k: Annotated[Quantity, "in 0..3"], on: bool,
    w: Literal["low", "high"], eps: Weight, N: int = 3,
) -> Annotated[int, "in -99..99"]:
"""


def file_with(body: str) -> str:
    return HEAD + indent(body, "    ") + "\n"


NATURAL = (Path(__file__).parent / "natural.txt").read_text(encoding="utf-8").split("=====\n")


@pytest.mark.parametrize("body", NATURAL)
def test_what_people_write_does_what_python_does(body) -> None:
    assert not list(differences(file_with(body)))


def test_what_is_not_followed_is_refused_at_its_line() -> None:
    def text(body: str) -> str:
        return read_mechanism(Path("f.py"), file_with(body), "f").text()

    check_answers("functions_lists", complaint(text))
