"""Inputs at which a final state has a positive probability; 0 for all where that will do.

Inputs may lie between bounds. A state that is possible at an end of an interval is possible close
to it, too: so bounds are asked for as guards. An interval of one point has nothing inside: it is no
guard, and a state may then count as possible that is not. So are bounds where a state compares real
samples beside integer ones.

For real samples a state needs an open set of them. For integer samples, in guards that bound a
sample, a difference of two, or one of a sample and an input, it needs an integer point: such guards
are a totally unimodular system, so with integer bounds some vertex is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil, floor

from dipapprox.language.core import Cell
from dipapprox.limits import Limits
from dipapprox.linear.differences import potentials
from dipapprox.linear.form import LinearForm, Symbol, difference
from dipapprox.linear.half_spaces import has_interior, implies, nearest_point
from dipapprox.semantics.integers import coprime
from dipapprox.semantics.path_ends import supports
from dipapprox.semantics.real_inputs import NotReal, bounds_of
from dipapprox.semantics.state import Guard, Sample

_HALVINGS = 200
"""Of the slack that an open set is asked for; its ends have so many binary digits at most."""


class PossibleInputs:
    """Finds inputs that make states possible.

    Args:
        samples: Of all states.
        inputs: The input cells.
        limits: Asked again and again.
    """

    def __init__(self, samples: Sequence[Sample], inputs: Sequence[Cell], limits: Limits) -> None:
        names = [cell.name for cell in inputs]
        self._samples, self._inputs, self._limits = samples, names, limits
        # An input is one more unknown number.
        self._unknowns: dict[Symbol, LinearForm] = {
            name: LinearForm.symbol(len(samples) + k) for k, name in enumerate(names)
        }
        self._integers = any(sample.family.is_discrete for sample in samples)
        intervals = {
            cell.name: bounds
            for cell in inputs
            if (bounds := bounds_of(cell.domain, self._integers)) is not None
        }
        # What is closest to 0.
        self._zeros: dict[Symbol, Fraction] = {
            name: _closest(Fraction(0), intervals.get(name)) for name in names
        }
        self._bounds = [
            side
            for name, (lo, hi) in intervals.items()
            if lo < hi
            for q in (LinearForm.symbol(name),)
            for side in (LinearForm.constant_form(lo) - q, q - LinearForm.constant_form(hi))
        ]

    def of(self, guards: Sequence[Guard]) -> tuple[Fraction, ...] | None:
        """Return such inputs for a state with these guards; None if it is null for all.

        Raises:
            NotReal: If integer samples are in guards of another shape, or no inputs were found.
        """
        integer = [coprime(guard.form) for guard in guards if self._is_integer(guard)]
        real = [guard for guard in guards if not self._is_integer(guard)]
        forms = [guard.form for guard in (*real, *supports(real, self._samples))]
        for form in integer:
            if sorted(c for _, c in form.terms) not in ([-1], [1], [-1, 1]):
                raise NotReal(
                    "integer samples are compared otherwise than two with each other or one with "
                    "a number or an input"
                )
        bounds = [LinearForm(form.terms, Fraction(ceil(form.constant))) for form in integer]
        zeros = self._zeros
        if has_interior(form.at(zeros) for form in forms) and _has_point(
            f.at(zeros) for f in bounds
        ):
            return tuple([self._zeros[name] for name in self._inputs])
        if not self._integers:
            forms += self._bounds
        elif not real:
            bounds += self._bounds
        forms = [form.substitute(self._unknowns) for form in forms]
        bounds = [form.substitute(self._unknowns) for form in bounds]
        if not has_interior(forms) or not _has_point(bounds):
            return None
        return self._found(forms, bounds)

    def telling(self, guards: Sequence[Guard]) -> list[Guard]:
        """Return guards without those that hold whatever real inputs and samples are."""
        if self._integers or not self._bounds:
            return list(guards)
        sides = supports(guards, self._samples)
        whole = [*(each.form for each in sides), *self._bounds]
        whole = [form.substitute(self._unknowns) for form in whole]
        return [each for each in guards if not implies(whole, each.form.substitute(self._unknowns))]

    def _is_integer(self, guard: Guard) -> bool:
        return self._samples[guard.form.samples()[0]].family.is_discrete

    def _found(
        self, forms: Sequence[LinearForm], bounds: Sequence[LinearForm]
    ) -> tuple[Fraction, ...]:
        unknowns = range(len(self._samples) + len(self._inputs))
        slack = Fraction(1)
        for _ in range(_HALVINGS):
            inner = [LinearForm(form.terms, form.constant + slack) for form in forms]
            found = nearest_point([*inner, *bounds], unknowns, self._limits)
            if found is not None:
                return self._checked([found[k] for k in unknowns[len(self._samples) :]])
            slack /= 2
        raise NotReal("no inputs were found that make an output possible")

    def _checked(self, inputs: Sequence[Fraction]) -> tuple[Fraction, ...]:
        if self._integers and any(each.denominator != 1 for each in inputs):
            raise NotReal("no integer inputs were found that make an output possible")
        return tuple(inputs)


def _closest(number: Fraction, bounds: tuple[Fraction, Fraction] | None) -> Fraction:
    return number if bounds is None else min(max(number, bounds[0]), bounds[1])


def _has_point(bounds: Iterable[LinearForm]) -> bool:
    """Whether integers obey integer bounds of unknowns and differences."""
    found = [each for each in map(difference, bounds) if each is not None]
    return potentials([(u, v, floor(w)) for u, v, w in found], 0) is not None
