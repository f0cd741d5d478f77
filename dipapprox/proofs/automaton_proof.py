"""The answers for inputs of any length: about an automaton, and about a program with rounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from fractions import Fraction

from dipapprox.automata.analysis import Analysis
from dipapprox.automata.model import Automaton
from dipapprox.automata.shifts import RunCost
from dipapprox.automata.structures import repeated
from dipapprox.automata.words import WordBound
from dipapprox.data_classes import dataclass, field
from dipapprox.digits import exact_text
from dipapprox.language.core import Program
from dipapprox.privacy.description import Table, count
from dipapprox.proofs.budget_answer import BudgetAnswer
from dipapprox.proofs.endless_proof import EndlessProof
from dipapprox.proofs.evidence import Evidence, inputs_text, ray_fields, ray_table
from dipapprox.rounds.compiled import Compiled

SCOPE = "for inputs of every length, all real numbers, each may change by 1 at most"
_SHOWN = 2  # rounds of which people see the inputs


class Stops(Enum):
    """Whether it is seen that an automaton stops because no guard holds."""

    HIDDEN = "hidden"
    VISIBLE = "visible"


@dataclass(frozen=True, slots=True)
class AutomatonProof(EndlessProof):
    """The answer about an automaton.

    Attributes:
        stops: Whether stopping was taken as seen.
        stopping: States in which it may stop unseen; empty if it is seen.
        ray: Inputs for which the tight run loses the lower bound as eps grows; None without such a
            run, or if none were found.
        seconds: All of it, with the inputs that illustrate the answer.
    """

    program: str
    automaton: Automaton = field(repr=False)
    stops: Stops
    stopping: tuple[str, ...]
    ray: WordBound | None = field(repr=False)

    @property
    def parameters(self) -> Mapping[str, Fraction]:
        """None: automata have none."""
        return {}

    @property
    def states(self) -> int:
        """The automaton's, as it was given."""
        return len(self.automaton.states)

    @property
    def caveat(self) -> str | None:
        """What the answer leaves out: that stops are not seen; None for nothing."""
        if not self.stopping:
            return None
        states = ", ".join(self.stopping)
        return f"that it may stop in {states}, where no guard holds, is taken as unseen"

    def _witness(self) -> dict[str, object] | None:
        fields = EndlessProof._witness(self)
        if fields is None or not isinstance(self.evidence, RunCost):
            return fields
        return {**fields, "ray": ray_fields(self.ray)}

    def _scope(self) -> str:
        return SCOPE

    def _without_budget(self) -> str:
        if self._at_any:
            return "not (D ε, 0)-DP, whatever D and ε > 0 are"
        return BudgetAnswer._without_budget(self)

    def _ray(self) -> WordBound | None:
        return self.ray

    def _tight(self, compiled: Compiled, evidence: Evidence) -> Iterable[Table | str]:
        for each in self.rounds:
            if each.times == _SHOWN and each.ray is not None:
                yield ray_table(each.ray, each.times)


@dataclass(frozen=True, slots=True)
class FewRounds:
    """What some rounds, written out, are proved to need."""

    turns: int
    lower: Fraction  # no smaller budget serves every eps for these alone


@dataclass(frozen=True, slots=True)
class StreamProof(EndlessProof):
    """The answer about a program, for any number of rounds and all real inputs.

    Attributes:
        subject: The program, with rounds.
        few: Rounds that need more than the analysis proves; None if none are known.
    """

    subject: Program = field(repr=False)
    few: FewRounds | None = None

    @property
    def program(self) -> str:
        """The name of the program."""
        return self.subject.name

    @property
    def parameters(self) -> Mapping[str, Fraction]:
        """Its parameters."""
        return self.subject.parameters

    @property
    def lower(self) -> Fraction:
        """No smaller budget serves every eps."""
        return self.analysed if self.few is None else max(self.analysed, self.few.lower)

    def _where(self) -> str:
        numbers = "integer" if self.compiled.integers else "real"
        return f"every {self._parameter()}, every ε > 0 and all {numbers} inputs"

    def _where_violated(self) -> str:
        if self.few is not None:
            return " for every ε > 0"  # perhaps as ε grows, or vanishes
        return EndlessProof._where_violated(self)

    def _without_budget(self) -> str:
        where = "at any ε > 0" if self._at_any else "for every ε > 0"
        return f"no D makes it (D ε, 0)-DP for every {self._parameter()}, {where}"

    def _parameter(self) -> str:
        rounds = self.subject.rounds
        name = None if rounds is None else rounds.parameter
        return name or "number of rounds"

    def _scope(self) -> str:
        names = [f"{n} = {exact_text(value)}" for n, value in self.parameters.items()]
        return ", ".join([f"any {self._parameter()}", *names])

    def _proof(self, analysis: Analysis) -> Iterable[str]:
        yield from EndlessProof._proof(self, analysis)
        if self.few is not None:
            yield f"at least: {count(self.few.turns, 'round')}, written out"

    def _tight(self, compiled: Compiled, evidence: Evidence) -> Iterable[Table | str]:
        if isinstance(evidence, WordBound) or not (self.analysed or self.has_none):
            return
        if isinstance(evidence, RunCost):
            run, changes = evidence.run, evidence.changes
        else:
            run, changes = repeated(compiled.automaton, evidence, 2)
        text = inputs_text(compiled, run, changes)
        if text is not None:
            yield f"{text} (twice round the cycles)" if self.has_none else text
