"""Guards to normalised nested integrals (DiPApprox section 6, Lemma 2, made exact).

The domain of an event is cut into finitely many disjoint pieces on which, for a given order of
integration, every variable has one lower and one upper affine bound: the innermost variable is
eliminated first, every choice of active bounds is a piece, and the choice becomes a constraint on
the variables further out (Fourier-Motzkin elimination as a decomposition). Pieces of measure zero
are recognised exactly and never appear.

Laplace densities have a kink at their mean, one-sided ones a jump. A variable with others inside
its integral is split there, and a side without mass dropped; the innermost of its branch needs no
split, only to know on which side its bounds lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from dipapprox.data_classes import dataclass
from dipapprox.events.event import Event
from dipapprox.integrals.integral import Level, NestedIntegral
from dipapprox.limits import Limits
from dipapprox.linear.active_bounds import Bound, active, solved_for
from dipapprox.linear.form import LinearForm
from dipapprox.linear.half_spaces import has_interior, implies

_BELOW, _ABOVE = -1, 1

Buckets = Mapping[int, tuple[LinearForm, ...]]
"""Constraints form <= 0, under the position of their innermost variable."""


@dataclass(frozen=True, slots=True)
class _Partial:
    """A piece under construction: the variables before `position` are still to be eliminated."""

    position: int
    constraints: Buckets
    levels: tuple[Level, ...]
    mentioned: frozenset[int]  # variables in the bounds of `levels`


def build_integrals(
    event: Event, order: Sequence[int], limits: Limits, *, literal: bool = False
) -> tuple[NestedIntegral, ...]:
    """Decompose an event into disjoint normalised nested integrals.

    Args:
        order: All variables of the event, outermost first.
        literal: Whether the levels will be nested literally in this order. Then only the last
            one is a leaf; otherwise every variable that no inner bound mentions is.

    Returns:
        Pieces whose domains are disjoint up to measure zero and cover the event's, except where
        a one-sided density is 0. On a piece's domain lower <= upper at every level, and the sides
        are as `Level` says.
    """
    builder = _Builder(event, tuple(order), literal)
    done: list[NestedIntegral] = []
    todo = [builder.start()]
    while todo:
        limits.check()
        piece = todo.pop()
        if piece.position == 0:
            done.append(NestedIntegral(event, piece.levels))
        else:
            todo.extend(builder.eliminate(piece))
        limits.check_pieces(len(done) + len(todo))
    return tuple(done)


class _Builder:
    """The elimination step for one event and order."""

    def __init__(self, event: Event, order: tuple[int, ...], literal: bool) -> None:
        self._event = event
        self._order = order
        self._position = {variable: k for k, variable in enumerate(order)}
        self._literal = literal

    def start(self) -> _Partial:
        """The piece that is the whole event."""
        buckets: dict[int, tuple[LinearForm, ...]] = {}
        for guard in self._event.guards:
            form = guard.normalised()
            place = self._place(form)
            buckets[place] = (*buckets.get(place, ()), form)
        return _Partial(len(self._order), buckets, (), frozenset())

    def eliminate(self, piece: _Partial) -> Iterator[_Partial]:
        """Yield the pieces in which the innermost variable left has one bound on either side."""
        position = piece.position - 1
        variable = self._order[position]
        constraints = dict(piece.constraints)
        lowers, uppers = solved_for(variable, constraints.pop(position, ()))
        law = self._event.samples[variable]
        mean = LinearForm.constant_form(law.mean)
        kinked = law.real.has_kink
        has_body = variable in piece.mentioned or (self._literal and bool(piece.levels))
        if not (kinked and has_body):
            for lower, upper, outer in active(lowers, uppers):
                for assumed in self._assume(constraints, outer):
                    if kinked:
                        yield from self._with_sides(piece, assumed, lower, upper, mean)
                    else:
                        yield self._grown(piece, assumed, Level(variable, lower, upper))
            return
        for side in law.family.sides:
            below = _with_bound(uppers, mean) if side == _BELOW else uppers
            above = _with_bound(lowers, mean) if side == _ABOVE else lowers
            for lower, upper, outer in active(above, below):
                for assumed in self._assume(constraints, outer):
                    level = Level(variable, lower, upper, side, side)
                    yield self._grown(piece, assumed, level)

    def _with_sides(
        self, piece: _Partial, constraints: Buckets, lower: Bound, upper: Bound, mean: LinearForm
    ) -> Iterator[_Partial]:
        """Split a leaf's domain by the sides of the mean on which its bounds lie."""
        variable = self._order[piece.position - 1]
        choices = product(_sides(lower, mean, _BELOW), _sides(upper, mean, _ABOVE))
        for (lower_side, low), (upper_side, up) in choices:
            for assumed in self._assume(constraints, [*low, *up]):
                level = Level(variable, lower, upper, lower_side, upper_side)
                yield self._grown(piece, assumed, level)

    def _grown(self, piece: _Partial, constraints: Buckets, level: Level) -> _Partial:
        mentioned = piece.mentioned | level.mentioned
        return _Partial(piece.position - 1, constraints, (level, *piece.levels), mentioned)

    def _assume(self, constraints: Buckets, forms: Iterable[LinearForm]) -> Iterator[Buckets]:
        """Yield the constraints with form <= 0 added for all forms; nothing if none is left."""
        result = dict(constraints)
        for raw in forms:
            if raw.is_constant:
                if raw.constant >= 0:
                    return
                continue
            form = raw.normalised()
            place = self._place(form)
            bucket = result.get(place, ())
            if form in bucket:
                continue
            known = [other for forms_here in result.values() for other in forms_here]
            if not has_interior([*known, form]):
                return
            if not implies(known, form):
                result[place] = (*bucket, form)
        yield result

    def _place(self, form: LinearForm) -> int:
        return max(self._position[sample] for sample in form.samples())


def _with_bound(bounds: tuple[LinearForm, ...], extra: LinearForm) -> tuple[LinearForm, ...]:
    return bounds if extra in bounds else (*bounds, extra)


def _sides(
    bound: Bound, mean: LinearForm, infinite: int
) -> tuple[tuple[int, tuple[LinearForm, ...]], ...]:
    """Return the sides of `mean` a bound may lie on, each with the constraint that says so."""
    if bound is None:
        return ((infinite, ()),)
    offset = bound - mean
    if offset.is_constant:
        return ((_BELOW if offset.constant <= 0 else _ABOVE, ()),)
    return ((_BELOW, (offset,)), (_ABOVE, (-offset,)))
