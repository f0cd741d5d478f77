"""What the text of an automaton says, with its places: names, no meaning yet.

Read by `dipa.py`; `automata/` makes a model of it.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import Record, field
from dipapprox.source import Located, Span

INSAMPLE = "insample"  # the sample that guards compare and variables store
INSAMPLE_PRIME = "insampleprime"  # the second, independent sample, which can only be an output


class ThresholdTest(Located):
    """A comparison of insample with a variable: `at_least` for >= (or >), else < (or <=)."""

    variable: str
    at_least: bool


class StatedTransition(Located):
    """One transition: a conjunction of atoms (empty: true), variables set, output, next state."""

    guard: tuple[ThresholdTest, ...]
    assigned: tuple[str, ...]
    output: str
    target: str
    target_span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


class AutomatonNoise(Record):
    """Laplace noise: its rate (the scale is 1 / (rate · ε)) and its mean."""

    rate: Fraction
    mean: Fraction


class Location(Located):
    """A state: whether it reads an input, the noise of its samples, its transitions."""

    name: str
    reads: bool
    insample: AutomatonNoise
    insample_prime: AutomatonNoise | None
    steps: tuple[StatedTransition, ...]


class AutomatonText(Record):
    """An automaton as it is written; the first state is the initial one."""

    locations: tuple[Location, ...]
