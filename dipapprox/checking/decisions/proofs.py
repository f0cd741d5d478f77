"""Recorded reasons why a function is >= 0 on an interval of ε: data as the file has it.

    no negative term    every coefficient is > 0
    derivatives at 0    values at 0 of f and repeated derivatives are >= 0 until all terms are
    point               the interval is one ε; the sign there
    factors             f = positive * sign * Π (ε - a)^m * Π part^exponent, with covers of parts

A cover of G = Σ c ε^n e^(-j rate ε) says what its sign is on (0, upper] ("near zero"), on boxes
that follow each other, and on [lower, ∞) ("far away"). It is examined in `covers` and `signs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Interval:
    """The ε > 0 from `lower` to `upper`, both included; None: no upper end."""

    lower: Fraction
    upper: Fraction | None

    @property
    def is_point(self) -> bool:
        """Whether there is one ε."""
        return self.lower == self.upper

    @property
    def inner_point(self) -> Fraction:
        """Some ε of the interval."""
        return self.lower + 1 if self.upper is None else (self.lower + self.upper) / 2

    def __contains__(self, epsilon: Fraction) -> bool:
        return (
            epsilon > 0 and self.lower <= epsilon and (self.upper is None or epsilon <= self.upper)
        )


class Argument(Enum):
    """What is said of a box; the value is the word in the file."""

    CONSTANT = "constant"
    MONOTONE = "monotone"
    CROSSING = "crossing"


@dataclass(frozen=True, slots=True)
class NearZero:
    """The first derivative that is not 0 at 0, `order`, has no zero in [0, upper]."""

    upper: Fraction
    order: int
    sign: int


@dataclass(frozen=True, slots=True)
class FarAway:
    """From `lower` on the leading term outweighs all terms of the other sign."""

    lower: Fraction
    sign: int


@dataclass(frozen=True, slots=True)
class Box:
    """[lower, upper]; `sign` is that of G at `lower`."""

    lower: Fraction
    upper: Fraction
    argument: Argument
    sign: int


@dataclass(frozen=True, slots=True)
class Cover:
    """All three; `near` if the interval begins at 0, `far` if it has no upper end."""

    near: NearZero | None
    boxes: tuple[Box, ...]
    far: FarAway | None


@dataclass(frozen=True, slots=True)
class Part:
    """A factor; `terms` are (c, n, j): c ε^n e^(-j rate ε)."""

    rate: Fraction
    terms: tuple[tuple[int, int, int], ...]
    exponent: int
    cover: Cover | None


@dataclass(frozen=True, slots=True)
class NoNegativeTerm:
    """See above."""


@dataclass(frozen=True, slots=True)
class DerivativesAtZero:
    """See above."""


@dataclass(frozen=True, slots=True)
class Point:
    """See above."""

    epsilon: Fraction
    sign: int


@dataclass(frozen=True, slots=True)
class Factors:
    """See above; `rational_zeros` are (a, m)."""

    sign: int
    rational_zeros: tuple[tuple[Fraction, int], ...]
    parts: tuple[Part, ...]


Proof = NoNegativeTerm | DerivativesAtZero | Point | Factors


class Refuted(Exception):
    """Something that is recorded is false; the message says what."""
