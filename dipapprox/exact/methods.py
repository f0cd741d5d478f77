"""The methods `exact`: events in, closed forms evaluated to any width out.

Closed forms are functions of a formal ε', taken at 1 in balls; exact rationals come out as points.
Both methods remember closed forms: more bits cost an evaluation only.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.cache import Cache
from dipapprox.data_classes import replace
from dipapprox.events.event import Chosen, Connected, Event, Mixture, spelled_out
from dipapprox.exact.choices.circuits import enclose_choices
from dipapprox.exact.closed_forms import EventForms
from dipapprox.exact.laplace import polyhedra
from dipapprox.exact.laplace.engine import LaplaceIntegrals
from dipapprox.exact.signs.values import enclose_at
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.limits import Limits
from dipapprox.numerics.kinds import is_laplace_type
from dipapprox.numerics.methods import Answers

_NAME = "exact"


class Exact:
    """Everything that has a closed form, at whatever cost."""

    name = _NAME

    def __init__(self) -> None:
        self._forms = EventForms()

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] one by one, choices of one program together; see `Method.enclose`."""
        chosen = enclose_choices([e for e in events if isinstance(e, Chosen)], bits, limits)
        return Answers.of(
            [
                chosen[event] if isinstance(event, Chosen) else self._enclose(event, bits, limits)
                for event in events
            ]
        )

    def _enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        limits.check()
        form = self._forms.closed_form_of(event, limits)
        return form if isinstance(form, NotEnclosed) else _value(form, bits, limits)


_SHALLOW = 3
"""Quadrature nests of so many samples end within seconds; deeper ones rarely end."""

_PIECES = 2_000
"""Most pieces of shallow events: a few seconds of work. Deeper ones may have all there may be."""

_REMEMBERED = 10_000
"""Most events whose closed forms are kept."""


class BoundedIntegration:
    """Laplace-type events of any guards, as far as the work is bounded: before quadrature."""

    name = _NAME

    def __init__(self) -> None:
        self._forms: Cache[Event, ExponentialPolynomial] = Cache(_REMEMBERED)
        self._failures: list[tuple[int, int]] = []  # samples, guards

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] one by one; see `Method.enclose`."""
        return Answers.of([self._enclose(event, bits, limits) for event in events])

    def _enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        if isinstance(event, Chosen | Mixture) or not is_laplace_type(event):
            return NotEnclosed("not all samples are of Laplace type")
        form = self._form(spelled_out(event), limits)
        return form if isinstance(form, NotEnclosed) else _value(form, bits, limits)

    def _form(self, event: Event, limits: Limits) -> ExponentialPolynomial | NotEnclosed:
        """Return the closed form as a function of ε', to be taken at 1."""
        known = self._forms.get(event)
        if known is not None:
            return known
        size = len(event.samples), len(event.guards)
        if any(size[0] >= samples and size[1] >= guards for samples, guards in self._failures):
            return NotEnclosed("not tried, a component no larger was too much work")
        pieces = _PIECES if size[0] <= _SHALLOW else limits.pieces
        form = polyhedra.integrate(event, replace(limits, pieces=min(pieces, limits.pieces)))
        if isinstance(form, NotEnclosed):
            self._failures.append(size)
            return form
        return self._forms.put(event, form)


class LaplaceSums:
    """Laplace-type events that reduce to comparisons of sums: before doubles, which take longer."""

    name = _NAME

    def __init__(self) -> None:
        self._integrals = LaplaceIntegrals()

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] one by one; see `Method.enclose`."""
        return Answers.of([self._enclose(event, bits, limits) for event in events])

    def _enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        limits.check()
        if isinstance(event, Chosen | Mixture):
            return NotEnclosed("not all samples are of Laplace type")
        form = self._integrals.closed_form(spelled_out(event), limits, sums_only=True)
        return form if isinstance(form, NotEnclosed) else _value(form, bits, limits)


def _value(
    form: ExponentialPolynomial | ExponentialRatio, bits: int, limits: Limits
) -> Enclosure | NotEnclosed:
    found = enclose_at(form, Fraction(1), bits, limits)
    return found if isinstance(found, NotEnclosed) else found.intersect(UNIT, _NAME)
