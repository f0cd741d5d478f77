"""What a run really loses at one ε: the log-ratio of its probabilities, enclosed.

The run's samples and guards are an event like those of programs, and its probability is enclosed
by the same methods. Where no other run has its word, this is what the automaton loses.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.automata.model import Automaton, LaplaceNoise, OutputSample
from dipapprox.automata.runs import Run, dependencies
from dipapprox.automata.words import HalfLine, Letters, NearZero, Seen, WordBound
from dipapprox.data_classes import replace
from dipapprox.errors import BrokenInvariant
from dipapprox.events.canonical import canonical
from dipapprox.events.event import Event, Impossible
from dipapprox.events.reduce import reduce
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import LAPLACE
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.numerics.intervals import logarithm
from dipapprox.privacy.options import Options
from dipapprox.privacy.sources import open_method

NEAR = Fraction(1, 8)  # a number that is shown close to 0 is in (0, 1/8)

MOST_SAMPLES, MOST_ENTANGLED = 40, 14
"""Of a run, and of a part of it whose comparisons are no tree: with more it is not tried."""

_PIECES = 500  # into which an event may be split: more take seconds
_BITS = (40, 80, 160, 320, 640)
_RELATIVE = Fraction(1, 2**12)


@sound_arithmetic()
def log_ratio(
    automaton: Automaton, run: Run, ray: WordBound, eps: Fraction, limits: Limits
) -> Enclosure | None:
    """Enclose ln(Pr[word | second inputs] / Pr[word | first inputs]) / eps for one run.

    Args:
        ray: Its inputs, and the word that it shows.
        eps: Where, exact and > 0.

    Returns:
        None if the run has too many samples, or nothing encloses it narrowly enough.
    """
    if len(run) > MOST_SAMPLES:
        return None
    found = []
    for letters in (ray.first, ray.second):
        probability = _probability(event_of(automaton, run, letters, ray.word, eps), limits)
        if probability is None:
            return None
        found.append(logarithm(probability, _BITS[-1]))
    first, second = found
    return Enclosure((second.lower - first.upper) / eps, (second.upper - first.lower) / eps)


def event_of(
    automaton: Automaton, run: Run, letters: Letters, word: Sequence[Seen], eps: Fraction
) -> Event:
    """Return the event that a run takes place and shows a word: closed, over its samples."""
    samples: list[Distribution] = []
    guards = []
    for place, (index, letter, seen) in enumerate(zip(run, letters, word, strict=True)):
        transition = automaton.transitions[index]
        state = automaton.states[transition.source]
        samples.append(_law(state.compared, letter, eps))
        if transition.output is OutputSample.COMPARED:
            guards += _shown(place, seen)
    guards += [_below({i: 1, j: -1}, 0) for i, j in dependencies(automaton, run)]
    for index, letter, seen in zip(run, letters, word, strict=True):
        transition = automaton.transitions[index]
        if transition.output is OutputSample.FRESH:
            guards += _shown(len(samples), seen)
            samples.append(_law(automaton.states[transition.source].fresh, letter, eps))
    return Event(tuple(samples), tuple(guards))


def _law(noise: LaplaceNoise | None, letter: Fraction | None, eps: Fraction) -> Distribution:
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


def _probability(event: Event, limits: Limits) -> Enclosure | None:
    """Enclose a probability to a small relative width; None if that fails."""
    reduced = reduce(event)
    if isinstance(reduced, Impossible):
        return None
    if any(len(f.guards) >= len(f.samples) > MOST_ENTANGLED for f in reduced.factors):
        return None
    factors = [canonical(factor) for factor in reduced.factors]
    limits = replace(limits, pieces=min(limits.pieces, _PIECES))
    method = open_method(Options(limits=limits))
    for bits in _BITS:
        answers = method.enclose(list(dict.fromkeys(factors)), bits, limits)
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
