"""Single guards in closed form, and what they alone say about an event.

The method `closed form`: one comparison of Gaussians, or of one or two exponential samples; one
sample of other noise between numbers, by its distribution function.

A guard that is alone in its event and compares only Gaussians is one Gaussian comparison,

    Pr[Σ c_i x_i + w <= 0] = Φ(-(w + Σ c_i μ_i) / √(Σ c_i² σ_i²)) = erfc(z / √2) / 2,

z² rational even where the deviation is not. With E, E' standard exponential and signed scales a,
b, a Laplace or one-sided sample times a coefficient is its mean plus a E, or ± a E with equal
chances; so one or two of them make a comparison of a mixture of a E or a E + b E' with a number t.

    Pr[a E <= t]         1 - e^(-t/a) for a, t > 0;  e^(-t/a) for a, t < 0;  else 0 or 1
    Pr[a E + b E' <= t]  (a Pr[a E <= t] - b Pr[b E <= t]) / (a - b),  a != b
    Pr[a E + a E' <= t]  as for a E with (1 + t/a) e^(-t/a) in the place of e^(-t/a)

Proof. The Laplace transform of a E is 1 / (1 - a s) near s = 0, for either sign of a, and (a / (1
- a s) - b / (1 - b s)) / (a - b) = 1 / ((1 - a s) (1 - b s)): the signed measures have one
transform, so they are equal. The third line is the gamma law of shape 2. Coefficients are rational:
any precision costs microseconds; what nearly equal scales cancel costs a second attempt.

The method `guard by guard`: events that are nearly impossible, or whose guards nearly all hold.

An event is the intersection of its guards G_1, …, G_n, so, however they depend on each other,

    max(0, 1 - Σ (1 - Pr[G_k]))  <=  Pr[event]  <=  min Pr[G_k]

(Fréchet 1935; Boole's and Bonferroni's inequalities). Every guard is a closed form of its own. That
is seldom narrow; but where a guard is many deviations away nothing else is needed, and quadrature
finds such events hard.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import TypeGuard

from flint import arb

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.events.event import Connected, Event
from dipapprox.events.reduce import restricted
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.family import RealFamily
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.methods import EventByEvent

_ATTEMPTS = 4


def has_closed_form(event: Connected) -> TypeGuard[Event]:
    """Whether an event is one comparison of Gaussians, or of one or two exponential samples, or
    about one sample of other real noise."""
    if not isinstance(event, Event):
        return False
    families = {law.family for law in event.samples}
    if not all(isinstance(family, RealFamily) for family in families):
        return False
    normal = all(family.is_normal for family in families)
    exponential = all(family.is_exponential for family in families)
    if not normal and not exponential:
        return len(event.samples) == 1
    return len(event.guards) == 1 and (normal or len(event.samples) <= 2)


Exponentials = list[tuple[Fraction, Fraction]]  # (c, q), …: the number Σ c e^q


class ClosedForm(EventByEvent):
    """Events that are one comparison; see the module."""

    name = "closed form"

    def one(self, event: Connected, bits: int) -> Enclosure | NotEnclosed:
        """Evaluate with more and more bits until the width is at most 2**-bits."""
        if not has_closed_form(event):
            return NotEnclosed("no comparison of noise with a closed form")
        family = event.samples[0].family
        value = (
            _gaussian if family.is_normal else _exponential if family.is_exponential else _between
        )
        for attempt in range(_ATTEMPTS):
            with precision(bits + 32 << attempt):
                found = to_enclosure(value(event.samples, event.guards))
            if isinstance(found, Enclosure) and found.width <= Fraction(1, 2**bits):
                return found.intersect(UNIT)
        return NotEnclosed("scales nearly equal, or too far from the mean for its precision")


def exponential_comparison(samples: Sequence[Distribution], guard: LinearForm) -> Exponentials:
    """Return Pr[guard <= 0] exactly, of one or two Laplace or one-sided samples; exponents <= 0."""
    threshold = -guard.constant
    mixtures: list[list[Fraction]] = []
    for sample, coefficient in guard.terms:
        law = samples[int(sample)]
        threshold -= coefficient * law.mean
        mixtures.append([side * coefficient * law.scale for side in law.family.sides])
    chosen = list(product(*mixtures))
    return [(c / len(chosen), q) for scales in chosen for c, q in _below(threshold, scales)]


def _below(t: Fraction, scales: Sequence[Fraction]) -> Exponentials:
    """Pr[Σ scale E <= t] for one or two signed scales."""
    match scales:
        case (a,):
            return _beyond(a, t, Fraction(1))
        case (a, b) if a == b:
            return _beyond(a, t, 1 + t / a)
        case (a, b):
            one = Fraction(1)
            first = [(c * a / (a - b), q) for c, q in _beyond(a, t, one)]
            return first + [(c * b / (b - a), q) for c, q in _beyond(b, t, one)]
        case _:
            raise ValueError(f"closed forms are for one or two samples, got {len(scales)}")


def _beyond(a: Fraction, t: Fraction, c: Fraction) -> Exponentials:
    """Pr[X <= t] for X between 0 and the infinity of a's sign, with mass c e^(-t/a) beyond t."""
    one = (Fraction(1), Fraction(0))
    if t / a <= 0:
        return [one] if a < 0 else []
    return [one, (-c, -t / a)] if a > 0 else [(c, -t / a)]


def _exponential(samples: Sequence[Distribution], guards: Sequence[LinearForm]) -> arb:
    (guard,) = guards
    terms = exponential_comparison(samples, guard)
    return sum((to_ball(c) * to_ball(q).exp() for c, q in terms), arb(0))


def _gaussian(samples: Sequence[Distribution], guards: Sequence[LinearForm]) -> arb:
    (guard,) = guards
    offset, variance = guard.constant, Fraction(0)
    for sample, coefficient in guard.terms:
        law = samples[int(sample)]
        offset += coefficient * law.mean
        variance += (coefficient * law.scale) ** 2
    # Σ c_i x_i - its mean, over its deviation, is at most -z.
    tail = (to_ball(offset * offset / variance / 2).sqrt()).erfc() / 2
    return tail if offset >= 0 else arb(1) - tail


def _between(samples: Sequence[Distribution], guards: Sequence[LinearForm]) -> arb:
    (law,) = samples
    low, high = list[Fraction](), list[Fraction]()
    for guard in guards:
        ((_, c),) = guard.terms
        (high if c > 0 else low).append((-guard.constant / c - law.mean) / law.scale)
    return mass_between(law.real, max(low, default=None), min(high, default=None))


def mass_between(family: RealFamily, low: Fraction | None, high: Fraction | None) -> arb:
    """Return what standard noise has between two numbers, None where it has no end, at the present
    precision."""
    if low is not None and high is not None and low >= high:
        return arb(0)
    (a, left), (b, right) = (
        (arb(0) if z is None else to_ball(z), (1 if z and z > 0 else -1) * family.has_kink)
        for z in (low, high)
    )
    if low is None:
        return arb(1) if high is None else family.cdf(b, right)
    return family.survival(a, left) if high is None else family.mass(a, b, left, right)


def has_closed_guards(event: Connected) -> bool:
    """Whether an event has several guards, each with a closed form."""
    return (
        isinstance(event, Event)
        and len(event.guards) > 1
        and all(has_closed_form(_alone(event, guard)) for guard in event.guards)
    )


def _alone(event: Event, guard: LinearForm) -> Event:
    return restricted(event, guard.samples(), (guard,))


class GuardByGuard(EventByEvent):
    """Events whose guards have narrow bounds; see the module."""

    name = "guard by guard"

    def one(self, event: Connected, bits: int) -> Enclosure | NotEnclosed:
        assert isinstance(event, Event)
        alone = [_alone(event, guard) for guard in event.guards]
        found = ClosedForm().enclose(alone, bits + len(alone).bit_length())
        # A missing enclosure says that the guard has some probability.
        known = [found.enclosure(k) for k in range(len(alone))]
        missing = sum((1 - each.lower for each in known), Fraction(0))
        bounds = Enclosure(max(Fraction(0), 1 - missing), min(each.upper for each in known))
        if bounds.width <= Fraction(1, 2**bits):
            return bounds
        return NotEnclosed("no guard is nearly impossible, and some may fail")
