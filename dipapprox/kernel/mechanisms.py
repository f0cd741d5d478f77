"""What pipelines run: mechanisms and statements, by pairs of distributions.

    mechanism    {"mechanism": noise, "sensitivity": number, "scale": number}
                 | {"mechanism": "randomised_response", "probability": number, "values": integer}
                 | {"mechanism": "exponential_mechanism", "eps": number}
                 | {"mechanism": "approx_dp", "eps": number, "delta": number}
                 | {"mechanism": "rdp", "orders": [[order, divergence], …]}
                 | {"mechanism": "zcdp", "rho": number}
    noise        "Gauss" | "Lap" | "DLap" | "DGauss"

A pair (P, Q) has the H of `losses`. It dominates a mechanism if its H is at least that of the
outputs for any two adjacent data sets, at every a > 0. All pairs here dominate their reversal, so
the order of the data sets does not matter; for any pair

    H of (Q, P) at a = 1 - a + a H of (P, Q) at 1 / a,                                          (1)

as the best set of the one is the complement of the best set of the other.

    noise        a number, or a whole number, of sensitivity D plus noise of a log-concave law: laws
                 D apart dominate all closer ones; as dP/dQ rises, best sets are x > c
    response     the true one of some values with the probability, else any other one alike
    exponential  Pr of outcomes ~ exp(eps u / 2), u of sensitivity 1: losses in an interval of
                 length eps about 0, so that H <= (sqrt E - sqrt a)^2 / (E - 1), E = e^eps, for
                 1 / E <= a <= E (bounded range: Dong, Durfee, Rogers 2020), 1 - a or 0 beyond
    approx_dp    (eps, delta)-DP: delta at infinity, the rest at the losses eps and -eps
    rdp          Rényi divergences of some orders > 1 are at most these, either way round
    zcdp         divergence of every order > 1 at most rho order

On a Poisson sample of rate r the outputs are mixtures, over the other records, of r P + (1 - r) Q
against Q, and H is convex in the pair: it is r H((a - 1 + r) / r), or 1 - a if a <= 1 - r, for the
removal of a record, and by (1) for its adding. Source: Zhu, Dong, Wang 2022, theorem 11.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from dipapprox.kernel.balls import lower_at, precision, spend_balls, to_ball
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import BadProof, Refused
from dipapprox.kernel.laws import FAMILIES, IntegerFamily
from dipapprox.kernel.reading import as_list, as_number, as_record, as_word

ZERO, ONE = arb(0), arb(1)

PLACES = 512
"""Losses that are no rational numbers are rounded to multiples of 2^-PLACES."""

Cells = list[tuple[arb, arb]]
"""The masses (p, q) of outcomes; an exact 0 means that there is none."""


class Pair(ABC):
    """What is known of a pair (P, Q)."""

    @abstractmethod
    def most(self, loss: Fraction) -> arb:
        """Return a ball whose upper end is at least H(e^loss)."""

    def line(self, loss: Fraction) -> tuple[arb, arb]:
        """Return (P(S), Q(S)) for a set, about the best one at e^loss, of a pair that is had."""
        raise Refused("no pair is known that has these bounds")

    @property
    def infinite(self) -> arb:
        """P(S) of a set with Q(S) = 0, of the same pair."""
        return ZERO


@dataclass(frozen=True)
class Finite(Pair):
    """Finitely many outcomes; none has a finite loss above `top`."""

    outcomes: Cells
    top: Fraction | None = None

    def most(self, loss: Fraction) -> arb:
        spend(len(self.outcomes))
        factor = to_ball(loss).exp()
        if self.top is not None and loss >= self.top:
            return self.infinite
        return sum(((p - factor * q).max(ZERO) for p, q in self.outcomes), ZERO)

    def line(self, loss: Fraction) -> tuple[arb, arb]:
        spend(len(self.outcomes))
        factor = to_ball(loss).exp()
        chosen = [(p, q) for p, q in self.outcomes if (p - factor * q).mid() > 0]
        return sum((p for p, _ in chosen), ZERO), sum((q for _, q in chosen), ZERO)

    @property
    def infinite(self) -> arb:
        return sum((p for p, q in self.outcomes if q.is_zero()), ZERO)


@dataclass(frozen=True)
class BoundedRange(Finite):
    """The outcomes are those of one pair, with the losses eps / 2 and -eps / 2."""

    def most(self, loss: Fraction) -> arb:
        if self.top is None:
            raise Refused("a range that is not known")
        if abs(loss) >= self.top:
            return ZERO if loss > 0 else 1 - to_ball(loss).exp()
        top, factor = to_ball(self.top).exp(), to_ball(loss).exp()
        gap = top.sqrt() - factor.sqrt()
        return gap * gap / (top - 1)


@dataclass(frozen=True)
class Noise(Pair):
    """Laws about D and about 0. Where the loss is t, x = c, and above it beyond c:

    Gauss, DGauss: t = (2 D x - D^2) / (2 scale^2). Lap, DLap: t = (2 x - D) / scale between 0 and
    D, and constant beyond.
    """

    family: str
    distance: Fraction
    scale: Fraction

    def most(self, loss: Fraction) -> arb:
        p, q = self.line(loss)
        return p - to_ball(loss).exp() * q

    def line(self, loss: Fraction) -> tuple[arb, arb]:
        most = self.distance / self.scale
        if self.family in ("Gauss", "DGauss"):
            c = loss * self.scale**2 / self.distance + self.distance / 2
        elif -most <= loss < most:
            c = (self.scale * loss + self.distance) / 2
        else:
            return (ZERO, ZERO) if loss > 0 else (ONE, ONE)
        return self._above(c - self.distance), self._above(c)

    def _above(self, place: Fraction) -> arb:
        spend_balls(4)
        family = FAMILIES[self.family]
        if isinstance(family, IntegerFamily):
            return family.above(place.__floor__() + 1, self.scale)
        return family.above(to_ball(place / self.scale))


@dataclass(frozen=True)
class Renyi(Pair):
    """(1 - a y) y^(order - 1) is largest at y = (order - 1) / (order a): y^(order - 1) / order.

    That bounds H of the pair and, by (1), that of its reversal.
    """

    orders: Sequence[tuple[Fraction, Fraction]]

    def most(self, loss: Fraction) -> arb:
        factor = to_ball(loss).exp()
        turned = 1 - factor + factor * self._bound(-loss)
        return self._bound(loss).min(turned).min(ONE)

    def _bound(self, loss: Fraction) -> arb:
        spend_balls(3 * len(self.orders))
        found = ONE
        for order, divergence in self.orders:
            place = to_ball((order - 1) / order).log() + to_ball(divergence - loss)
            found = found.min((place * to_ball(order - 1)).exp() / to_ball(order))
        return found


class Known(Pair):
    """All adjacent inputs of a program, in either order, whose H at e^t is at most d, t >= 0.

    By (1) it is at most 1 - e^-t + e^-t d at e^-t; it is at most 1 at 0, convex, and does not
    increase: so it is below chords, and beyond a point at most what it is there.
    """

    def __init__(self, points: Mapping[Fraction, Fraction]) -> None:
        self._losses = sorted({sign * t for t in points for sign in (1, -1)})
        self._points = [(ZERO, ONE)]
        for t in self._losses:
            factor, bound = to_ball(t).exp(), to_ball(points[abs(t)])
            self._points.append((factor, bound if t >= 0 else 1 - factor + factor * bound))

    def most(self, loss: Fraction) -> arb:
        left = bisect_right(self._losses, loss)
        start, before = self._points[left]
        if left == len(self._losses) or (left and self._losses[left - 1] == loss):
            return before
        end, after = self._points[left + 1]
        return before - (before - after) * (to_ball(loss).exp() - start) / (end - start)


@dataclass(frozen=True)
class Sampled(Pair):
    """A record's removal, or its adding, on a Poisson sample; 1 is the rate of all."""

    pair: Pair
    rate: Fraction
    added: bool

    def most(self, loss: Fraction) -> arb:
        if not self.added:
            return self._removed(loss)
        factor = to_ball(loss).exp()
        return 1 - factor + factor * self._removed(-loss)

    def _removed(self, loss: Fraction) -> arb:
        inner = self._inner(loss)
        if inner is None:
            return (1 - to_ball(loss).exp()).max(to_ball(self.rate))
        # H does not increase.
        return to_ball(self.rate) * self.pair.most(inner)

    def _inner(self, loss: Fraction) -> Fraction | None:
        """About ln((e^loss - 1 + r) / r), at most that; None where it may be -infinity."""
        rate = to_ball(self.rate)
        inner = (to_ball(loss).exp() - 1 + rate) / rate
        return Fraction(lower_at(inner.log(), PLACES), 1 << PLACES) if inner > 0 else None

    def line(self, loss: Fraction) -> tuple[arb, arb]:
        rate, inner = to_ball(self.rate), self._inner(-loss if self.added else loss)
        p, q = (ONE, ONE) if inner is None else self.pair.line(inner)
        p = rate * p + (1 - rate) * q
        return (1 - q, 1 - p) if self.added else (p, q)

    @property
    def infinite(self) -> arb:
        return ZERO if self.added else to_ball(self.rate) * self.pair.infinite


FIELDS = {
    **dict.fromkeys(("Gauss", "Lap", "DLap", "DGauss"), ("sensitivity", "scale")),
    "randomised_response": ("probability", "values"),
    "exponential_mechanism": ("eps",),
    "approx_dp": ("eps", "delta"),
    "rdp": ("orders",),
    "zcdp": ("rho",),
}


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A mechanism as above: the values of its fields; of rdp, the pairs."""

    name: str
    values: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.name} {self.values}"

    def pair(self, orders: Sequence[Fraction]) -> Pair:
        """Return what is known of it, at this precision; zCDP is used at these orders."""
        match self.name, self.values:
            case "rdp", known if all(order > 1 and bound >= 0 for order, bound in known):
                return Renyi(known)
            case "zcdp", [rho] if rho > 0 and all(order > 1 for order in orders):
                return Renyi([(order, rho * order) for order in orders])
            case "randomised_response", [p, n] if 0 < p < 1 and n >= 2 and n.denominator == 1:
                likely, other = to_ball(p), to_ball((1 - p) / (n - 1))
                rest = 1 - likely - other if n > 2 else ZERO
                return Finite([(likely, other), (other, likely), (rest, rest)])
            case "exponential_mechanism", [eps] if eps > 0:
                return BoundedRange(_two(eps / 2, ONE), eps)
            case "approx_dp", [eps, delta] if eps >= 0 and 0 <= delta <= 1:
                sure = to_ball(delta)
                return Finite([(sure, ZERO), (ZERO, sure), *_two(eps, 1 - sure)], eps)
            case family, [distance, scale] if family in FAMILIES and distance > 0 and scale > 0:
                if isinstance(FAMILIES[family], IntegerFamily) and distance.denominator > 1:
                    raise BadProof("a sensitivity of integers is none")
                return Noise(family, distance, scale)
        raise BadProof(f"parameters of '{self.name}' are out of range")


def read_mechanism(json: object) -> Mechanism:
    """Read a mechanism."""
    name = json.get("mechanism") if isinstance(json, dict) else None
    name = as_word(name, "a mechanism", tuple(FIELDS))
    record = as_record(json, "a mechanism", ("mechanism", *FIELDS[name]))
    if name == "rdp":
        rows = [as_list(each, "an order", 2) for each in as_list(record["orders"], "orders")]
        found = Mechanism(name, tuple((_number(order), _number(bound)) for order, bound in rows))
    else:
        found = Mechanism(name, tuple(_number(record[each]) for each in FIELDS[name]))
    with precision(64):
        found.pair(())
    return found


def _number(json: object) -> Fraction:
    return as_number(json, "a parameter")


def _two(loss: Fraction, mass: arb) -> Cells:
    """Two outcomes with this loss and its negative, of this mass together."""
    odds = to_ball(loss).exp()
    likely, unlikely = mass * odds / (1 + odds), mass / (1 + odds)
    return [(likely, unlikely), (unlikely, likely)]
