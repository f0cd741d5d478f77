"""The answer for any number of rounds, every eps and all real inputs: JSON, and for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from dipapprox.automata.analysis import Analysis, RunBound
from dipapprox.automata.drawing import to_dot
from dipapprox.automata.families import repeated
from dipapprox.automata.structures import Structure
from dipapprox.automata.words import WordBound
from dipapprox.data_classes import dataclass, field
from dipapprox.digits import exact_text
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.privacy.description import Table, count
from dipapprox.privacy.verdict import Answer
from dipapprox.proof_steps.verdicts import WrittenProof
from dipapprox.proofs.automaton_evidence import Evidence, evidence_table, transitions_of
from dipapprox.proofs.automaton_proof import AGAIN, Round, round_fields, rounds_table, upper_text
from dipapprox.proofs.budget_answer import BudgetAnswer
from dipapprox.proofs.streams.program_evidence import (
    evidence_fields,
    inputs_text,
    run_table,
    structure_table,
    structure_text,
)
from dipapprox.rounds.compiled import Compiled


@dataclass(frozen=True, slots=True)
class FewRounds:
    """What some rounds, written out, are proved to need.

    Attributes:
        turns: How many.
        lower: No smaller budget serves every eps for these alone.
    """

    turns: int
    lower: Fraction


@dataclass(frozen=True, slots=True)
class StreamProof(BudgetAnswer):
    """The answer about a program, for any number of rounds and all real inputs.

    Attributes:
        subject: The program, with rounds.
        compiled: The program as an automaton; None if a limit ended that.
        analysis: Of that automaton; None if there is none.
        few: Rounds that need more than the analysis proves; None if none are known.
        quiet: A budget that the kernel has replayed a proof of: runs that publish nothing more are
            shifted together; None if none less is known.
        again: A proof of the kernel's that rounds lose again and again, whichever of several runs
            publish the same; None if none was looked for or found.
        ended: Why there is no automaton; "" if there is one.
        rounds: Where there is no budget: what going round the cycles loses.
        beyond: The fewest rounds that need more than the claimed budget; None if not looked for, or
            not found.
    """

    subject: Program = field(repr=False)
    compiled: Compiled | None = field(repr=False)
    analysis: Analysis | None = field(repr=False)
    few: FewRounds | None
    quiet: Fraction | None
    again: WrittenProof | None = field(repr=False)
    ended: str
    rounds: tuple[Round, ...]
    beyond: int | None

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

    @property
    def analysed(self) -> Fraction:
        """The lower bound that the analysis proves, and a certificate states."""
        compiled, analysis = self.compiled, self.analysis
        if compiled is None or analysis is None or compiled.losses:
            return Fraction(0)
        if isinstance(analysis.lower, WordBound) and not compiled.is_plain:
            return Fraction(0)  # it is one for certain numbers, which are not the program's
        if compiled.is_one_way and not _is_run_of(compiled, analysis):
            return Fraction(0)
        return analysis.lower_bound * compiled.factor

    @property
    def upper(self) -> Fraction | None:
        """A budget that serves every eps; None if none is known, or there is none."""
        compiled, analysis = self.compiled, self.analysis
        if compiled is None or analysis is None or self.quiet is not None:
            return self.quiet
        if not compiled.factor:
            return Fraction(0)  # adjacent inputs are equal
        if analysis.upper_bound is None:
            return None
        return analysis.upper_bound * compiled.factor

    @property
    def has_none(self) -> bool:
        """Whether it is proved that there is no budget at all."""
        return self._at_any or (self.analysis is not None and self.analysis.loses_again)

    @property
    def _at_any(self) -> bool:
        """Whether it is proved that there is none at any eps."""
        return self.again is not None or is_unbounded(self.compiled, self.analysis)

    @property
    def reason(self) -> str | None:
        """Why the least budget is not known; None if it is, or there is none."""
        if self.analysis is None or self.compiled is None:
            return self.ended
        if self.has_none or self.is_exact:
            return None
        reasons = [*self.compiled.losses]
        if self.analysis.reason is not None:
            reasons.append(self.analysis.reason)
        return "; ".join(reasons) or "the run that was found has inputs that may not change so"

    @property
    def structure(self) -> Structure | None:
        """What leaves no budget to the shifts of samples; None if nothing does."""
        return None if self.analysis is None else self.analysis.structure

    @property
    def structures(self) -> tuple[str, ...]:
        """The kind of the structure that was found."""
        return () if self.structure is None else (self.structure.code,)

    @property
    def published_weight(self) -> Fraction | None:
        """The weight of its automaton, as the program's inputs change."""
        if self.analysis is None or self.compiled is None or self.analysis.published is None:
            return None
        return self.analysis.published * self.compiled.factor

    @property
    def states(self) -> int:
        """Those of its automaton; 0 if there is none."""
        return 0 if self.compiled is None else len(self.compiled.automaton.states)

    @property
    def quotient_states(self) -> int | None:
        """The nodes that its automaton has when unfolded and merged; None if there was no room."""
        quotient = None if self.analysis is None else self.analysis.quotient
        return None if quotient is None else len(quotient.graph.states)

    @property
    def evidence(self) -> Evidence | None:
        """What shows that there is no budget, or that no smaller one serves; None for neither."""
        analysis = self.analysis
        if analysis is None:
            return None
        if analysis.structure is not None and (self._at_any or self.answer is Answer.UNKNOWN):
            return analysis.structure
        return analysis.lower if self.analysed or analysis.loses_again else None

    def _witness(self) -> dict[str, object] | None:
        evidence = self.evidence
        if evidence is None or self.compiled is None:
            return None
        fields = evidence_fields(self.compiled, evidence)
        if isinstance(evidence, RunBound | WordBound):
            return fields
        rounds = [round_fields(each) for each in self.rounds]
        return {**fields, "rounds": rounds, "rounds_beyond_budget": self.beyond}

    def to_dot(self) -> str:
        """Return the program's automaton as a graph in the DOT language, with the evidence in red.

        Raises:
            UserError: If there is none.
        """
        if self.compiled is None:
            raise UserError("there is no automaton to draw", self.ended)
        marked = frozenset[int]() if self.evidence is None else transitions_of(self.evidence)
        return to_dot(self.compiled.automaton, marked, self.program)

    # --- for people -----------------------------------------------------------------------------

    def _facts(self) -> Iterable[tuple[str, str | None]]:
        bad = None
        if self.structure is not None and self.compiled is not None:
            bad = structure_text(self.compiled, self.structure)
        yield "structure", bad
        yield "proof", self._proof()
        yield "automaton", self._size()

    def _where(self) -> str:
        numbers = "integer" if self.compiled is not None and self.compiled.integers else "real"
        return f"every {self._parameter()}, every ε > 0 and all {numbers} inputs"

    def _where_violated(self) -> str:
        if self.few is not None:
            return " for every ε > 0"  # perhaps as ε grows, or vanishes
        is_word = self.analysis is not None and isinstance(self.analysis.lower, WordBound)
        return " for large ε" if is_word else ", at any ε > 0"

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

    def _proof(self) -> str | None:
        if self.analysis is None:
            return None
        parts = []
        if self.quiet is not None:
            parts.append("at most: runs that publish nothing more, shifted together")
        elif self.analysis.upper is not None:
            parts.append(upper_text(self.analysis.upper))
        if isinstance(self.evidence, RunBound):
            parts.append("at least: a run that what is published determines, at every ε")
        if self.analysis.loses_again:
            parts.append(AGAIN)
        elif isinstance(self.evidence, WordBound):
            parts.append("at least: a word whose probabilities differ by that as ε grows")
        if self.few is not None:
            parts.append(f"at least: {count(self.few.turns, 'round')}, written out")
        if self.again is not None:
            parts.append("rounds that come again lose, in all runs that publish the same")
        if self.beyond is not None:
            rounds = count(self.beyond, "round")
            parts.append(f"{rounds} of the structure need more than the claimed budget")
        return "; ".join(parts)

    def _size(self) -> str | None:
        if self.compiled is None:
            return None
        automaton = self.compiled.automaton
        return ", ".join(
            [
                count(len(automaton.states), "state"),
                count(len(automaton.transitions), "transition"),
                count(len(automaton.variables), "stored value"),
            ]
        )

    def _below(self) -> list[Table | str]:
        evidence, compiled = self.evidence, self.compiled
        below: list[Table | str] = []
        if evidence is None or compiled is None:
            return below
        tight: str | None = None
        if isinstance(evidence, WordBound):
            below.append(evidence_table(compiled.automaton, evidence))
        elif isinstance(evidence, RunBound):
            candidate = evidence.candidate
            below.append(run_table(compiled, candidate))
            tight = inputs_text(compiled, candidate.run, candidate.changes)
        else:
            below.append(structure_table(compiled, evidence))
            run, changes = repeated(compiled.automaton, evidence, 2)
            tight = inputs_text(compiled, run, changes)
        if self.rounds:
            below.append(rounds_table(self.rounds))
        if tight is not None and (self.analysed or self.has_none):
            twice = " (twice round the cycles)" if self.has_none else ""
            below.append(tight + twice)
        return below


def _is_run_of(compiled: Compiled, analysis: Analysis) -> bool:
    """Whether the lower bound is a run whose inputs change as they may."""
    allowed = {0, *compiled.automaton.changes}
    match analysis.lower:
        case RunBound(candidate=candidate):
            return allowed.issuperset(candidate.changes)
        case _:
            return False


def is_unbounded(compiled: Compiled | None, analysis: Analysis | None) -> bool:
    """Whether it is proved that there is no budget."""
    if compiled is None or analysis is None or compiled.losses:
        return False
    return analysis.unbounded and compiled.factor > 0
