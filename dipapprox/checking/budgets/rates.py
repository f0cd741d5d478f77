"""Lower bounds by words that several runs may fit: their rates as ε grows.

As ε → ∞ the probability of a word is about e^(-rate eps): the rate is the least, over the feasible
runs that fit the word and over samples z that their guards and the word allow, of Σ d_j |z_j - m_j|
(Laplace's principle; of a finite sum the slowest term remains). A budget that serves every ε is at
least the difference of the rates of two adjacent inputs. For one run the sum is least where every
sample equals a mean or an end of what is seen: differences of samples are bounded by 0 alone, so a
group of equal samples that touches neither could be moved at no cost until it does. So a pass over
the word, with the samples that the stored values hold, finds the rate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import assert_never

from dipapprox.certificates.budgets import (
    RecordedWord,
    SeenBeyond,
    SeenNearZero,
    SeenSymbol,
    WordLetter,
)
from dipapprox.checking.budgets.knowledge import NOTHING, Place, moves_from
from dipapprox.checking.budgets.machine import Machine, Move, symbol
from dipapprox.language.automata import INSAMPLE, INSAMPLE_PRIME
from dipapprox.limits import Limits

_Held = tuple[tuple[int, int], ...]
"""The samples, by number, of the stored values that are compared later."""


def examine_word(
    machine: Machine, recorded: RecordedWord, bound: Fraction, limits: Limits
) -> str | None:
    """Say why a word does not prove that no budget below `bound` serves, or what in it is false.

    Raises:
        LimitReached: If `limits` run out.
    """
    for number, letter in enumerate(recorded.letters):
        first, second = letter.first, letter.second
        if (first is None) != (second is None):
            return f"letters[{number}]: either both read an input, or none"
        if first is not None and second is not None and abs(first - second) > 1:
            return f"letters[{number}]: the inputs differ by more than 1"
    before = _rate(machine, recorded.letters, 0, limits)
    after = _rate(machine, recorded.letters, 1, limits)
    if before is None or after is None:
        return "letters: no run fits the word"
    if before - after != bound:
        return f"letters: the rates are {before} and {after}"
    return None


def _rate(
    machine: Machine, letters: Sequence[WordLetter], side: int, limits: Limits
) -> Fraction | None:
    """Return the rate of a word for the first (0) or second (1) inputs; None if no run fits it.

    Samples are told by their numbers in the grid, costs in whole units.
    """
    inputs = [letter.second if side else letter.first for letter in letters]
    grid = sorted(set(_touched(machine, letters, inputs)))
    unit = _unit(machine, grid, inputs)
    prices: dict[object, list[tuple[int, int]]] = {}
    costs: dict[Place, dict[_Held, int]] = {(machine.initial, NOTHING): {(): 0}}
    for letter, given in zip(letters, inputs, strict=True):
        limits.check_states(sum(map(len, costs.values())))
        limits.check()
        after: dict[Place, dict[_Held, int]] = {}
        for place, before in costs.items():
            if (place[0] in machine.reading) != (given is not None):
                continue
            for number, target in moves_from(machine, place):
                alike = number, given, letter.seen
                if alike not in prices:
                    exact = _samples(
                        machine, machine.moves[number], grid, given or Fraction(0), letter
                    )
                    prices[alike] = [(sample, int(price / unit)) for sample, price in exact]
                if prices[alike]:
                    move = machine.moves[number]
                    _take(machine, move, before, prices[alike], after.setdefault(target, {}))
        costs = after
    totals = [total for each in costs.values() for total in each.values()]
    return min(totals) * unit if totals else None


def _take(
    machine: Machine,
    move: Move,
    before: Mapping[_Held, int],
    prices: Sequence[tuple[int, int]],
    after: dict[_Held, int],
) -> None:
    """Add what a move leads to, with the least costs.

    Args:
        machine: The automaton.
        move: From a place at which values are held at some costs.
        before: These.
        prices: What samples cost, in the order of the samples.
        after: What is held where the move leads, and at what cost.
    """
    needed = machine.needed[move.target]
    new = [x for x in move.stored if x in needed]
    for held, cost in before.items():
        known = dict(held)
        low = max([known[x] for x in move.at_least], default=0)
        high = min([known[x] for x in move.less], default=prices[-1][0])
        allowed = [each for each in prices if low <= each[0] <= high]
        if not allowed:
            continue
        old = [each for each in held if each[0] in needed and each[0] not in move.stored]
        if not new:
            allowed = [(0, min([price for _, price in allowed]))]
        for sample, price in allowed:
            key = tuple(sorted([*old, *((x, sample) for x in new)])) if new else tuple(old)
            total = cost + price
            if total < after.get(key, total + 1):
                after[key] = total


def _unit(
    machine: Machine, grid: Sequence[Fraction], inputs: Sequence[Fraction | None]
) -> Fraction:
    """Return a cost of which all costs are whole multiples."""
    noises = [*machine.compared.values(), *machine.fresh.values()]
    places = [*grid, *(noise.mean for noise in noises), *(each or Fraction(0) for each in inputs)]
    rates = lcm(*(noise.rate.denominator for noise in noises))
    return Fraction(1, rates * lcm(*(place.denominator for place in places)))


def _touched(
    machine: Machine, letters: Sequence[WordLetter], inputs: Sequence[Fraction | None]
) -> Iterator[Fraction]:
    """Yield all means of compared samples, and all ends of what is seen."""
    means = {noise.mean for noise in machine.compared.values()}
    for letter, given in zip(letters, inputs, strict=True):
        yield from (mean + (given or 0) for mean in means)
        match letter.seen:
            case SeenBeyond(end=end):
                yield end
            case SeenNearZero():
                yield Fraction(0)
            case SeenSymbol():
                pass
            case _:
                assert_never(letter.seen)


def _samples(
    machine: Machine, move: Move, grid: Sequence[Fraction], given: Fraction, letter: WordLetter
) -> list[tuple[int, Fraction]]:
    """Return the samples with which a move shows what is seen, and what each of them costs."""
    seen = letter.seen
    if isinstance(seen, SeenSymbol):
        if move.shows != symbol(seen.name) or move.is_real:
            return []
    elif not move.is_real:
        return []
    noise = machine.compared[move.source]
    fixed = Fraction(0)
    if move.shows == INSAMPLE_PRIME:
        fresh = machine.fresh[move.source]
        mean = fresh.mean + given
        nearest = mean if _allows(seen, mean) else _end(seen)
        fixed = fresh.rate * abs(nearest - mean)
    return [
        (number, fixed + noise.rate * abs(z - noise.mean - given))
        for number, z in enumerate(grid)
        if move.shows != INSAMPLE or _allows(seen, z)
    ]


def _allows(seen: SeenSymbol | SeenNearZero | SeenBeyond, value: Fraction) -> bool:
    match seen:
        case SeenBeyond(end=end, direction=direction):
            return (value - end) * direction >= 0
        case SeenNearZero():
            return value == 0
        case SeenSymbol():
            return True
        case _:
            assert_never(seen)


def _end(seen: SeenSymbol | SeenNearZero | SeenBeyond) -> Fraction:
    return seen.end if isinstance(seen, SeenBeyond) else Fraction(0)
