"""Numbers for plans: nested ball quadrature with closed-form innermost integrals.

In: a truncated plan (`engine`). Out: a ball around its value.

Why every integrand is entire. By induction over the tree, a plan is an entire function of its free
variables. A mass is F(u) - F(l) with F entire for a fixed branch and u, l affine. Products and
sums of entire functions are entire. A nest is ∫ from l to u of f(x) B(x, …) dx; with
x = l + s (u - l) it is (u - l) times an integral over s in [0, 1] of an entire function. So flint's
`analytic` flag needs no attention, integrals do not depend on the path, and a range may be walked
in any steps: breaks are chosen by looking at midpoints, which is harmless.

It can be asked two things.

- `value` at real balls a few ulps wide (nodes of the outer quadrature). A nest whose ends are balls
  [m ± r] integrates between the exact midpoints and adds the rest as a ball of radius
  r · sup |f B| over the end: no integral with inexact ends is ever computed.
- `bound` of the modulus for complex balls of any size, in closed form, without quadrature:
  the path from l to u goes l -> Re l -> Re u -> u. On the real piece every branch of f is positive,
  so it gives at most |F(Re u) - F(Re l)| sup |B|; an upright piece at most |Im u| sup |f B|. So the
  bound stays small far from everything narrow, even if something narrow lies between the ends.

Quadrature. Proved integrals over finite real intervals of entire functions: a wrapper of
`acb.integral`.

flint's adaptive Gauss-Legendre rule asks for three things, and each has its own function here:

- the value at a node: a real ball a few ulps wide. `value` answers with an accurate enclosure;
- a first, crude estimate on a whole panel: a wide real ball;
- a bound of the modulus on a complex rectangle round a Bernstein ellipse, for the error term. It
  enters the number of nodes through its logarithm only, so `magnitude` may be generous.

The last two are answered by the disc of radius `magnitude` round 0.

    acb.integral(lambda z, _: f(z), a, b)   # wrong for pieces, abs, branches: a confident lie
    integrate(value, magnitude, a, b, …)    # right: f is entire, which the caller proves

With `analytic` set flint demands that the integrand is holomorphic on the ball or the answer not
finite. Integrands here are entire by contract, so the flag changes nothing.

References:
    F. Johansson, "Numerical integration in arbitrary-precision ball arithmetic", ICMS 2018.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Protocol, TypeVar, assert_never

from flint import acb, arb

from dipapprox.arithmetic.boxes import Box
from dipapprox.arithmetic.precision import to_ball
from dipapprox.data_classes import Record, replace
from dipapprox.errors import BrokenInvariant
from dipapprox.integrals.integral import Add, Integral, Level, Multiply, Plan
from dipapprox.laws.distribution import Distribution
from dipapprox.linear.form import LinearForm

_ZERO = arb(0)
_NOTHING = arb("nan")


class Effort(Record):
    """How hard to try; the result is proved in any case."""

    tolerance: int  # panels whose error is below 2**-tolerance are left alone
    narrow: arb  # real balls of at most this radius (exact, > 0) are nodes
    evaluations: int  # most calls of the integrand
    inner_evaluations: int  # the same for an integrand that has other integrals around it
    check: Callable[[], None]  # called at every evaluation; raises to stop


_MOST_NODES = 512
"""Most nodes of a quadrature rule. Flint would take half as many as there are bits, and finds them
in one call that nothing interrupts: 1024 of them take seconds, 512 do not even at 20000 bits."""


def integrate(
    value: Callable[[arb], arb],
    magnitude: Callable[[acb], arb],
    lower: arb,
    upper: arb,
    effort: Effort,
) -> arb:
    """Enclose the integral from `lower` to `upper` (either order) of a real entire function.

    Args:
        value: Encloses the function on a real ball. What it raises arrives as it was raised.
        magnitude: Bounds its modulus on a complex ball; may be infinite or nan ("no idea").
        lower: Exact, finite, as `upper` is.

    Returns:
        An enclosure, not finite if flint found none.
    """
    failures: list[BaseException] = []

    def integrand(z: acb, analytic: bool) -> acb:
        # An exception must not cross flint's C frames: it would arrive as SystemError, after many
        # more calls. The constant 0 satisfies flint at once, and the result is thrown away.
        if failures:
            return acb(0)
        try:
            is_real = z.imag.is_zero()
            if is_real and not analytic and z.real.rad() <= effort.narrow:
                return acb(value(z.real))
            bound = magnitude(z)
            if not bound.is_finite():
                return acb(_NOTHING)
            disc = arb(0, bound)
            # A real integrand is real on the real line, which tells flint that the integral is.
            return acb(disc) if is_real else acb(disc, disc)
        except BaseException as error:
            failures.append(error)
            return acb(0)

    if lower == upper:
        return _ZERO
    result = acb.integral(
        integrand,
        lower,
        upper,
        abs_tol=arb(2) ** -effort.tolerance,
        rel_tol=arb(2) ** -effort.tolerance,
        eval_limit=effort.evaluations,
        deg_limit=_MOST_NODES if effort.tolerance > 2 * _MOST_NODES else 0,  # 0: flint's choice
    )
    if failures:
        raise failures[0]
    # The integral of a real function along the real line is real: its real part is all of it.
    return result.real


_ONE = arb(1)
B = TypeVar("B", arb, arb | acb)


class NodeEvaluator(Protocol):
    """A node, ready to be evaluated at one working precision."""

    def value(self, at: list[arb]) -> arb:
        """Enclose the node at real balls, one per depth."""

    def bound(self, at: list[arb | acb]) -> arb:
        """Bound the node's modulus on complex balls, one per depth; exact or not finite."""


def make_evaluator(plan: Plan, effort: Effort) -> NodeEvaluator:
    """Prepare a truncated plan; everything exact becomes balls at the current precision."""
    match plan:
        case Integral(level, None):
            return _MassEvaluator(level)
        case Integral(_, body):
            assert body is not None
            return _NestEvaluator(plan, body, effort)
        case Multiply(inside) | Add(inside):
            # Equal factors, and terms, are evaluated once.
            inner = [(make_evaluator(each, effort), n) for each, n in Counter(inside).items()]
            return _FoldedEvaluator(inner, _sum if isinstance(plan, Add) else _product)
        case _:
            assert_never(plan)


class _Affine:
    """Σ coefficient·variable + constant, on balls."""

    def __init__(self, form: LinearForm) -> None:
        self.terms = [(int(symbol), to_ball(c)) for symbol, c in form.terms]
        self.constant = to_ball(form.constant)

    def at(self, places: list[B]) -> arb | B:
        total: arb | B = self.constant
        for depth, coefficient in self.terms:
            total = total + coefficient * places[depth]
        return total


def _standard(form: LinearForm | None, law: Distribution) -> _Affine | None:
    """(form - mean) / scale, rounded once."""
    if form is None:
        return None
    return _Affine(LinearForm(form.terms, form.constant - law.mean).scaled(1 / law.scale))


class _MassEvaluator:
    """F(upper) - F(lower), in standard units."""

    def __init__(self, mass: Level) -> None:
        self.law = mass.law.real
        self.lower = _standard(mass.lower, mass.law)
        self.upper = _standard(mass.upper, mass.law)
        self.sides = mass.lower_side, mass.upper_side

    def value(self, at: list[arb]) -> arb:
        below, above = self.sides
        if self.lower is None:
            return _ONE if self.upper is None else self.law.cdf(self.upper.at(at), above)
        if self.upper is None:
            return self.law.survival(self.lower.at(at), below)
        return self.law.mass(self.lower.at(at), self.upper.at(at), below, above)

    def bound(self, at: list[arb | acb]) -> arb:
        lower, upper = (
            None if end is None else Box.around(end.at(at)) for end in (self.lower, self.upper)
        )
        return self.law.mass_bound(lower, upper, *self.sides)


class _FoldedEvaluator:
    """Evaluators with numbers, put together by `_product` or `_sum`."""

    def __init__(
        self,
        items: list[tuple[NodeEvaluator, int]],
        fold: Callable[[Iterable[tuple[arb, int]]], arb],
    ) -> None:
        self.items, self.fold = items, fold

    def value(self, at: list[arb]) -> arb:
        return self.fold([(each.value(at), number) for each, number in self.items])

    def bound(self, at: list[arb | acb]) -> arb:
        return self.fold([(each.bound(at), number) for each, number in self.items]).upper()


def _sum(items: Iterable[tuple[arb, int]]) -> arb:
    return sum((count * term for term, count in items), _ZERO)


def _product(items: Iterable[tuple[arb, int]]) -> arb:
    """Π factor^exponent, exponents >= 1, by repeated squaring.

    Not `factor**exponent`: flint's power goes through the logarithm and is nan for arb(0, 1)**2.
    """
    total = _ONE
    for factor, exponent in items:
        total = total * factor if exponent & 1 else total
        while exponent := exponent >> 1:
            factor = factor * factor
            total = total * factor if exponent & 1 else total
    return total


class _NestEvaluator:
    """∫ density·body over a finite span, by quadrature."""

    def __init__(self, nest: Integral, body: Plan, effort: Effort) -> None:
        level = nest.level
        assert level.lower is not None and level.upper is not None, "not truncated"
        if level.lower_side != level.upper_side:
            raise BrokenInvariant("a nest lies on two branches of its law's density")
        self.depth = level.variable
        self.law = level.law.real
        self.side = level.lower_side
        self.lower, self.upper = _Affine(level.lower), _Affine(level.upper)
        self.mean, self.scale = to_ball(level.law.mean), to_ball(level.law.scale)
        self.breaks = [to_ball(point).mid() for point in nest.breaks]
        self.effort = effort
        inner = replace(effort, evaluations=effort.inner_evaluations)
        self.body = make_evaluator(body, inner)

    def value(self, at: list[arb]) -> arb:
        lower, upper = self.lower.at(at), self.upper.at(at)
        total = self._between(lower.mid(), upper.mid(), at)
        for end in (lower, upper):
            radius = end.rad()
            if not radius.is_zero():
                rest = radius * self._density_bound(end, list(at)) / self.scale
                total = total + arb(0, rest.upper())
        return total

    def _between(self, start: arb, stop: arb, at: list[arb]) -> arb:
        def value(x: arb) -> arb:
            self.effort.check()
            at[self.depth] = x
            return self.law.pdf((x - self.mean) / self.scale, self.side) * self.body.value(at)

        def magnitude(x: acb) -> arb:
            self.effort.check()
            return self._density_bound(x, list(at))

        marks = [start, *(point for point in self.breaks if start <= point <= stop), stop]
        parts = (integrate(value, magnitude, *ends, self.effort) for ends in pairwise(marks))
        return sum(parts, _ZERO) / self.scale

    def _density_bound(self, x: arb | acb, at: list[arb | acb]) -> arb:
        """Bound |density·scale·body| for x in a ball."""
        at[self.depth] = x
        density = self.law.pdf_bound(Box.around((x - self.mean) / self.scale), self.side)
        if not density.is_finite() or density.is_zero():
            return density
        return (density * self.body.bound(at)).upper()

    def bound(self, at: list[arb | acb]) -> arb:
        # Along the path l -> Re l -> Re u -> u; the outer pieces are upright, as long as |Im|.
        inner = list(at)
        lower, upper = self.lower.at(at), self.upper.at(at)
        low, high = (end if isinstance(end, arb) else end.real for end in (lower, upper))
        ends = [Box.around((end - self.mean) / self.scale) for end in (low, high)]
        total = self.law.mass_bound(ends[0], ends[1], self.side, self.side)
        inner[self.depth] = low.union(high)
        total = total * self.body.bound(inner)
        for end in (lower, upper):
            if isinstance(end, acb) and not end.imag.is_zero():
                height = end.imag.abs_upper()
                upright = acb(end.real, arb(0, height))
                total = total + height * self._density_bound(upright, inner) / self.scale
        return total.upper()
