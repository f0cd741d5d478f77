"""The least budget of an automaton, or of a program for any number of rounds, as an answer.

What a run really loses at one ε is the log-ratio of its probabilities, enclosed: its samples and
guards are an event like those of programs. Where no other run has its word, this is what the
automaton loses.
"""

from __future__ import annotations

import time
from contextlib import suppress
from fractions import Fraction
from typing import Any

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.automata.analysis import Analysis, analyse
from dipapprox.automata.model import Automaton, OutputSample, gaps
from dipapprox.automata.runs import Run, RunCost, dependencies
from dipapprox.automata.structures import cost_of_rounds, gain_of_round, rounds_beyond
from dipapprox.automata.unfolding import stopping_states, with_visible_stops
from dipapprox.automata.words import HalfLine, NearZero, Seen, Word, WordBound, ray_of, turned
from dipapprox.errors import BrokenInvariant, EarlyEnd, NoCertificate, UserError
from dipapprox.events.canonical import canonical
from dipapprox.events.event import Event
from dipapprox.events.reduce import reduce
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.rounds import read_rounds
from dipapprox.language.core import Program
from dipapprox.language.dipa import AutomatonNoise
from dipapprox.language.finite_rounds import some_rounds
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import LAPLACE
from dipapprox.limits import at_most, check_limits, current
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.numerics.intervals import logarithm
from dipapprox.privacy.run import Options
from dipapprox.privacy.subjects import open_method
from dipapprox.proof_steps.budgets import BudgetBounds, replayed
from dipapprox.proof_steps.machines import read_by, rounds_json
from dipapprox.proof_steps.potentials import PotentialSearch
from dipapprox.proof_steps.serving import MOST_ENTRIES
from dipapprox.proofs.endless_proof import (
    AutomatonProof,
    FewRounds,
    Round,
    Stops,
    StreamProof,
    analysed,
    is_unbounded,
)
from dipapprox.proofs.evidence import in_own_words
from dipapprox.proofs.prove_real import prove_real
from dipapprox.rounds.compiled import Compiled, compile_program

NEAR = Fraction(1, 8)  # a number that is shown close to 0 is in (0, 1/8)

MOST_SAMPLES, MOST_ENTANGLED = 40, 14
"""Of a run, and of a part of it whose comparisons are no tree: with more it is not tried."""

_PIECES = 500  # into which an event may be split: more take seconds
_BITS = (40, 80, 160, 320, 640)
_RELATIVE = Fraction(1, 2**12)


@sound_arithmetic()
def log_ratio(automaton: Automaton, run: Run, ray: WordBound, eps: Fraction) -> Enclosure | None:
    """Enclose ln(Pr[word | second inputs] / Pr[word | first inputs]) / eps for one run, at eps > 0.

    None if the run has too many samples, or nothing encloses it narrowly enough. A ray has its
    inputs, and the word that it shows.
    """
    if len(run) > MOST_SAMPLES:
        return None
    found = []
    for word in (ray.word, turned(ray.word)):
        probability = _probability(event_of(automaton, run, word, eps))
        if probability is None:
            return None
        found.append(logarithm(probability, _BITS[-1]))
    first, second = found
    return Enclosure((second.lower - first.upper) / eps, (second.upper - first.lower) / eps)


def event_of(automaton: Automaton, run: Run, word: Word, eps: Fraction) -> Event:
    """Return the event that a run takes place for the first inputs of a word, and shows it: closed,
    over its samples."""
    samples: list[Distribution] = []
    guards = []
    for place, (index, step) in enumerate(zip(run, word, strict=True)):
        transition = automaton.transitions[index]
        state = automaton.states[transition.source]
        samples.append(_law(state.compared, step.first, eps))
        if transition.output is OutputSample.COMPARED:
            guards += _shown(place, step.seen)
    guards += [_below({i: 1, j: -1}, 0) for i, j in dependencies(automaton, run)]
    for index, step in zip(run, word, strict=True):
        transition = automaton.transitions[index]
        if transition.output is OutputSample.FRESH:
            guards += _shown(len(samples), step.seen)
            samples.append(_law(automaton.states[transition.source].fresh, step.first, eps))
    return Event(tuple(samples), tuple(guards))


def _law(noise: AutomatonNoise | None, letter: Fraction | None, eps: Fraction) -> Distribution:
    if noise is None:
        raise BrokenInvariant("a state with transitions has noise")
    return Distribution(LAPLACE, noise.mean + (letter or 0), 1 / (noise.rate * eps))


def _shown(sample: int, seen: Seen) -> list[LinearForm]:
    match seen:
        case NearZero():
            return [_below({sample: -1}, 0), _below({sample: 1}, -NEAR)]
        case HalfLine(end=end, upwards=True):
            return [_below({sample: -1}, end)]
        case HalfLine(end=end):
            return [_below({sample: 1}, -end)]
        case _:
            raise BrokenInvariant("a number is not seen as a symbol")


def _below(terms: dict[int, int], constant: Fraction | int) -> LinearForm:
    exact: dict[Symbol, Fraction] = {sample: Fraction(c) for sample, c in terms.items()}
    return LinearForm.of(exact, Fraction(constant))


@at_most(pieces=_PIECES)
def _probability(event: Event) -> Enclosure | None:
    reduced = reduce(event)
    if reduced is None or any(len(f.guards) >= len(f.samples) > MOST_ENTANGLED for f in reduced):
        return None
    factors = [canonical(factor) for factor in reduced]
    method = open_method(Options(limits=current()))
    for bits in _BITS:
        answers = method.enclose(list(dict.fromkeys(factors)), bits)
        known = dict(zip(dict.fromkeys(factors), answers, strict=True))
        lower = upper = Fraction(1)
        for factor in factors:
            each = known[factor]
            if isinstance(each, NotEnclosed):
                return None
            lower, upper = lower * each.lower, upper * each.upper
        product = Enclosure(lower, upper)
        if lower and product.width <= _RELATIVE * lower:
            return product
    return None


_ROUNDS = (1, 2, 4, 8)
MOST_STEPS = 10_000  # steps that may be taken for what illustrates an answer, and proves nothing
_MOST_ON_RAY = 400  # steps of a run for which inputs are looked for
_LONGEST = 20_000  # steps of a run that goes round a structure often: longer ones are not looked at


def prove_automaton(automaton: Automaton, budget: Fraction | None, stops: Stops) -> AutomatonProof:
    """Find the least D for which an automaton is (D·eps, 0)-private for every eps.

    Args:
        automaton: A valid one.
        budget: The claimed one: then the answer is about it. None asks whether there is one.
        stops: Whether it is seen where no guard holds.
    """
    begun = time.monotonic()
    stopping: tuple[str, ...] = ()
    if stops is Stops.VISIBLE:
        known: Analysis | None = None
        with EarlyEnd() as end:
            known = analyse(with_visible_stops(automaton))
        found = known or Analysis(automaton, reason=end.reason)
    else:
        found, places = analyse(automaton), gaps(automaton)
        with EarlyEnd():  # if there is no time to look, some too many
            places = stopping_states(automaton) if places else places
        stopping = tuple(automaton.states[state].name for state in places)
    compiled = in_own_words(found.automaton)
    ray = _ray(found)
    again = False
    if not (found.unbounded or found.loses_again or found.upper is not None):
        again = comes_again(automaton, stops is Stops.VISIBLE)
    caveat = None
    if stopping:
        where = ", ".join(stopping)
        caveat = f"that it may stop in {where}, where no guard holds, is taken as unseen"
    return AutomatonProof(
        program=automaton.name,
        parameters={},
        states=len(automaton.states),
        caveat=caveat,
        automaton=automaton,
        stops=stops,
        stopping=stopping,
        ray=ray,
        **_known(compiled, found, budget, again=again),
        seconds=time.monotonic() - begun,
    )


def _known(
    compiled: Compiled,
    analysis: Analysis,
    budget: Fraction | None,
    *,
    again: bool,
    quiet: Fraction | None = None,
    few: Fraction | None = None,
) -> dict[str, Any]:
    """Return what an answer says of a claimed and the least budget, if a few rounds need so much;
    see the fields of `EndlessProof`."""
    rounds, beyond = going_round(compiled, analysis, budget)
    lower, upper = analysed(compiled, analysis), _budget_known(compiled, analysis)
    lower, upper = max(lower, few or lower), upper if quiet is None else quiet
    has_none = again or is_unbounded(compiled, analysis) or analysis.loses_again
    reason = None
    if not has_none and lower != upper:
        reasons = [*compiled.losses, *([analysis.reason] if analysis.reason is not None else ())]
        reason = "; ".join(reasons) or "the run that was found has inputs that may not change so"
    published, structure, quotient = analysis.published, analysis.structure, analysis.quotient
    return {
        "compiled": compiled,
        "analysis": analysis,
        "budget": budget,
        "rounds": rounds,
        "beyond": beyond,
        "lower": lower,
        "upper": upper,
        "has_none": has_none,
        "reason": reason,
        "structures": () if structure is None else (structure.code,),
        "published_weight": None if published is None else published * compiled.factor,
        "quotient_states": None if quotient is None else len(quotient.graph.states),
        "again": again,
        "quiet": quiet,
    }


def _budget_known(compiled: Compiled, analysis: Analysis) -> Fraction | None:
    """Return a budget that an analysis proves; None if it proves none."""
    if not compiled.factor:
        return Fraction(0)  # adjacent inputs are equal
    return None if analysis.upper_bound is None else analysis.upper_bound * compiled.factor


def comes_again(subject: Automaton | Program, stops_are_seen: bool) -> bool:
    """Whether the kernel has replayed that steps lose again and again, however they came about:
    then no budget serves, at any ε."""
    with EarlyEnd(), at_most(MOST_STEPS), suppress(NoCertificate, NotProved):
        replayed(subject, stops_are_seen, BudgetBounds())
        return True
    return False


def _ray(found: Analysis) -> WordBound | None:
    """Return inputs for which the tight run loses what it needs; None if there is none such."""
    if found.unbounded or not isinstance(found.lower, RunCost):
        return None
    with EarlyEnd(), at_most(MOST_STEPS):
        if len(found.lower.run) <= _MOST_ON_RAY:
            return ray_of(found.automaton, found.lower)
    return None


def going_round(
    compiled: Compiled, found: Analysis, budget: Fraction | None
) -> tuple[tuple[Round, ...], int | None]:
    """Return what going round a structure needs, and the fewest rounds beyond a budget.

    The answer stands without inputs for which that is lost, and what is at ε = 1: where they take
    more than `MOST_STEPS`, some are missing. They are looked for where the automaton's inputs
    and samples are the program's.
    """
    structure, factor = found.structure, compiled.factor
    if structure is None or not is_unbounded(compiled, found):
        return (), None
    most = _LONGEST // len(structure.run)
    needed: list[tuple[int, RunCost]] = []
    beyond = None
    with EarlyEnd():
        for times in (each for each in _ROUNDS if each <= most):
            check_limits()
            needed.append((times, cost_of_rounds(found.automaton, structure, times)))
        gain = most * gain_of_round(found.automaton, structure) * factor
        if budget is not None and budget <= gain:
            beyond = rounds_beyond(found.automaton, structure, budget / factor)
    rounds = []
    with at_most(MOST_STEPS):
        for times, cost in needed:
            ray = ratio = None
            with EarlyEnd():
                if compiled.is_plain and len(cost.run) <= MOST_SAMPLES:
                    ray = ray_of(found.automaton, cost)
                if ray is not None:
                    ratio = log_ratio(found.automaton, cost.run, ray, Fraction(1))
            rounds.append(Round(times, cost.value * factor, ray, ratio))
    return tuple(rounds), beyond


TURNS = (1, 2, 3)  # numbers of rounds that are written out
_MOST_KNOWN = Fraction(30)  # a budget up to which one is looked for where none is known


def prove_rounds(program: Program, budget: Fraction | None) -> StreamProof:
    """Find the least D for which a program is (D·eps, 0)-private for any number of rounds.

    Args:
        budget: The claimed one: then the answer is about it. None asks whether there is one.
    """
    begun = time.monotonic()
    compiled = in_own_words(Automaton((), (), ()))
    with EarlyEnd() as end:
        compiled = compile_program(program)
        with_words = compiled.is_plain and compiled.tells
        looks = None if compiled.tells else compiled.seen
        analysis = analyse(compiled.automaton, with_words=with_words, looks=looks)
    if end.reason:
        analysis = Analysis(compiled.automaton, reason=end.reason)
    lower, upper = analysed(compiled, analysis), _budget_known(compiled, analysis)
    quiet, few, again = None, None, False
    if not (is_unbounded(compiled, analysis) or lower == upper or end.reason):
        quiet = _quiet(program, upper)
        upper = upper if quiet is None else quiet
        again = upper is None and comes_again(program, True)
        if not again and not compiled.tells:  # steps that are told need no comparing of runs
            few = _few_rounds(program, lower, upper)
    known = None if few is None else few.lower
    return StreamProof(
        program=program.name,
        parameters=program.parameters,
        states=len(compiled.automaton.states),
        subject=program,
        few=few,
        **_known(compiled, analysis, budget, again=again, quiet=quiet, few=known),
        seconds=time.monotonic() - begun,
    )


def _quiet(program: Program, upper: Fraction | None) -> Fraction | None:
    """Return a budget that serves as runs that publish nothing more are shifted together.

    None if none is found that is less than one that serves.
    """
    with EarlyEnd(), at_most(MOST_STEPS), suppress(NoCertificate, NotProved):
        machine, best = read_by(read_rounds, rounds_json(program)), upper
        for facts in (True, False):
            cap = _MOST_KNOWN if upper is None else upper
            search = PotentialSearch(machine, cap, facts, True, most=MOST_ENTRIES)
            if not search.quiet:
                break
            with suppress(NoCertificate):
                search.step()
                best = search.least if best is None else min(best, search.least)
        if best is not None and best != upper:
            replayed(program, True, BudgetBounds(best))
            return best
    return None


MOST_STATES = 300  # of rounds that are written out


def _few_rounds(program: Program, lower: Fraction, upper: Fraction | None) -> FewRounds | None:
    """Return rounds that, written out, need more than is known; None if none do.

    What is published does not tell the steps of such a program, but all runs that publish the same
    in so many rounds are compared.
    """
    best: FewRounds | None = None
    with EarlyEnd():
        for turns in TURNS:
            try:
                written = some_rounds(program, turns)
            except UserError:
                break
            with at_most(states=MOST_STATES):
                found = prove_real(written)
            # Where there is no budget, for each number of rounds there may be a reason of its own.
            if not found.has_none and found.lower > (lower if best is None else best.lower):
                best = FewRounds(turns, found.lower)
    if best is not None and upper is not None and best.lower > upper:
        raise BrokenInvariant("some rounds need more than all of them")
    return best
