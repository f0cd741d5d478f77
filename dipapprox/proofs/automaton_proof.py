"""What is proved of an automaton: for every eps, inputs of every length, all real numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import assert_never

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.automata.analysis import Analysis, CellBound, RunBound, WeightBound
from dipapprox.automata.drawing import to_dot
from dipapprox.automata.model import Automaton
from dipapprox.automata.optimum import ClosedFamily
from dipapprox.automata.rays import RunRay
from dipapprox.automata.words import WordBound
from dipapprox.data_classes import dataclass, field
from dipapprox.digits import exact_text
from dipapprox.privacy.description import (
    Table,
    count,
)
from dipapprox.privacy.notation import ends
from dipapprox.privacy.verdict import Answer
from dipapprox.proof_steps.verdicts import WrittenProof
from dipapprox.proofs.automaton_evidence import (
    Evidence,
    evidence_fields,
    evidence_table,
    ray_fields,
    ray_table,
    structure_text,
    transitions_of,
)
from dipapprox.proofs.budget_answer import BudgetAnswer, budget_text

SCOPE = "for inputs of every length, all real numbers, each may change by 1 at most"


class Stops(Enum):
    """Whether it is seen that an automaton stops because no guard holds."""

    HIDDEN = "hidden"
    VISIBLE = "visible"


@dataclass(frozen=True, slots=True)
class Round:
    """What going round the cycles of a structure loses.

    Attributes:
        times: How often they are gone round.
        budget: What that needs at least, a multiple of eps, at every eps.
        ray: Inputs for which it is lost as eps grows; None if none were looked for or found.
        log_ratio: What is lost for these inputs at eps = 1; None if it was not enclosed.
    """

    times: int
    budget: Fraction
    ray: RunRay | None = None
    log_ratio: Enclosure | None = None


@dataclass(frozen=True, slots=True)
class AutomatonProof(BudgetAnswer):
    """The answer about an automaton.

    Attributes:
        program: The name of the automaton.
        automaton: As it was given.
        stops: Whether stopping was taken as seen.
        stopping: States in which it may stop unseen; empty if it is seen.
        analysis: All that was found, of the automaton with its visible stops if they are.
        ray: Inputs for which the tight run loses the lower bound as eps grows; None without such a
            run, or if none were found.
        rounds: Where there is no budget: what going round the cycles of the structure loses.
        beyond: The fewest rounds that need more than the claimed budget; None if not looked for, or
            not found.
        again: A proof of the kernel's that steps lose again and again, whichever of several runs
            show the same; None if none was looked for or found.
        seconds: All of it, with the inputs that illustrate the answer.
    """

    program: str
    automaton: Automaton = field(repr=False)
    stops: Stops
    stopping: tuple[str, ...]
    analysis: Analysis = field(repr=False)
    ray: RunRay | None = field(repr=False)
    rounds: tuple[Round, ...]
    beyond: int | None
    again: WrittenProof | None = field(repr=False)

    @property
    def parameters(self) -> Mapping[str, Fraction]:
        """None: automata have none."""
        return {}

    @property
    def lower(self) -> Fraction:
        """No smaller budget serves every eps."""
        return self.analysis.lower_bound

    @property
    def upper(self) -> Fraction | None:
        """A budget that serves every eps; None if none is known, or there is none."""
        return self.analysis.upper_bound

    @property
    def has_none(self) -> bool:
        """Whether it is proved that there is no budget."""
        return self._at_any or self.analysis.loses_again

    @property
    def _at_any(self) -> bool:
        """Whether it is proved that there is none at any eps."""
        return self.analysis.unbounded or self.again is not None

    @property
    def reason(self) -> str | None:
        """Why the least budget is not known; None if it is, or there is none."""
        return None if self.has_none else self.analysis.reason

    @property
    def structures(self) -> tuple[str, ...]:
        """The kind of the structure that was found."""
        return () if self.analysis.structure is None else (self.analysis.structure.code,)

    @property
    def published_weight(self) -> Fraction | None:
        """What the paper on DiP automata calls the weight; no budget where WF⁺ fails."""
        return self.analysis.published

    @property
    def states(self) -> int:
        """The automaton's."""
        return len(self.automaton.states)

    @property
    def quotient_states(self) -> int | None:
        """The nodes that the unfolded automaton has when merged; None if there was no room."""
        quotient = self.analysis.quotient
        return None if quotient is None else len(quotient.graph.states)

    @property
    def evidence(self) -> Evidence | None:
        """What shows that there is no budget, or that no smaller one serves; None for neither."""
        structure = self.analysis.structure
        if structure is not None and (self._at_any or self.answer is Answer.UNKNOWN):
            return structure
        return self.analysis.lower

    def _witness(self) -> dict[str, object] | None:
        evidence, structure = self.evidence, self.analysis.structure
        if evidence is None:
            return None
        fields = evidence_fields(self.analysis.automaton, evidence)
        if evidence is not structure:
            is_run = isinstance(evidence, RunBound)
            return {**fields, "ray": ray_fields(self.ray)} if is_run else fields
        rounds = [round_fields(each) for each in self.rounds]
        return {**fields, "rounds": rounds, "rounds_beyond_budget": self.beyond}

    @property
    def caveat(self) -> str | None:
        """What the answer leaves out: that stops are not seen; None for nothing."""
        if not self.stopping:
            return None
        states = ", ".join(self.stopping)
        return f"that it may stop in {states}, where no guard holds, is taken as unseen"

    def to_dot(self) -> str:
        """Return the automaton as a graph in the DOT language, with the evidence in red."""
        marked = frozenset[int]() if self.evidence is None else transitions_of(self.evidence)
        return to_dot(self.analysis.automaton, marked, self.program)

    # --- for people -----------------------------------------------------------------------------

    def _scope(self) -> str:
        return SCOPE

    def _facts(self) -> Iterable[tuple[str, str | None]]:
        structure = self.analysis.structure
        bad = None if structure is None else structure_text(self.analysis.automaton, structure)
        yield "structure", bad
        yield "proof", self._proof()
        yield "published", self._published()
        yield "caveat", self._stopping()
        yield "automaton", self._size()

    def _where_violated(self) -> str:
        is_word = isinstance(self.analysis.lower, WordBound)
        return " for large ε" if is_word else ", at any ε > 0"

    def _without_budget(self) -> str:
        if self._at_any:
            return "not (D ε, 0)-DP, whatever D and ε > 0 are"
        return BudgetAnswer._without_budget(self)

    def _proof(self) -> str:
        analysis, parts = self.analysis, []
        if analysis.upper is not None:
            parts.append(upper_text(analysis.upper))
        match analysis.lower:
            case RunBound(candidate=candidate) if not analysis.unbounded:
                steps = count(len(candidate.run), "step")
                parts.append(f"at least: a run of {steps} that its outputs determine, at every ε")
            case WordBound() as word if word.again is not None:
                parts.append(AGAIN)
            case WordBound():
                parts.append("at least: a word whose probabilities differ by that as ε grows")
        if self.again is not None:
            parts.append("steps that come again lose, in all runs that show the same")
        if self.beyond is not None:
            rounds = count(self.beyond, "round")
            parts.append(f"{rounds} of the structure need more than the claimed budget")
        return "; ".join(parts)

    def _published(self) -> str | None:
        published, upper = self.analysis.published, self.upper
        if published is None or published == upper:
            return None
        if published < self.lower:
            return f"weight {exact_text(published)}: no budget"
        return f"weight {exact_text(published)}"

    def _stopping(self) -> str | None:
        return None if self.caveat is None else f"{self.caveat} (--stops visible)"

    def _size(self) -> str:
        automaton, merged = self.automaton, self.quotient_states
        sizes = [
            count(len(automaton.states), "state"),
            count(len(automaton.transitions), "transition"),
            count(len(automaton.variables), "stored value"),
        ]
        if merged is not None:
            sizes.append(f"{count(merged, 'node')} when merged")
        return ", ".join(sizes)

    def _below(self) -> list[Table | str]:
        evidence = self.evidence
        tables: list[Table | str] = []
        if evidence is not None:
            tables.append(evidence_table(self.analysis.automaton, evidence, self.ray))
        if self.rounds:
            tables.append(rounds_table(self.rounds))
            shown = next((each for each in self.rounds if each.times == _SHOWN and each.ray), None)
            if shown is not None and shown.ray is not None:
                tables.append(ray_table(shown.ray, shown.times))
        return tables


AGAIN = "no budget: a word with steps that lose more each time that they come, as ε grows"


def upper_text(upper: WeightBound | ClosedFamily | CellBound) -> str:
    """Say what proves an upper bound."""
    match upper:
        case WeightBound():
            return "at most: published weight, under WF+"
        case ClosedFamily(pairs=pairs, cases=1):
            return f"at most: a closed family of {count(pairs, 'pair')} of cost vectors"
        case ClosedFamily(pairs=pairs, cases=cases):
            families = f"closed families of {count(pairs, 'pair')} of cost vectors"
            return f"at most: by {count(cases, 'case')}, {families}"
        case CellBound(cells=cells):
            nodes = count(len(cells.graph.states), "node")
            return f"at most: cost vectors of coarser cells of samples, at {nodes}"
        case _:
            assert_never(upper)


_SHOWN = 2
"""Rounds of which people see the inputs."""


def rounds_table(rounds: Sequence[Round]) -> Table:
    """Lay out what going round the cycles of a structure loses."""
    rows = tuple(
        (
            str(each.times),
            budget_text(each.budget),
            "" if each.log_ratio is None else str(each.log_ratio),
        )
        for each in rounds
    )
    columns = "times round", "budget needed, at every ε, at least", "lost at ε = 1, for some inputs"
    return Table("Going round the cycles", columns, rows, (0, 1, 2))


def round_fields(each: Round) -> dict[str, object]:
    """Return the fields of a round in JSON."""
    return {
        "times": each.times,
        "budget": exact_text(each.budget),
        "log_ratio": None if each.log_ratio is None else ends(each.log_ratio),
        "ray": ray_fields(each.ray),
    }
