"""Are recorded states what a program does? Sets of noises and inputs, compared with its runs.

They are if every run lies within the states of its output, and no two states have more than
boundaries in common: then the states of an output are together, up to a null set, the noises and
inputs that lead to it. Between integers a line S <= m is S <= m + 1/2: there is no integer on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import floor, gcd, lcm

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
    """A recorded state: its output and its lines, all <= 0."""

    output: tuple[core.Value, ...]
    lines: tuple[Line, ...]


class Geometry:
    """Looks at sets of noises and inputs.

    Args:
        tape: The symbols.
        limits: Asked again and again.
    """

    def __init__(self, tape: Tape, limits: Limits) -> None:
        self._limits = limits
        self._supports = [_form(line.terms, Fraction(0)) for line in tape.supports]
        self._integers = any(law.family.is_discrete for law in tape.laws)
        self._inputs = tape.inputs

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
            alike = [
                each
                for state, each in zip(states, forms, strict=True)
                if state.output == run.output
            ]
            if wanted not in alike and not self._is_covered(wanted, alike):
                return f"some run with the output {_text(run.output)} lies in no state"
        for place, one in enumerate(forms):
            for other in forms[:place]:
                opposite = any(-form in other for form in one)
                if not opposite and self.is_open([*one, *other]):
                    return "two states have noises and inputs in common"
        return None

    def misfit_of_some(self, runs: Sequence[Run], states: Sequence[StateOf]) -> str | None:
        """Do the same where only some outputs have states: all of these are recorded.

        No two states need be apart: that their union is what leads to the output is enough for
        lower bounds.
        """
        outputs = {state.output for state in states}
        forms = [frozenset(map(self.form, state.lines)) for state in states]
        for run in runs:
            wanted = frozenset(map(self.form, run.lines))
            pairs = list(zip(states, forms, strict=True))
            alike = [each for state, each in pairs if state.output == run.output]
            known = run.output not in outputs or wanted in alike
            if not known and not self._is_covered(wanted, alike):
                return f"some run with the output {_text(run.output)} lies in no state"
            for state, each in pairs:
                if state.output != run.output:
                    opposite = any(-form in each for form in wanted)
                    if not opposite and self.is_open(wanted | each):
                        return f"a state has runs with the output {_text(run.output)}"
        return None

    def _is_covered(
        self, part: frozenset[LinearForm], states: Sequence[frozenset[LinearForm]]
    ) -> bool:
        """Whether a set lies within some others, up to a null set."""
        if not self.is_open(part):
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


def _text(output: Sequence[core.Value]) -> str:
    return ", ".join(map(str, output))
