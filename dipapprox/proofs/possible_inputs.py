"""Inputs at which a final state has a positive probability; 0 for all where that will do.

For real samples a state needs an open set of them. For integer samples, in guards that bound a
sample, a difference of two, or one of a sample and an input, it needs an integer point: such guards
are a totally unimodular system, so with integer bounds some vertex is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil, lcm

from dipapprox.limits import Limits
from dipapprox.linear_programme import LinearProgramme, Optimum, Side
from dipapprox.semantics.integers import coprime
from dipapprox.semantics.linear import LinearForm, Symbol
from dipapprox.semantics.path_ends import supports
from dipapprox.semantics.polyhedra import has_interior
from dipapprox.semantics.real_inputs import NotReal
from dipapprox.semantics.state import Guard, Sample

_HALVINGS = 200
"""Of the slack that an open set is asked for; its ends have so many binary digits at most."""


class PossibleInputs:
    """Finds inputs that make states possible.

    Args:
        samples: Of all states.
        inputs: The names of the input cells.
        limits: Asked again and again.
    """

    def __init__(self, samples: Sequence[Sample], inputs: Sequence[str], limits: Limits) -> None:
        self._samples, self._inputs, self._limits = samples, tuple(inputs), limits
        # An input is one more unknown number.
        self._unknowns: dict[Symbol, LinearForm] = {
            name: LinearForm.symbol(len(samples) + k) for k, name in enumerate(inputs)
        }
        self._zeros: dict[Symbol, Fraction] = {name: Fraction(0) for name in inputs}

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
            return (Fraction(0),) * len(self._inputs)
        forms = [form.substitute(self._unknowns) for form in forms]
        bounds = [form.substitute(self._unknowns) for form in bounds]
        if not has_interior(forms) or not _has_point(bounds):
            return None
        return self._found(forms, bounds)

    def _is_integer(self, guard: Guard) -> bool:
        return self._samples[guard.form.samples()[0]].family.is_discrete

    def _found(
        self, forms: Sequence[LinearForm], bounds: Sequence[LinearForm]
    ) -> tuple[Fraction, ...]:
        count = len(self._samples) + len(self._inputs)
        whole = [*forms, *bounds]
        scales = [lcm(*(c.denominator for _, c in form.terms)) for form in whole]
        rows = [
            {int(s): int(c * scale) for s, c in form.terms}
            for form, scale in zip(whole, scales, strict=True)
        ]
        programme = LinearProgramme(rows, (1,) * count, (Side.ANY,) * count, self._limits)
        slack = Fraction(1)
        for _ in range(_HALVINGS):
            sides = [
                -(form.constant + (slack if k < len(forms) else 0)) * scale
                for k, (form, scale) in enumerate(zip(whole, scales, strict=True))
            ]
            common = lcm(*(side.denominator for side in sides))
            found = programme.solve([int(side * common) for side in sides])
            if isinstance(found, Optimum):
                return self._checked([x / common for x in found.shift[len(self._samples) :]])
            slack /= 2
        raise NotReal("no inputs were found that make an output possible")

    def _checked(self, inputs: Sequence[Fraction]) -> tuple[Fraction, ...]:
        discrete = any(sample.family.is_discrete for sample in self._samples)
        if discrete and any(each.denominator != 1 for each in inputs):
            raise NotReal("no integer inputs were found that make an output possible")
        return tuple(inputs)


def _has_point(bounds: Iterable[LinearForm]) -> bool:
    """Whether integers obey integer bounds of unknowns and differences.

    They do if all cycles of differences have weight >= 0, which is the same for integer weights as
    > -1; and that is asked with an interior.
    """
    forms = list(bounds)
    slack = Fraction(1, len(forms) + 2)
    return has_interior(LinearForm(form.terms, form.constant - slack) for form in forms)
