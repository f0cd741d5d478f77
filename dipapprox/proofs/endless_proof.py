"""The answers for inputs of any length: about automata, and about programs with rounds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from enum import Enum
from fractions import Fraction
from typing import assert_never

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.automata.analysis import Analysis
from dipapprox.automata.model import Automaton, to_dot
from dipapprox.automata.optimum import ClosedFamily
from dipapprox.automata.runs import RunCost
from dipapprox.automata.structures import repeated
from dipapprox.automata.weights import PathWeight
from dipapprox.automata.words import WordBound
from dipapprox.data_classes import Record, field
from dipapprox.digits import exact_text
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.privacy.description import Table, count
from dipapprox.privacy.notation import ends
from dipapprox.privacy.verdict import Answer
from dipapprox.proofs.budget_answer import BudgetAnswer, budget_text
from dipapprox.proofs.evidence import (
    Evidence,
    evidence_fields,
    evidence_table,
    inputs_text,
    ray_fields,
    ray_table,
    structure_text,
    transitions_of,
)
from dipapprox.rounds.compiled import Compiled


class Round(Record):
    """What going round the cycles of a structure loses."""

    times: int  # how often they are gone round
    budget: Fraction  # what that needs at least, a multiple of eps, at every eps
    # Inputs for which it is lost as eps grows; None if none were looked for or found.
    ray: WordBound | None = None
    # What is lost for these inputs at eps = 1; None if it was not enclosed.
    log_ratio: Enclosure | None = None

    def fields(self) -> dict[str, object]:
        """Return its fields in JSON."""
        return {
            "times": self.times,
            "budget": exact_text(self.budget),
            "log_ratio": None if self.log_ratio is None else ends(self.log_ratio),
            "ray": ray_fields(self.ray),
        }


class EndlessProof(BudgetAnswer, kw_only=True):
    """An answer for inputs of any length and every eps.

    Attributes:
        compiled: The automaton that it is, with its visible stops if they are seen; one without
            states if a limit ended that.
        analysis: Of that automaton.
        rounds: Where there is no budget: what going round the cycles of the structure loses.
        beyond: The fewest rounds that need more than the claimed budget; None if not looked for, or
            not found.
        again: Whether the kernel has replayed a proof that steps lose again and again, whichever of
            several runs show the same.
        quiet: A budget that the kernel has replayed a proof of: runs that publish nothing more are
            shifted together; None if none less is known.
        ray: Inputs for which the tight run loses the lower bound as eps grows; None without such a
            run, or if none were looked for or found.
    """

    compiled: Compiled = field(repr=False)
    analysis: Analysis = field(repr=False)
    rounds: tuple[Round, ...]
    beyond: int | None
    again: bool = False
    quiet: Fraction | None = None
    ray: WordBound | None = field(default=None, repr=False)

    @property
    def _at_any(self) -> bool:
        """Whether it is proved that there is none at any eps."""
        return self.again or is_unbounded(self.compiled, self.analysis)

    @property
    def evidence(self) -> Evidence | None:
        """What shows that there is no budget, or that no smaller one serves; None for neither."""
        analysis = self.analysis
        if analysis.structure is not None and (self._at_any or self.answer is Answer.UNKNOWN):
            return analysis.structure
        known = analysed(self.compiled, analysis) or analysis.loses_again
        return analysis.lower if known else None

    def _witness(self) -> dict[str, object] | None:
        evidence = self.evidence
        if evidence is None:
            return None
        fields = evidence_fields(self.compiled, evidence)
        if isinstance(evidence, RunCost | WordBound):
            return fields
        rounds = [each.fields() for each in self.rounds]
        return {**fields, "rounds": rounds, "rounds_beyond_budget": self.beyond}

    def to_dot(self) -> str:
        """Return the automaton as a graph in the DOT language, with the evidence in red.

        Raises:
            UserError: If there is none.
        """
        if not self.compiled.automaton.states:
            raise UserError("there is no automaton to draw", self.analysis.reason or "")
        marked = frozenset[int]() if self.evidence is None else transitions_of(self.evidence)
        return to_dot(self.compiled.automaton, marked, self.program)

    # --- for people -----------------------------------------------------------------------------

    def _facts(self) -> Iterable[tuple[str, str | None]]:
        if not self.compiled.automaton.states:
            return
        structure = self.analysis.structure
        yield "structure", None if structure is None else structure_text(self.compiled, structure)
        yield "proof", "; ".join(self._proof(self.analysis))
        published = self.published_weight
        if published is not None and published != self.upper:
            is_budget = "" if published >= self.lower else ": no budget"
            yield "published", f"weight {exact_text(published)}{is_budget}"
        yield "caveat", None if self.caveat is None else f"{self.caveat} (--stops visible)"
        automaton = self.compiled.automaton
        sizes = [
            count(len(automaton.states), "state"),
            count(len(automaton.transitions), "transition"),
            count(len(automaton.variables), "stored value"),
        ]
        if self.quotient_states is not None:
            sizes.append(f"{count(self.quotient_states, 'node')} when merged")
        yield "automaton", ", ".join(sizes)

    def _where_violated(self) -> str:
        is_word = isinstance(self.analysis.lower, WordBound)
        return " for large ε" if is_word else ", at any ε > 0"

    def _proof(self, analysis: Analysis) -> Iterable[str]:
        at_most = self._at_most(analysis)
        if at_most is not None:
            yield f"at most: {at_most}"
        if isinstance(self.evidence, RunCost):
            yield "at least: a run that its outputs determine, at every ε"
        if analysis.loses_again:
            yield "no budget: a word with steps that lose more each time that they come, as ε grows"
        elif isinstance(self.evidence, WordBound):
            yield "at least: a word whose probabilities differ by that as ε grows"
        if self.again:
            yield "steps that come again lose, in all runs that show the same"
        if self.beyond is not None:
            rounds = count(self.beyond, "round")
            yield f"{rounds} of the structure need more than the claimed budget"

    def _at_most(self, analysis: Analysis) -> str | None:
        """Say what proves the upper bound; None if there is none."""
        if self.quiet is not None:
            return "runs that publish nothing more, shifted together"
        match analysis.upper:
            case None:
                return None
            case PathWeight():
                return "published weight, under WF+"
            case ClosedFamily(cells=int(cells)):
                return f"cost vectors of coarser cells of samples, at {count(cells, 'node')}"
            case ClosedFamily(pairs=pairs, cases=1):
                return f"a closed family of {count(pairs, 'pair')} of cost vectors"
            case ClosedFamily(pairs=pairs, cases=cases):
                families = f"closed families of {count(pairs, 'pair')} of cost vectors"
                return f"by {count(cases, 'case')}, {families}"
            case _:
                assert_never(analysis.upper)

    def _below(self) -> list[Table | str]:
        evidence, compiled = self.evidence, self.compiled
        if evidence is None:
            return []
        below = [evidence_table(compiled, evidence, self.ray), *self._tight(compiled, evidence)]
        if self.rounds:
            below.insert(1, _rounds_table(self.rounds))
        return below

    @abstractmethod
    def _tight(self, compiled: Compiled, evidence: Evidence) -> Iterable[Table | str]:
        """Yield the inputs for which evidence is lost, where its table does not say it."""


def _rounds_table(rounds: Sequence[Round]) -> Table:
    rows = [
        (str(r.times), budget_text(r.budget), "" if r.log_ratio is None else str(r.log_ratio))
        for r in rounds
    ]
    columns = "times round", "budget needed, at every ε, at least", "lost at ε = 1, for some inputs"
    return Table("Going round the cycles", columns, tuple(rows), (0, 1, 2))


def analysed(compiled: Compiled, analysis: Analysis) -> Fraction:
    """Return the lower bound that an analysis proves."""
    lower = analysis.lower
    if compiled.losses or (isinstance(lower, WordBound) and not compiled.is_plain):
        return Fraction(0)  # words are about certain numbers, which are not the program's
    if compiled.is_one_way:
        # Only a run whose inputs change as they may is one of the program.
        allowed = {0, *compiled.automaton.changes}
        if not (isinstance(lower, RunCost) and allowed.issuperset(lower.changes)):
            return Fraction(0)
    return analysis.lower_bound * compiled.factor


def is_unbounded(compiled: Compiled, analysis: Analysis) -> bool:
    """Whether it is proved that there is no budget."""
    return analysis.unbounded and not compiled.losses and compiled.factor > 0


SCOPE = "for inputs of every length, all real numbers, each may change by 1 at most"
_SHOWN = 2  # rounds of which people see the inputs


class Stops(Enum):
    """Whether it is seen that an automaton stops because no guard holds."""

    HIDDEN = "hidden"
    VISIBLE = "visible"


class AutomatonProof(EndlessProof):
    """The answer about an automaton.

    Attributes:
        stops: Whether stopping was taken as seen.
        stopping: States in which it may stop unseen; empty if it is seen.
        seconds: All of it, with the inputs that illustrate the answer.
    """

    automaton: Automaton = field(repr=False)
    stops: Stops
    stopping: tuple[str, ...]

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

    def _tight(self, compiled: Compiled, evidence: Evidence) -> Iterable[Table | str]:
        for each in self.rounds:
            if each.times == _SHOWN and each.ray is not None:
                yield ray_table(each.ray, each.times)


class FewRounds(Record):
    """What some rounds, written out, are proved to need."""

    turns: int
    lower: Fraction  # no smaller budget serves every eps for these alone


class StreamProof(EndlessProof):
    """The answer about a program, for any number of rounds and all real inputs.

    Attributes:
        subject: The program, with rounds.
        few: Rounds that need more than the analysis proves; None if none are known.
    """

    subject: Program = field(repr=False)
    few: FewRounds | None = None

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
        known = analysed(compiled, self.analysis) or self.has_none
        if isinstance(evidence, WordBound) or not known:
            return
        if isinstance(evidence, RunCost):
            run, changes = evidence.run, evidence.changes
        else:
            run, changes = repeated(compiled.automaton, evidence, 2)
        text = inputs_text(compiled, run, changes)
        if text is not None:
            yield f"{text} (twice round the cycles)" if self.has_none else text
