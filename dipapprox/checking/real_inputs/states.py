"""Are recorded states what a program does? Sets of noises and inputs, compared with its runs.

They are if every run lies within the states of its output, and no two states have more than
boundaries in common: then the states of an output are together, up to a null set, the noises and
inputs that lead to it. Where inputs lie between bounds, that is enough within the bounds: what is
open at an end of an interval is open close to it, too. Between integers a line S <= m is
S <= m + 1/2: there is no integer on it.
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
from dipapprox.semantics.polyhedra import has_interior

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
        self._bounds = [
            _form(((symbol, sign),), -sign * end)
            for symbol, each in enumerate(bounds)
            if each is not None and each[0] < each[1]
            for sign, end in zip((Fraction(-1), Fraction(1)), self._ends(*each), strict=True)
        ]

    def _ends(self, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
        """Between integers the bounds are moved, too."""
        return (ceil(low) - _HALF, floor(high) + _HALF) if self._integers else (low, high)

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
            # Differences of samples and inputs: then integers obey them if real numbers do.
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
        """Whether forms <= 0 have more than a null set in common."""
        self._limits.check()
        return has_interior([*forms, *self._supports])

    def misfit(self, runs: Sequence[Run], states: Sequence[StateOf]) -> str | None:
        """Say what is wrong with the states; None if they are what the program does."""
        forms = [frozenset(map(self.form, state.lines)) for state in states]
        for run in runs:
            wanted = frozenset(map(self.form, run.lines))
            alike = [each for state, each in zip(states, forms, strict=True) if _same(state, run)]
            if wanted not in alike and not self._is_covered(wanted, alike):
                return f"some run with the output {_text(run)} lies in no state"
        for place, one in enumerate(forms):
            for other in forms[:place]:
                opposite = any(-form in other for form in one)
                if not opposite and self.is_open([*one, *other, *self._bounds]):
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
            if not known and wanted not in alike and not self._is_covered(wanted, alike):
                return f"some run with the output {_text(run)} lies in no state"
            for state, each in pairs:
                if not _same(state, run):
                    opposite = any(-form in each for form in wanted)
                    if not opposite and self.is_open([*wanted, *each, *self._bounds]):
                        return f"a state has runs with the output {_text(run)}"
        return None

    def _is_covered(
        self, part: frozenset[LinearForm], states: Sequence[frozenset[LinearForm]]
    ) -> bool:
        """Whether a set lies within some others, up to a null set."""
        if not self.is_open([*part, *self._bounds]):
            return True
        for place, state in enumerate(states):
            if self.is_open(part | state):
                inside = part
                for form in state - part:
                    if not self._is_covered(inside | {-form}, states[place + 1 :]):
                        return False
                    inside |= {form}
                return True
        return False


def _form(terms: Iterable[tuple[int, Fraction]], constant: Fraction) -> LinearForm:
    found: dict[Symbol, Fraction] = {}
    found.update(terms)
    return LinearForm.of(found, constant)


def _same(state: StateOf, run: Run) -> bool:
    """Whether a run publishes what a state does."""
    return (state.output, state.shown) == (run.output, run.shown)


def _text(run: Run) -> str:
    return ", ".join([*map(str, run.output), *("a number" for _ in run.shown)])
