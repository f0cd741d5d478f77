"""What a privacy profile is asked: one point of it, its inverse, a curve, or Rényi divergences."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import Record, field
from dipapprox.errors import UserError
from dipapprox.pairs.divergence import Growth
from dipapprox.privacy.logarithms import read_growth
from dipapprox.privacy.profiles.curve import evenly

DEFAULT_WIDTH = Fraction(1, 10**9)  # of a least eps_prv, and of Rényi divergences
_RELATIVE_WIDTH = Fraction(1, 10**12)
_LEAST_WIDTH = Fraction(1, 10**30)  # of a least delta
REAL_WIDTH = Fraction(1, 10**6)
"""Of answers for real inputs, or about several numbers, relative, where nothing else is asked."""

MOST_ORDERS = 1_000
_LARGEST_ORDER = 100_000
Order = Fraction | Literal["inf"]  # of a Rényi divergence: >= 1, or "inf"


class AtEpsPrv(Record):
    """The least delta for an eps_prv."""

    # A number >= 0; a formula such as "log(3)" if e^eps_prv is obviously a rational number times a
    # rational power of e.
    eps_prv: Fraction | str
    # Wanted of the enclosure; None for a 10^12th of delta (10^-30 if that is less), with real
    # inputs or several numbers for what can be had, a millionth of delta at least.
    width: Fraction | None = None
    growth: Growth = field(init=False)  # e^eps_prv

    def __post_init__(self) -> None:
        if isinstance(self.eps_prv, str):
            growth, text = read_growth(self.eps_prv), " ".join(self.eps_prv.split())
            object.__setattr__(self, "eps_prv", text)
        else:
            growth = Growth(self.eps_prv)
        if growth.is_below_one():
            raise UserError(f"eps_prv must be >= 0, got {self.eps_prv}")
        object.__setattr__(self, "growth", growth)

    def tolerance(self, delta: Enclosure) -> Fraction:
        return self.width or max(delta.upper * _RELATIVE_WIDTH, _LEAST_WIDTH)


class AtDelta(Record):
    """The least eps_prv for a delta; delta 0 asks for pure differential privacy."""

    delta: Fraction  # in [0, 1]
    # Wanted of the enclosure; None for `DEFAULT_WIDTH`, with real inputs or several numbers for
    # what can be had, a millionth (of eps_prv, if that is above 1) at least.
    width: Fraction | None = None
    claimed: Fraction | None = None  # an eps_prv that is claimed: what needs more is shown there

    @property
    def tolerance(self) -> Fraction:
        return self.width or DEFAULT_WIDTH


class OnCurve(Record):
    """The profile from eps_prv `low` to eps_prv `high`, certified at `count` points and between."""

    low: Fraction
    high: Fraction
    count: int

    def __post_init__(self) -> None:
        evenly(self.low, self.high, self.count)


class AtOrders(Record):
    """The largest Rényi divergences of these orders, ascending."""

    orders: tuple[Order, ...]
    width: Fraction = DEFAULT_WIDTH

    def __post_init__(self) -> None:
        if not 1 <= len(self.orders) <= MOST_ORDERS:
            raise UserError(f"1 to {MOST_ORDERS} Rényi orders are needed, got {len(self.orders)}")
        finite = {order for order in self.orders if not isinstance(order, str)}
        for order in finite:
            if not 1 <= order <= _LARGEST_ORDER:
                raise UserError(
                    f"a Rényi order must be in [1, {_LARGEST_ORDER}] or inf, got {order}"
                )
        infinite: tuple[Order, ...] = ("inf",) if "inf" in self.orders else ()
        object.__setattr__(self, "orders", (*sorted(finite), *infinite))


Question = AtEpsPrv | AtDelta | OnCurve | AtOrders


def is_pure(question: Question) -> bool:
    """Whether δ = 0 is what it is about."""
    return isinstance(question, AtOrders) or (isinstance(question, AtDelta) and not question.delta)


def in_parts(question: Question) -> bool:
    """Whether independent parts of a program will do to answer it."""
    return not isinstance(question, AtOrders)
