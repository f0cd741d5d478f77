"""Pure budgets of pairs by couplings: what moving the noise of each final state costs, exactly.

**Theorem.** Let a final state of u be given another one of u', with samples of the same laws but
for their means, the same needs of random choices and the same finite outputs. Move its samples x to
x + d, taken for the samples of the other, so that every guard of the other holds at u', and every
real output is what it was. If x + d, about the means at u', is t further from them than x from its
means at u, no density falls by more than the factor e^K, K = Σ |t_i| / b_i for Laplace noise of
scales b_i; one-sided noise may move away from its end only, other noise not at all (t_i = 0). The
move is one to one and keeps volumes, so

    Pr_u[state, outputs in S]  <=  e^K Pr_u'[the other state, outputs in S]     for all sets S,

and, as no two states of u are given the same one, no set is more than e^K times as likely at u, K
being the largest.

A state of both inputs is given itself. Those that conditions on the inputs let u alone have are
given the first ones that only u' has that will do.

**Theorem (real inputs).** Let the final states have no conditions on the inputs, and no two guards
of one state the same direction. Then the bounds of the inequalities for t are affine in u' - u: of
moves for two differences, a mean serves the mean of these, and costs at most the mean of what they
cost. So what is enough for the vertices of a polytope of differences is enough for all of it.

The cheapest move is a linear programme; what comes out is checked by the inequalities themselves.
Not every pure budget is found so: moves that leave a state of both inputs are not tried. What moves
are possible does not depend on eps: only their prices do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from dipapprox.errors import BrokenInvariant
from dipapprox.events.instantiate import Instantiator
from dipapprox.laws.distribution import Distribution
from dipapprox.limits import check_limits
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.linear.programme import SIDES, LinearProgramme, Optimum, UnknownSide
from dipapprox.pairs.selections import Pair
from dipapprox.semantics.state import FinalState, FinalStates, Reading, guards_of

_ZERO = Fraction(0)
Moves = tuple[Mapping[int, Fraction], ...]
"""For each final state of an input by how much which samples are moved further, beside their means:
t, in the order of the states."""


class Couplings:
    """Couplings between inputs of one program.

    Args:
        states: The final states, inputs symbolic.
        eps: Where moves are to be cheap.
    """

    def __init__(self, states: FinalStates, eps: Fraction) -> None:
        self._states = states
        self._eps = eps
        self._instantiator = Instantiator(states, eps)
        self._named: dict[int, list[int]] = {}

    def budget(self, pair: Pair) -> Fraction | None:
        """Return a K such that no set is more than e^K times as likely at u as at u'; None if some
        state has no move of a finite price that is found."""
        moves = self.moves(pair)
        return None if moves is None else self.price(moves, self._eps)

    def budget_between(self, vertices: Iterable[Pair]) -> Fraction | None:
        """Return a budget of all pairs whose differences are between those of some pairs.

        None if none is found, or there may be none: see the theorem about real inputs.
        """
        states = self._states
        told = states.comparisons or any(isinstance(each, Reading) for each in states.choices)
        if told or any(each.conditions or _share_direction(each) for each in states.states):
            return None
        found = [self.budget(pair) for pair in vertices]
        return None if None in found else max(filter(None, found), default=_ZERO)

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
        here, there = map(list, map(self._instantiator.admitted, pair, numbers))
        laws = [self._instantiator.laws(each) for each in numbers]
        both = set(here) & set(there)
        free = [place for place in there if place not in both]
        found = []
        for place in here:
            check_limits()
            for target in [place] if place in both else free:
                shift = self._move(place, target, numbers, laws)
                if shift is not None:
                    break
            else:
                return None
            if place not in both:
                free.remove(target)
            found.append(shift)
        return tuple(found)

    def _move(
        self,
        place: int,
        target: int,
        numbers: Sequence[Mapping[Symbol, Fraction]],
        laws: Sequence[Sequence[Distribution]],
    ) -> dict[int, Fraction] | None:
        """Return the cheapest move of a state of u into one of u'; None if none is found."""
        check_limits()
        state, other = self._states.states[place], self._states.states[target]
        own = self._samples(place)
        partner = self._matched(place, target)
        if partner is None:
            return None
        back: dict[Symbol, Symbol] = {theirs: ours for ours, theirs in partner.items()}
        moved = {s: laws[1][partner[s]].mean - laws[0][s].mean for s in own}
        rows = _rows(_forms(state, numbers[0], {}), _forms(other, numbers[1], back), moved)
        if rows is None:
            return None
        rates: dict[int, Fraction | None] = {}
        sides: dict[int, UnknownSide] = {}
        for s in own:
            law = laws[0][s]
            priced = bool(law.family.shifts) and not law.family.is_discrete
            rates[s] = 1 / law.scale if priced else None
            sides[s] = SIDES[law.family.shifts] if priced else UnknownSide.ANY
        table = [[(int(s), c) for s, c in form.terms] for form, _ in rows]
        programme = LinearProgramme(table, rates, sides)
        found = programme.solve([bound for _, bound in rows])
        if not isinstance(found, Optimum):
            return None
        _check(found.shift, rows, rates, sides)
        return {sample: t for sample, t in found.shift.items() if t}

    def _matched(self, place: int, target: int) -> dict[int, int] | None:
        """For the samples of a state those of another one in their order; None if these states
        differ in more than means, guards and published numbers."""
        state, other = self._states.states[place], self._states.states[target]
        if place != target and (
            tuple(state.outputs) != tuple(other.outputs)
            or self._instantiator.chosen(place) != self._instantiator.chosen(target)
        ):
            return None
        ours, theirs = self._samples(place), self._samples(target)
        samples = self._states.samples
        kinds = [[(samples[s].family, samples[s].scale) for s in each] for each in (ours, theirs)]
        return dict(zip(ours, theirs, strict=True)) if kinds[0] == kinds[1] else None

    def _samples(self, place: int) -> list[int]:
        """Those that guards and real outputs of a state mention, ascending; remembered."""
        if place not in self._named:
            state = self._states.states[place]
            forms = (*(guard.form for guard in guards_of(state.path)), *state.reals)
            self._named[place] = sorted({sample for form in forms for sample in form.samples()})
        return self._named[place]


_Forms = tuple[list[LinearForm], list[LinearForm]]  # guards, and real outputs, at one input


def _share_direction(state: FinalState) -> bool:
    """Whether two guards of a state bound the same combination of samples on the same side."""
    guards = [
        [(s, c) for s, c in guard.form.terms if isinstance(s, int)]
        for guard in guards_of(state.path)
    ]
    found = {LinearForm(tuple(terms), _ZERO).normalised().terms for terms in guards}
    return len(found) < len(guards)


def _forms(
    state: FinalState, numbers: Mapping[Symbol, Fraction], names: Mapping[Symbol, Symbol]
) -> _Forms:
    def at(form: LinearForm) -> LinearForm:
        own = form.at(numbers)
        return own.renamed(names.__getitem__) if names else own

    return [at(guard.form) for guard in guards_of(state.path)], [at(form) for form in state.reals]


def _rows(
    here: _Forms, there: _Forms, moved: Mapping[int, Fraction]
) -> list[tuple[LinearForm, Fraction]] | None:
    """Return what shifts have to obey, form(t) <= bound; None if some guard of the other state
    follows from no single one of the state, or other noise is published."""
    known: dict[tuple[tuple[Symbol, Fraction], ...], Fraction] = {}
    for form in here[0]:
        unit = form.normalised()
        known[unit.terms] = max(unit.constant, known.get(unit.terms, unit.constant))
    rows = []
    for form in there[0]:
        unit = form.normalised()
        if unit.terms not in known:
            return None
        # Σ c x <= -known, and Σ c (x + d) + constant <= 0 is to follow.
        rows.append(_row(unit, known[unit.terms], moved))
    for own, other in zip(here[1], there[1], strict=True):
        if own.terms != other.terms:
            return None
        noise, bound = _row(other, own.constant, moved)
        rows += [(noise, bound), (-noise, -bound)]
    return rows


def _row(
    form: LinearForm, before: Fraction, moved: Mapping[int, Fraction]
) -> tuple[LinearForm, Fraction]:
    """A form at u' and x + d is at most Σ c x + `before`, its value at u, if noise(t) <= bound."""
    change = form.constant - before
    change += sum((c * moved[s] for s, c in form.terms if isinstance(s, int)), _ZERO)
    return LinearForm(form.terms, _ZERO), -change


def _check(
    shift: Mapping[int, Fraction],
    rows: Sequence[tuple[LinearForm, Fraction]],
    rates: Mapping[int, Fraction | None],
    sides: Mapping[int, UnknownSide],
) -> None:
    """Check that form(t) <= bound in every row, and what else t has to be: then Σ rate |t| is what
    it costs."""
    values: dict[Symbol, Fraction] = dict(shift.items())
    right = all(form.at(values).constant <= bound for form, bound in rows)
    for sample, t in shift.items():
        right = right and (rates[sample] is not None or not t)
        right = right and not (sides[sample] is UnknownSide.AT_LEAST_ZERO and t < 0)
        right = right and not (sides[sample] is UnknownSide.AT_MOST_ZERO and t > 0)
    if not right:
        raise BrokenInvariant("a shift of the noise does not keep a final state")
