"""Are recorded states what a program does? Sets of noises and inputs, compared with its runs.

They are if every run lies within the states of its output, and no two states have more than
boundaries in common: then the states of an output are together, up to a null set, the noises and
inputs that lead to it. Where inputs lie between bounds, that is enough within the bounds: what is
open at an end of an interval is open close to it, too.

Between integers a line S <= m is kept as S <= m + 1/2: there is no integer on it, and its negative
is S >= m + 1. Whether integers obey n such lines is asked as S < m + 1 / (n + 2). Integers that
obey the lines obey that. Conversely, let all lines bound an unknown or a difference of two, and let
real numbers obey that. Then no cycle of differences has a weight <= 0 (Bellman and Ford, with one
more vertex for 0). A simple cycle has k <= n lines, so the sum of its integers m is more than
-k / (n + 2) > -1, hence >= 0: distances along shortest paths are integers that obey the lines.
Half of 1 would not do: two lines could make up for what is missing.

At fixed inputs the lines are such: they bound noise, or a difference of two. Means and other inputs
in them may make them others, so what is to have integers in it, lest a certificate is called false,
is asked at fixed inputs, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from math import ceil, floor, gcd, lcm

from dipapprox.checking.facts import Line
from dipapprox.checking.real_inputs.runs import Run, Tape
from dipapprox.checking.values import Stuck
from dipapprox.data_classes import dataclass
from dipapprox.language import core
from dipapprox.limits import Limits
from dipapprox.semantics.linear import LinearForm, Symbol
from dipapprox.semantics.polyhedra import difference, has_interior

_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class StateOf:
    """A recorded state: its output, the real ones, and its lines, all <= 0."""

    output: tuple[core.Value, ...]
    shown: tuple[Line, ...]
    lines: tuple[Line, ...]


Atoms = tuple[Fraction | None, ...]
"""For each real output the number that it is whatever inputs and noise are; None for another."""


def tells_atoms(shown: Iterable[tuple[Line, ...]], tape: Tape) -> bool:
    """Whether every real output is a number that never changes, or has a density at all inputs.

    Then states that show other such numbers have nothing in common that could be seen.
    """
    return not any(law.family.is_discrete for law in tape.laws) and all(
        not line.terms or any(symbol >= tape.inputs for symbol, _ in line.terms)
        for lines in shown
        for line in lines
    )


def atoms_of(shown: Iterable[Line]) -> Atoms:
    """Return what never changes among real outputs."""
    return tuple([None if line.terms else line.constant for line in shown])


class Geometry:
    """Looks at sets of noises and inputs.

    Args:
        tape: The symbols.
        bounds: Of the inputs, None for no bounds.
        limits: Asked again and again.
    """

    def __init__(
        self, tape: Tape, bounds: Sequence[tuple[Fraction, Fraction] | None], limits: Limits
    ) -> None:
        self._limits = limits
        self._supports = [_form(line.terms, Fraction(0)) for line in tape.supports]
        self._integers = any(law.family.is_discrete for law in tape.laws)
        self._inputs = tape.inputs
        self._near: dict[Symbol, Fraction] = {
            symbol: self._closest(each) for symbol, each in enumerate(bounds)
        }
        self._bounds = [
            _form(((symbol, sign),), -sign * end)
            for symbol, each in enumerate(bounds)
            if each is not None and (self._integers or each[0] < each[1])
            for sign, end in zip((Fraction(-1), Fraction(1)), self._ends(*each), strict=True)
        ]

    def _ends(self, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
        """Between integers the bounds are moved, too."""
        return (ceil(low) - _HALF, floor(high) + _HALF) if self._integers else (low, high)

    def _closest(self, bounds: tuple[Fraction, Fraction] | None) -> Fraction:
        """Return what is closest to 0; where there is no integer, some number."""
        low, high = bounds or (Fraction(0), Fraction(0))
        if self._integers:
            low, high = Fraction(ceil(low)), Fraction(floor(high))
        return min(max(Fraction(0), low), high)

    def form(self, line: Line) -> LinearForm:
        """Return a line as a form, in a unit; between integers its constant is moved.

        Raises:
            Stuck: If it compares integers otherwise than two, or one with a number.
        """
        if not line.terms:
            return LinearForm((), line.constant)
        unit = Fraction(
            lcm(*(c.denominator for _, c in line.terms)), gcd(*(c.numerator for _, c in line.terms))
        )
        terms, constant = {s: c * unit for s, c in line.terms}, line.constant * unit
        if self._integers:
            noise = [c for s, c in terms.items() if s >= self._inputs]
            if (
                any(abs(c) != 1 for c in terms.values())
                or len(noise) > 2
                or sum(noise) not in ((0,) if len(noise) == 2 else (-1, 1))
            ):
                raise Stuck("integers are compared otherwise than two with each other")
            constant = -Fraction(floor(-constant)) - _HALF
        return _form(terms.items(), constant)

    def is_open(self, forms: Iterable[LinearForm]) -> bool:
        """Whether forms <= 0 have more than a null set in common, or an integer point.

        Between integers, at fixed inputs and for bounds and differences of two: else there may be
        no such point though the answer is yes.
        """
        self._limits.check()
        found = list(forms)
        if self._integers:
            slack = Fraction(1, len(found) + 2)
            found = [
                LinearForm(form.terms, ceil(form.constant) - slack) if form.terms else form
                for form in found
            ]
        return has_interior([*found, *self._supports])

    def _has_points(self, forms: Collection[LinearForm] | None) -> bool:
        """Whether forms <= 0 and the bounds of inputs have more than a null set in common.

        None is the empty set.

        Raises:
            Stuck: If this is asked of integers, and not clear.
        """
        if forms is None or not self.is_open(whole := [*forms, *self._bounds]):
            return False
        clear = not self._integers or all(not f.terms or difference(f) is not None for f in whole)
        if not clear and not self.is_open(form.at(self._near) for form in whole):
            raise Stuck("it is not clear whether integers lie between some lines")
        return True

    def misfit(self, runs: Sequence[Run], states: Sequence[StateOf]) -> str | None:
        """Say what is wrong with the states; None if they are what the program does."""
        forms = [frozenset(map(self.form, state.lines)) for state in states]
        for run in runs:
            wanted = frozenset(map(self.form, run.lines))
            alike = [each for state, each in zip(states, forms, strict=True) if _same(state, run)]
            if wanted not in alike and self._has_points(self._rest(wanted, alike)):
                return f"some run with the output {_text(run)} lies in no state"
        for place, one in enumerate(forms):
            for other in forms[:place]:
                opposite = any(-form in other for form in one)
                if not opposite and self._has_points(one | other):
                    return "two states have noises and inputs in common"
        return None

    def misfit_of_some(
        self,
        runs: Sequence[Run],
        states: Sequence[StateOf],
        outputs: Collection[tuple[tuple[core.Value, ...], Atoms]],
        *,
        tells: bool,
    ) -> str | None:
        """Do the same where only some outputs have states: all of these are recorded.

        No two states need be apart: that their union is what leads to the output is enough for
        lower bounds.

        Args:
            runs: Of the program.
            states: What is recorded.
            outputs: What is recorded in this case, or another.
            tells: Whether `tells_atoms`.
        """
        forms = [frozenset(map(self.form, state.lines)) for state in states]
        for run in runs:
            wanted = frozenset(map(self.form, run.lines))
            pairs = list(zip(states, forms, strict=True))
            alike = [each for state, each in pairs if _same(state, run)]
            known = (run.output, atoms_of(run.shown) if tells else ()) not in outputs
            missing = not known and wanted not in alike
            if missing and self._has_points(self._rest(wanted, alike)):
                return f"some run with the output {_text(run)} lies in no state"
            for state, each in pairs:
                if not _same(state, run):
                    opposite = any(-form in each for form in wanted)
                    if not opposite and self._has_points(wanted | each):
                        return f"a state has runs with the output {_text(run)}"
        return None

    def _rest(
        self, part: frozenset[LinearForm], states: Sequence[frozenset[LinearForm]]
    ) -> frozenset[LinearForm] | None:
        """Return a part of a set that lies in none of some others; None if that is a null set."""
        if not self.is_open([*part, *self._bounds]):
            return None
        for place, state in enumerate(states):
            if self.is_open(part | state):
                inside = part
                for form in state - part:
                    rest = self._rest(inside | {-form}, states[place + 1 :])
                    if rest is not None:
                        return rest
                    inside |= {form}
                return None
        return part


def _form(terms: Iterable[tuple[int, Fraction]], constant: Fraction) -> LinearForm:
    found: dict[Symbol, Fraction] = {}
    found.update(terms)
    return LinearForm.of(found, constant)


def _same(state: StateOf, run: Run) -> bool:
    """Whether a run publishes what a state does."""
    return (state.output, state.shown) == (run.output, run.shown)


def _text(run: Run) -> str:
    return ", ".join([*map(str, run.output), *("a number" for _ in run.shown)])
