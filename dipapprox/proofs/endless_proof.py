"""What is proved for inputs of any length, of automata and of programs that are some."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import assert_never

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.automata.analysis import Analysis
from dipapprox.automata.drawing import to_dot
from dipapprox.automata.model import Automaton
from dipapprox.automata.optimum import ClosedFamily
from dipapprox.automata.shifts import RunCost
from dipapprox.automata.structures import Structure
from dipapprox.automata.weights import PathWeight
from dipapprox.automata.words import WordBound
from dipapprox.data_classes import dataclass, field
from dipapprox.digits import exact_text
from dipapprox.errors import UserError
from dipapprox.privacy.description import Table, count
from dipapprox.privacy.notation import ends
from dipapprox.privacy.verdict import Answer
from dipapprox.proof_steps.verdicts import WrittenProof
from dipapprox.proofs.budget_answer import BudgetAnswer, budget_text
from dipapprox.proofs.evidence import (
    Evidence,
    evidence_fields,
    evidence_table,
    ray_fields,
    structure_text,
    transitions_of,
)
from dipapprox.rounds.compiled import Compiled


@dataclass(frozen=True, slots=True)
class Round:
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


@dataclass(frozen=True, slots=True)
class EndlessProof(BudgetAnswer):
    """An answer for inputs of any length and every eps.

    Attributes:
        compiled: The automaton that it is, with its visible stops if they are seen; one without
            states if a limit ended that.
        analysis: Of that automaton.
        rounds: Where there is no budget: what going round the cycles of the structure loses.
        beyond: The fewest rounds that need more than the claimed budget; None if not looked for, or
            not found.
        again: A proof of the kernel's that steps lose again and again, whichever of several runs
            show the same; None if none was looked for or found.
        quiet: A budget that the kernel has replayed a proof of: runs that publish nothing more are
            shifted together; None if none less is known.
    """

    compiled: Compiled = field(repr=False)
    analysis: Analysis = field(repr=False)
    rounds: tuple[Round, ...]
    beyond: int | None
    again: WrittenProof | None = field(kw_only=True, default=None, repr=False)
    quiet: Fraction | None = field(kw_only=True, default=None)

    @property
    def analysed(self) -> Fraction:
        """The lower bound that the analysis proves."""
        compiled, analysis = self.compiled, self.analysis
        if compiled.losses or (isinstance(analysis.lower, WordBound) and not compiled.is_plain):
            return Fraction(0)  # words are about certain numbers, which are not the program's
        if compiled.is_one_way and not _is_run_of(compiled, analysis):
            return Fraction(0)
        return analysis.lower_bound * compiled.factor

    @property
    def lower(self) -> Fraction:
        """No smaller budget serves every eps."""
        return self.analysed

    @property
    def upper(self) -> Fraction | None:
        """A budget that serves every eps; None if none is known, or there is none."""
        if self.quiet is not None:
            return self.quiet
        factor, known = self.compiled.factor, self.analysis.upper_bound
        if not factor:
            return Fraction(0)  # adjacent inputs are equal
        return None if known is None else known * factor

    @property
    def has_none(self) -> bool:
        """Whether it is proved that there is no budget."""
        return self._at_any or self.analysis.loses_again

    @property
    def _at_any(self) -> bool:
        """Whether it is proved that there is none at any eps."""
        return self.again is not None or is_unbounded(self.compiled, self.analysis)

    @property
    def reason(self) -> str | None:
        """Why the least budget is not known; None if it is, or there is none."""
        if self.has_none or self.is_exact:
            return None
        reasons = [*self.compiled.losses]
        if self.analysis.reason is not None:
            reasons.append(self.analysis.reason)
        return "; ".join(reasons) or "the run that was found has inputs that may not change so"

    @property
    def structure(self) -> Structure | None:
        """What leaves no budget to the shifts of samples; None if nothing does."""
        return self.analysis.structure

    @property
    def structures(self) -> tuple[str, ...]:
        """The kind of the structure that was found."""
        return () if self.structure is None else (self.structure.code,)

    @property
    def published_weight(self) -> Fraction | None:
        """What the paper on DiP automata calls the weight; no budget where WF⁺ fails."""
        published = self.analysis.published
        return None if published is None else published * self.compiled.factor

    @property
    def states(self) -> int:
        """Those of the automaton; 0 if there is none."""
        return len(self.compiled.automaton.states)

    @property
    def quotient_states(self) -> int | None:
        """The nodes that the unfolded automaton has when merged; None if there was no room."""
        quotient = self.analysis.quotient
        return None if quotient is None else len(quotient.graph.states)

    @property
    def evidence(self) -> Evidence | None:
        """What shows that there is no budget, or that no smaller one serves; None for neither."""
        analysis = self.analysis
        if analysis.structure is not None and (self._at_any or self.answer is Answer.UNKNOWN):
            return analysis.structure
        return analysis.lower if self.analysed or analysis.loses_again else None

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
        structure = self.structure
        yield "structure", None if structure is None else structure_text(self.compiled, structure)
        yield "proof", "; ".join(self._proof(self.analysis))
        yield "published", self._published()
        yield "caveat", None if self.caveat is None else f"{self.caveat} (--stops visible)"
        yield "automaton", self._size(self.compiled.automaton)

    def _where_violated(self) -> str:
        is_word = isinstance(self.analysis.lower, WordBound)
        return " for large ε" if is_word else ", at any ε > 0"

    def _proof(self, analysis: Analysis) -> Iterable[str]:
        """Yield what proves each bound."""
        at_most = self._at_most(analysis)
        if at_most is not None:
            yield f"at most: {at_most}"
        if isinstance(self.evidence, RunCost):
            yield "at least: a run that its outputs determine, at every ε"
        if analysis.loses_again:
            yield "no budget: a word with steps that lose more each time that they come, as ε grows"
        elif isinstance(self.evidence, WordBound):
            yield "at least: a word whose probabilities differ by that as ε grows"
        if self.again is not None:
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

    def _published(self) -> str | None:
        published = self.published_weight
        if published is None or published == self.upper:
            return None
        is_budget = published >= self.lower
        return f"weight {exact_text(published)}{'' if is_budget else ': no budget'}"

    def _size(self, automaton: Automaton) -> str:
        sizes = [
            count(len(automaton.states), "state"),
            count(len(automaton.transitions), "transition"),
            count(len(automaton.variables), "stored value"),
        ]
        if self.quotient_states is not None:
            sizes.append(f"{count(self.quotient_states, 'node')} when merged")
        return ", ".join(sizes)

    def _below(self) -> list[Table | str]:
        evidence, compiled = self.evidence, self.compiled
        if evidence is None:
            return []
        below = [evidence_table(compiled, evidence, self._ray()), *self._tight(compiled, evidence)]
        if self.rounds:
            below.insert(1, _rounds_table(self.rounds))
        return below

    def _ray(self) -> WordBound | None:
        """Return inputs for which a tight run loses the lower bound; None if none are known."""
        return None

    @abstractmethod
    def _tight(self, compiled: Compiled, evidence: Evidence) -> Iterable[Table | str]:
        """Yield the inputs for which evidence is lost, where its table does not say it."""


def _rounds_table(rounds: Sequence[Round]) -> Table:
    """Lay out what going round the cycles of a structure loses."""
    rows = [
        (str(r.times), budget_text(r.budget), "" if r.log_ratio is None else str(r.log_ratio))
        for r in rounds
    ]
    columns = "times round", "budget needed, at every ε, at least", "lost at ε = 1, for some inputs"
    return Table("Going round the cycles", columns, tuple(rows), (0, 1, 2))


def _is_run_of(compiled: Compiled, analysis: Analysis) -> bool:
    """Whether the lower bound is a run whose inputs change as they may."""
    allowed = {0, *compiled.automaton.changes}
    lower = analysis.lower
    return isinstance(lower, RunCost) and allowed.issuperset(lower.changes)


def is_unbounded(compiled: Compiled, analysis: Analysis) -> bool:
    """Whether it is proved that there is no budget."""
    return analysis.unbounded and not compiled.losses and compiled.factor > 0
