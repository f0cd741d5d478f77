"""Pure budgets of pairs by couplings: what moving the noise of each final state costs, exactly.

**Theorem.** Let a final state exist at u and at u', and move its samples from x to x + d so that
every guard that holds at u holds at u', and every real output is what it was. If x + d, about its
means at u', is t further from them than x from its means at u, no density falls by more than the
factor e^K, K = Σ |t_i| / b_i for Laplace noise of scales b_i; one-sided noise may move away from
its end only, other noise not at all (t_i = 0). The move is one to one and keeps volumes, so

    Pr_u[state, outputs in S]  <=  e^K Pr_u'[state, outputs in S]           for all sets S,

and, summed over the states at u, no set is more than e^K times as likely at u, K being the largest.

The cheapest move is a linear programme; what comes out is checked by the inequalities themselves.
Not every pure budget is found so: moves that lead from one state into another are not tried. What
moves are possible does not depend on eps: only their prices do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm

from dipapprox.distributions import Family
from dipapprox.errors import BrokenInvariant
from dipapprox.events.instantiate import Instantiator, holds
from dipapprox.language.core import Value
from dipapprox.limits import Limits
from dipapprox.linear_programme import LinearProgramme, Optimum, Side
from dipapprox.pairs.adjacency import Pair
from dipapprox.semantics.linear import LinearForm, Symbol
from dipapprox.semantics.state import FinalState, FinalStates, guards_of

_ZERO = Fraction(0)

_SIDES = {
    Family.LAPLACE: Side.ANY,
    Family.EXPONENTIAL: Side.AT_LEAST_ZERO,
    Family.REFLECTED_EXPONENTIAL: Side.AT_MOST_ZERO,
}
"""Where the shifts of noise with a finite price may lie."""


Moves = tuple[Mapping[int, Fraction], ...]
"""For each final state of an input by how much which samples are moved further, beside their means:
t, in the order of the states."""


class Couplings:
    """Couplings between inputs of one program.

    Args:
        states: The final states, inputs symbolic.
        eps: Where moves are to be cheap.
        limits: Asked throughout.
    """

    def __init__(self, states: FinalStates, eps: Fraction, limits: Limits) -> None:
        self._states = states
        self._limits = limits
        self._eps = eps
        self._instantiator = Instantiator(states, eps)
        self._cells = tuple(cell.name for cell in states.program.inputs)

    def budget(self, pair: Pair) -> Fraction | None:
        """Return a K such that no set is more than e^K times as likely at u as at u'.

        None if no state's move is found, or none has a finite price.
        """
        moves = self.moves(pair)
        return None if moves is None else self.price(moves, self._eps)

    def price(self, moves: Moves, eps: Fraction) -> Fraction:
        """Return what moves cost at an eps: a budget there. Between two of them it is below its
        chord, being a largest sum of multiples of 1/eps, 1 and eps."""
        costs = (
            sum((abs(t) / self._states.samples[s].scale.at(eps) for s, t in own.items()), _ZERO)
            for own in moves
        )
        return max(costs, default=_ZERO)

    def moves(self, pair: Pair) -> Moves | None:
        """Return the moves that keep all states of u; None if some state has none."""
        numbers = [self._instantiator.numbers(input) for input in pair]
        values: list[dict[str, Value]] = [
            dict(zip(self._cells, input, strict=True)) for input in pair
        ]
        laws = [self._instantiator.laws(each) for each in numbers]
        rates: list[Fraction | None] = [
            1 / law.scale if law.family in _SIDES else None for law in laws[0]
        ]
        moved = [other.mean - law.mean for law, other in zip(*laws, strict=True)]
        sides = [_SIDES.get(law.family, Side.ANY) for law in laws[0]]
        found = []
        for state in self._states.states:
            self._limits.check()
            here, there = (
                all(holds(each, value, number) for each in state.conditions)
                for value, number in zip(values, numbers, strict=True)
            )
            if not here:
                continue
            if not there:
                return None
            rows = _rows(state, numbers, moved)
            shift = self._cheapest(rows, rates, sides)
            if shift is None:
                return None
            found.append(shift)
        return tuple(found)

    def _cheapest(
        self,
        rows: Sequence[tuple[LinearForm, Fraction]],
        rates: Sequence[Fraction | None],
        sides: Sequence[Side],
    ) -> dict[int, Fraction] | None:
        """Return t with form(t) <= bound in every row and the least Σ rate |t|; None if there is
        none."""
        unknowns = sorted({sample for form, _ in rows for sample in form.samples()})
        local = {sample: k for k, sample in enumerate(unknowns)}
        own = [rates[sample] for sample in unknowns]
        unit = Fraction(1, lcm(*(rate.denominator for rate in own if rate is not None)))
        table, right = [], []
        for form, bound in rows:
            scale = lcm(bound.denominator, *(c.denominator for _, c in form.terms))
            terms = [(s, c) for s, c in form.terms if isinstance(s, int)]
            table.append({local[s]: int(c * scale) for s, c in terms})
            right.append(int(bound * scale))
        programme = LinearProgramme(
            table,
            [None if rate is None else int(rate / unit) for rate in own],
            [sides[sample] for sample in unknowns],
            self._limits,
        )
        found = programme.solve(right)
        if not isinstance(found, Optimum):
            return None
        shift = dict(zip(unknowns, found.shift, strict=True))
        _check(shift, rows, rates, sides)
        return {sample: t for sample, t in shift.items() if t}


def _rows(
    state: FinalState,
    numbers: Sequence[dict[int | str, Fraction]],
    moved: Sequence[Fraction],
) -> list[tuple[LinearForm, Fraction]]:
    """Return what shifts have to obey: form(t) <= bound."""
    rows = []
    for guard in guards_of(state.path):
        rows.append(_row(guard.form, numbers, moved))
    for form in state.reals:
        noise, bound = _row(form, numbers, moved)
        rows += [(noise, bound), (-noise, -bound)]
    return rows


def _row(
    form: LinearForm, numbers: Sequence[dict[int | str, Fraction]], moved: Sequence[Fraction]
) -> tuple[LinearForm, Fraction]:
    """form at u' and x + d minus form at u and x is noise(t) - bound."""
    here, there = (form.at(each) for each in numbers)
    change = there.constant - here.constant
    change += sum((c * moved[s] for s, c in here.terms if isinstance(s, int)), Fraction(0))
    return LinearForm(here.terms, Fraction(0)), -change


def _check(
    shift: dict[int, Fraction],
    rows: Sequence[tuple[LinearForm, Fraction]],
    rates: Sequence[Fraction | None],
    sides: Sequence[Side],
) -> None:
    """Check that shifts are what they have to be: then their price is what they cost.

    Raises:
        BrokenInvariant: If not.
    """
    values: dict[Symbol, Fraction] = dict(shift.items())
    right = all(form.at(values).constant <= bound for form, bound in rows)
    for sample, t in shift.items():
        right = right and (rates[sample] is not None or not t)
        right = right and not (sides[sample] is Side.AT_LEAST_ZERO and t < 0)
        right = right and not (sides[sample] is Side.AT_MOST_ZERO and t > 0)
    if not right:
        raise BrokenInvariant("a shift of the noise does not keep a final state")
