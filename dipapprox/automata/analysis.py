"""What is known of an automaton's least budget: bounds on both sides, and why.

    augment → quotient → leaking, disclosing cycle?              → a structure: no budget
        → taints: none                                           → well-formed, cap = weight
        → taints: lifted: leaking pair, PV?                      → a structure: no budget
        → none                                                   → cap = fallback
        → search below the cap (if not too wide)                 → least budget, closed family
        → else a constructed run below, the cap above
        → words that fit several runs: rates as ε grows
        → no budget is known: words with a part that loses again and again

Where words fit several runs, coarser cells are looked at before the search (`cells.py`): they may
have a budget that is less, or one where runs, each by itself, have none.

Wherever a limit ends a step, the bounds so far stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import islice
from typing import Any

from dipapprox.automata.cells import cells_of
from dipapprox.automata.model import Automaton, Transition
from dipapprox.automata.optimum import ClosedFamily, OptimumFound, dear_walk, joined_family, search
from dipapprox.automata.runs import (
    Looks,
    RunCost,
    determined_extension,
    is_determined,
    looks_of,
    outputs_determine_runs,
    outputs_distinguish,
    run_cost,
    run_of,
)
from dipapprox.automata.structures import (
    BadStructure,
    disclosing_cycle,
    gain_of_round,
    leaking_cycles,
    repeated,
)
from dipapprox.automata.unfolding import Quotient, Unfolding, augment, quotient
from dipapprox.automata.weights import (
    PathWeight,
    dear_runs,
    fallback_weight,
    lifted_structure,
    published_weight,
    tainted_walk,
)
from dipapprox.automata.word_climb import better_words, bounds_of_run
from dipapprox.automata.words import WordBound
from dipapprox.data_classes import Record, field, replace
from dipapprox.errors import BrokenInvariant, EarlyEnd, LimitReached
from dipapprox.limits import check_limits, current


class Analysis(Record):
    """What is known; budgets are multiples of ε."""

    automaton: Automaton
    # Whether there is no bad structure, so that there is a budget; None if unknown. If there is
    # one, coarser cells may still have a budget.
    well_formed: bool | None = None
    determined: bool | None = None  # whether outputs determine the run; None if unknown
    # A bad structure; None if there is, or was found, none, or if coarser cells have a budget.
    structure: BadStructure | None = None
    # Whether the structure proves that there is no budget at any ε: its runs are determined by
    # their words, however often it goes round its cycles.
    unbounded: bool = False
    # The best lower bound: a run whose word is its own, or a word; None if nothing but 0 is known.
    lower: RunCost | WordBound | None = None
    # The best upper bound: the published weight under WF⁺, or closed families of the quotient, or
    # of coarser cells; None if none is known, or there is none.
    upper: PathWeight | ClosedFamily | None = None
    # The dearest run seen, determined or not: what the upper bound cannot go below by shifts of
    # single runs alone.
    dearest: RunCost | None = None
    # The paper's weight, of a well-formed automaton; a budget if it is not tainted.
    published: Fraction | None = None
    # The unfolded and merged automaton, of which all this speaks; None if there was no room for it.
    quotient: Quotient | None = field(default=None, compare=False, repr=False)
    reason: str | None = None  # why the answer is not exact; None if it is

    @property
    def lower_bound(self) -> Fraction:
        """What no smaller budget can be; for a word's bound: not for all ε at once."""
        return Fraction(0) if self.lower is None else self.lower.value

    @property
    def upper_bound(self) -> Fraction | None:
        """A budget that is kept; None if none is known, or there is none."""
        return None if self.upper is None else self.upper.value

    @property
    def loses_again(self) -> bool:
        """Whether a word with a part that comes again and again proves that no budget serves."""
        return isinstance(self.lower, WordBound) and self.lower.again is not None

    @property
    def is_exact(self) -> bool:
        """Whether both bounds agree."""
        return self.upper_bound == self.lower_bound


def analyse(
    automaton: Automaton, *, with_words: bool = True, looks: Looks | None = None
) -> Analysis:
    """Find the least budget of an automaton, or bounds of it.

    Args:
        with_words: Whether bounds by words are looked for: they are about inputs that change both
            ways.
        looks: What is seen of each transition where that does not tell the transitions; None if its
            letter is seen.
    """
    return _Progress(automaton, with_words, looks).run()


class _Progress:
    def __init__(self, automaton: Automaton, with_words: bool, looks: Looks | None) -> None:
        self.automaton = automaton
        self.with_words = with_words
        self.has_letters = looks is None
        self.looks = looks_of(automaton) if looks is None else looks
        self.alike = _ALIKE if looks is None else NOT_TOLD
        self.now = Analysis(automaton)
        self.reason: str | None = None

    def run(self) -> Analysis:
        """Take all steps; where a limit ends one, those that can do without it still come."""
        with EarlyEnd() as end:
            try:
                whole = augment(self.automaton)
            except LimitReached as limit:
                check_limits()  # is it more than the number of nodes?
                self.reason = limit.reason
                self._look_at_part()
            else:
                self._look_at_all(whole)
        return replace(self.now, reason=None if self._is_settled() else end.reason or self.reason)

    def _learn(self, **facts: Any) -> None:
        self.now = replace(self.now, **facts)

    def _is_settled(self) -> bool:
        return self.now.unbounded or self.now.is_exact or self.now.loses_again

    def _look_at_all(self, whole: Unfolding) -> None:
        merged = quotient(whole)
        determined = self.has_letters and outputs_determine_runs(merged.graph)
        self._learn(quotient=merged, determined=determined)
        self._classify(merged)
        if self.now.structure is not None:
            self._spread(merged, self.now.structure)
            if not self.now.unbounded:
                self._look_at_cells(merged)
            if self.now.upper is not None:
                self._learn(structure=None)  # nobody sees it
        else:
            self._bound(merged)
        if self.with_words and not (self._is_settled() or self.now.determined):
            known = self.now.lower if isinstance(self.now.lower, WordBound) else None
            self._note(better_words(merged.graph, known, self.now.upper is None))

    def _look_at_part(self) -> None:
        """Find a structure or a dear run in a part of what is too large."""
        if not (self.has_letters and outputs_distinguish(self.automaton)):
            return
        self._learn(determined=True)
        part = augment(self.automaton, min(_PART, current().states))
        merged = quotient(part)
        found, _ = self._dear_structure(_cycles(part))
        if found is None:
            with suppress(LimitReached):  # it goes on without an answer
                walk = tainted_walk(merged)
                found = None if walk is None else lifted_structure(merged, walk)
        if found is not None:
            self._learn(well_formed=False)
            self._spread(merged, found)
            return
        result = search(merged.graph, fallback_weight(merged.graph).value)
        if result.vectors:
            self._improve(merged, self._cost(merged, result))

    def _cost(self, merged: Quotient, result: OptimumFound) -> RunCost:
        run = run_of(merged.whole, merged.lift(result.walk))
        return run_cost(self.automaton, run, result.changes)

    def _classify(self, merged: Quotient) -> None:
        cycle, has_free = self._dear_structure(_cycles(merged.whole))
        if cycle is not None:
            self._learn(structure=cycle, well_formed=False)
        if cycle is not None or has_free:
            return
        walk = tainted_walk(merged)
        if walk is None:
            weight = published_weight(merged.graph)
            self._learn(well_formed=True, upper=weight, published=weight.value)
            return
        found = lifted_structure(merged, walk)
        if found is not None:
            self._learn(well_formed=False, structure=found)

    def _dear_structure(self, found: Iterable[BadStructure]) -> tuple[BadStructure | None, bool]:
        """Return the first structure that costs; whether some cost nothing as inputs change."""
        has_free = False
        for structure in found:
            check_limits()
            if gain_of_round(self.automaton, structure):
                return structure, has_free
            has_free = True
        return None, has_free

    # --- no budget ------------------------------------------------------------------------------

    def _spread(self, merged: Quotient, structure: BadStructure) -> None:
        """See whether the runs of a structure can be told from what is seen."""
        determined = self.now.determined or False
        if not determined:
            longer = determined_extension(merged.whole, self.looks, structure.run)
            if longer is not None:
                determined = is_determined(merged.whole, self.looks, longer, structure.cycles)
                structure = replace(structure, run=longer) if determined else structure
        twice = run_cost(self.automaton, *repeated(self.automaton, structure, 2))
        self._learn(unbounded=determined, structure=structure, dearest=twice)
        if determined:
            self._learn(lower=twice)
        else:
            self.reason = self.alike
            self._try_words(merged, twice)

    # --- a budget -------------------------------------------------------------------------------

    def _bound(self, merged: Quotient) -> None:
        """Bound the least budget from both sides, or find that there is none."""
        known = self.now.upper
        weight = known if isinstance(known, PathWeight) else fallback_weight(merged.graph)
        if not self.now.determined:
            self._look_at_cells(merged)
            if self._is_settled():
                return
        result = search(merged.graph, weight.value)
        if result.vectors:
            self._improve(merged, self._cost(merged, result))
        if result.passed_cap and not result.is_pinned:
            self._pass(merged, result, weight.value)
            return
        if result.family is not None:
            self._learn(well_formed=True, published=published_weight(merged.graph).value)
            self._lower_upper(result.family)
        if result.family is None or result.is_pinned:
            self.reason = self.reason or result.reason or _PINNED
            for found in () if self._is_settled() else dear_runs(merged, weight):
                self._improve(merged, found)
                if self._is_settled():
                    break
        elif self.now.dearest is None or self.now.dearest.value != result.family.value:
            raise BrokenInvariant("the dearest run does not cost what the search says")
        if self.now.dearest is not None and not self._is_settled() and not self.now.determined:
            self.reason = self.reason or self.alike
            self._try_words(merged, self.now.dearest)

    def _look_at_cells(self, merged: Quotient) -> None:
        """Bound the least budget by coarser cells, and from below by a dear run."""
        cells = cells_of(merged.whole)
        if cells is None:
            return
        try:
            coarse = quotient(augment(cells))
        except LimitReached:
            check_limits()  # is it more than the number of nodes?
            return
        known = self.now.upper_bound
        cap = fallback_weight(coarse.graph).value if known is None else known
        joined = joined_family(coarse.graph, cap)
        if joined is not None:
            self._lower_upper(replace(joined, cells=len(coarse.graph.states)))
        walk = dear_walk(merged.graph, cap)
        dear = self._cost(merged, walk)
        self._improve(merged, dear)
        for longer in (dear, *self._longer(merged, walk)):
            if self._is_settled():
                return
            self._try_words(merged, longer)
        if not self._is_settled():
            found = search(coarse.graph, self.now.upper_bound or cap).family
            if found is not None:
                self._lower_upper(replace(found, cells=len(coarse.graph.states)))

    def _longer(self, merged: Quotient, found: OptimumFound) -> Iterator[RunCost]:
        """Yield runs of one step more: what follows may tell the walk from others."""
        end = merged.graph.edges[found.walk[-1]].target if found.walk else 0
        for edge in merged.graph.leaving[end]:
            change = self._some_change(merged.graph.transition(edge))
            more = replace(found, walk=(*found.walk, edge), changes=(*found.changes, change))
            yield self._cost(merged, more)

    def _lower_upper(self, found: ClosedFamily) -> None:
        if self.now.upper_bound is None or found.value <= self.now.upper_bound:
            self._learn(upper=found)

    def _pass(self, merged: Quotient, result: OptimumFound, cap: Fraction) -> None:
        """A run costs more than every well-formed automaton could."""
        dearest = self.now.dearest
        if self.now.well_formed or dearest is None or dearest.value <= cap:
            raise BrokenInvariant("a run of a well-formed automaton passes its weight")
        found = lifted_structure(merged, merged.lift(result.walk))
        self._learn(well_formed=False, structure=found)
        if found is not None:
            self._spread(merged, found)
        elif not self._every_structure_costs(merged.graph):
            self.reason = _FREE
        elif self.now.determined:
            self._learn(unbounded=True)
        else:
            self.reason = self.alike

    def _improve(self, merged: Quotient, found: RunCost) -> None:
        """Note a run, and as a lower bound if its word, perhaps with more after it, is its own."""
        dearest = self.now.dearest
        if dearest is None or found.value > dearest.value:
            self._learn(dearest=found)
        if found.value <= self.now.lower_bound:
            return
        if self.now.determined:
            self._learn(lower=found)
            return
        longer = determined_extension(merged.whole, self.looks, found.run)
        if longer is not None:
            more = [self.automaton.transitions[t] for t in longer[len(found.run) :]]
            changes = (*found.changes, *map(self._some_change, more))
            self._learn(lower=run_cost(self.automaton, longer, changes))

    def _every_structure_costs(self, graph: Unfolding) -> bool:
        """Whether inputs change both ways, at every step of a cycle that compares."""
        inside = (graph.transition(k) for k in range(len(graph.edges)) if graph.is_internal(k))
        return {1, -1} <= {*self.automaton.changes} and all(
            self.automaton.reads(each) for each in inside if each.used
        )

    def _some_change(self, transition: Transition) -> int:
        return self.automaton.changes[0] if self.automaton.reads(transition) else 0

    def _try_words(self, merged: Quotient, found: RunCost) -> None:
        if self.with_words:
            self._note(bounds_of_run(merged.graph, found.run, found.changes))

    def _note(self, bounds: Iterable[WordBound]) -> None:
        for bound in bounds:
            if bound.value > self.now.lower_bound or bound.again is not None:
                self._learn(lower=bound)
            if self._is_settled():
                return


def _cycles(whole: Unfolding) -> Iterator[BadStructure]:
    yield from islice(leaking_cycles(whole), _MOST_STRUCTURES)
    disclosing = disclosing_cycle(whole)
    if disclosing is not None:
        yield disclosing


_PART = 2000  # nodes of a part that is looked at
_MOST_STRUCTURES = 200  # that are looked at where some of them cost nothing
_FREE = "runs cost more and more, but no structure was found that shows it"
_ALIKE = "several runs look alike"
NOT_TOLD = "what is published does not tell the steps of a run apart"
_PINNED = "many values are live at once: some have a fixed shift"
