"""One event, or one function after the other, where methods and algebras take many at once."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

from flint import arb

from dipapprox import Enclosure, LimitReached, NotEnclosed
from dipapprox.arithmetic.precision import precision
from dipapprox.events.event import Connected
from dipapprox.numerics.algebras.balls import BallAlgebra, BallFunction
from dipapprox.numerics.algebras.piecewise import FunctionAlgebra
from dipapprox.numerics.methods import Answers, Method

F = TypeVar("F")
V = TypeVar("V")


def product(algebra: FunctionAlgebra[F, V], *factors: F) -> F:
    """t -> Π factor(t)."""
    (found,) = algebra.products([factors])
    return found


def power(algebra: FunctionAlgebra[F, V], function: F, exponent: int) -> F:
    """t -> function(t) ** exponent."""
    return product(algebra, *[function] * exponent)


def integral(algebra: FunctionAlgebra[F, V], function: F, from_left: bool = True) -> F:
    """t -> ∫ function over (-∞, t), else over (t, ∞)."""
    (found,) = algebra.running([(function,)], from_left)
    return found


def whole(algebra: FunctionAlgebra[F, V], function: F) -> V:
    """∫ function over the line."""
    (found,) = algebra.product_totals([(function,)])
    return found


def value(algebra: BallAlgebra, function: BallFunction, panel: int, u: arb) -> arb:
    """Enclose a function at the point u in [-1, 1] of a panel."""
    piece = algebra.panels(function)[panel]
    with precision(algebra.bits):
        return arb(0) if piece is None else piece.polynomial(u) + arb(0, piece.radius)


# --- One event: a batch of its own ----------------------------------------------------------------


def alone(method: Method, event: Connected, bits: int) -> Enclosure | NotEnclosed:
    (found,) = method.enclose((event,), bits)
    return found


def enclosed(method: Method, event: Connected, bits: int = 40) -> Enclosure:
    """Enclose a probability, as narrowly as asked."""
    found = alone(method, event, bits)
    assert isinstance(found, Enclosure), found
    assert 0 <= found.lower <= found.upper <= 1 and found.width <= Fraction(1, 2**bits)
    return found


# --- A method that computes nothing, to see what is asked of it -----------------------------------


class Recording:
    """Answers everything alike, or is out of time, and remembers what it was asked."""

    name = "recording"

    def __init__(self, answer: Enclosure | NotEnclosed | LimitReached) -> None:
        self.asked: list[Connected] = []
        self.bits: list[int] = []
        self._answer = answer

    def enclose(self, events: Sequence[Connected], bits: int) -> Answers:
        self.asked += events
        self.bits.append(bits)
        if isinstance(self._answer, LimitReached):
            raise self._answer
        return Answers.of([self._answer for _ in events])
