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

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import assert_never

from dipapprox.certificates.budgets import (
    RecordedWord,
    Seen,
    SeenBeyond,
    SeenNearZero,
    SeenStop,
    SeenSymbol,
    WordLetter,
)
from dipapprox.checking.budgets.knowledge import NOTHING, Place, moves_from
from dipapprox.checking.budgets.machine import STOPPED, Machine, Move, symbol
from dipapprox.digits import brief_text
from dipapprox.language.automata import INSAMPLE, INSAMPLE_PRIME
from dipapprox.limits import Limits

_Held = tuple[int, ...]
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
        return f"letters: the rates are {brief_text(before)} and {brief_text(after)}"
    return None


def _rate(
    machine: Machine, letters: Sequence[WordLetter], side: int, limits: Limits
) -> Fraction | None:
    """Return the rate of a word for the first (0) or second (1) inputs; None if no run fits it.

    Samples are told by their numbers in the grid, costs in whole units. What is held at a place is
    the sample of each value that is compared later, in the order of the values.
    """
    units = _Units(machine, letters, side)
    costs: dict[Place, dict[_Held, int]] = {(machine.initial, NOTHING): {(): 0}}
    for number, letter in enumerate(letters):
        limits.check_states(sum(map(len, costs.values())))
        limits.check()
        given = units.inputs[number]
        prices: dict[int, list[int | None]] = {}
        after: dict[Place, dict[_Held, int]] = {}
        for place, before in costs.items():
            if (place[0] in machine.reading) != (given is not None):
                continue
            for step, target in moves_from(machine, place):
                move = machine.moves[step]
                if step not in prices:
                    prices[step] = units.prices(move, given or 0, letter.seen)
                if prices[step]:
                    _take(machine, move, before, prices[step], after.setdefault(target, {}))
        costs = after
    totals = [total for each in costs.values() for total in each.values()]
    return min(totals) * units.unit if totals else None


def _take(
    machine: Machine,
    move: Move,
    before: Mapping[_Held, int],
    prices: Sequence[int | None],
    after: dict[_Held, int],
) -> None:
    """Add what a move leads to, with the least costs.

    Args:
        machine: The automaton.
        move: From a place at which values are held at some costs.
        before: These.
        prices: What each sample of the grid costs; None where it is not possible.
        after: What is held where the move leads, and at what cost.
    """
    place = {x: index for index, x in enumerate(sorted(machine.needed[move.source]))}
    above = [place[x] for x in move.at_least]
    below = [place[x] for x in move.less]
    needed = sorted(machine.needed[move.target])
    kept = [None if x in move.stored else place[x] for x in needed]
    stores, last = None in kept, len(prices) - 1
    cheapest: dict[tuple[int, int], Sequence[int]] = {}
    for held, cost in before.items():
        low = max([held[index] for index in above]) if above else 0
        high = min([held[index] for index in below]) if below else last
        samples: Sequence[int] = range(low, high + 1)
        if not stores:  # all lead to the same
            if (low, high) not in cheapest:
                cheapest[low, high] = _cheapest(prices, samples)
            samples = cheapest[low, high]
        for z in samples:
            price = prices[z]
            if price is None:
                continue
            key = tuple([z if index is None else held[index] for index in kept])
            if cost + price < after.get(key, cost + price + 1):
                after[key] = cost + price


def _cheapest(prices: Sequence[int | None], samples: Sequence[int]) -> Sequence[int]:
    """Return one of the cheapest of some samples; none if none is possible."""
    found = [(price, z) for z in samples if (price := prices[z]) is not None]
    return (min(found)[1],) if found else ()


class _Units:
    """Inputs, means and ends of what is seen as whole numbers, and what samples cost."""

    def __init__(self, machine: Machine, letters: Sequence[WordLetter], side: int) -> None:
        inputs = [letter.second if side else letter.first for letter in letters]
        noises = [*machine.compared.values(), *machine.fresh.values()]
        means = {noise.mean for noise in noises}
        ends = {each.seen.end for each in letters if isinstance(each.seen, SeenBeyond)}
        known = [each for each in inputs if each is not None]
        self.scale = lcm(1, *(each.denominator for each in {*means, *ends, *known}))
        self.rates = lcm(1, *(noise.rate.denominator for noise in noises))
        self.unit = Fraction(1, self.scale * self.rates)
        self.inputs = [None if each is None else self._whole(each) for each in inputs]
        self.grid = self._touched(machine, letters)
        self.noises = {
            noise: (int(noise.rate * self.rates), self._whole(noise.mean)) for noise in noises
        }
        self.compared = {state: self.noises[noise] for state, noise in machine.compared.items()}
        self.fresh = {state: self.noises[noise] for state, noise in machine.fresh.items()}

    def _whole(self, number: Fraction) -> int:
        return int(number * self.scale)

    def _touched(self, machine: Machine, letters: Sequence[WordLetter]) -> list[int]:
        """All means of compared samples, and all ends of what is seen, ascending."""
        means = {self._whole(noise.mean) for noise in machine.compared.values()}
        found = {mean + (given or 0) for mean in means for given in {*self.inputs}}
        for letter in letters:
            match letter.seen:
                case SeenBeyond(end=end):
                    found.add(self._whole(end))
                case SeenNearZero():
                    found.add(0)
                case SeenSymbol() | SeenStop():
                    pass
                case _:
                    assert_never(letter.seen)
        return sorted(found)

    def prices(self, move: Move, given: int, seen: Seen) -> list[int | None]:
        """Return what each sample costs with which a move shows what is seen; empty if none do.

        None stands for a sample that shows something else.
        """
        match seen:
            case SeenSymbol(name=name):
                fits = not move.is_real and move.shows == symbol(name)
            case SeenStop():
                fits = move.shows == STOPPED
            case SeenNearZero() | SeenBeyond():
                fits = move.is_real
            case _:
                assert_never(seen)
        if not fits:
            return []
        rate, mean = self.compared[move.source]
        fixed = 0
        if move.shows == INSAMPLE_PRIME:
            fresh, centre = self.fresh[move.source]
            centre += given
            nearest = centre if self._allows(seen, centre) else self._end(seen)
            fixed = fresh * abs(nearest - centre)
        mean += given
        costs: list[int | None] = [fixed + rate * abs(z - mean) for z in self.grid]
        if move.shows == INSAMPLE:
            allowed = [self._allows(seen, z) for z in self.grid]
            costs = [cost if is_it else None for cost, is_it in zip(costs, allowed, strict=True)]
        return costs

    def _allows(self, seen: Seen, value: int) -> bool:
        match seen:
            case SeenBeyond(direction=direction):
                return (value - self._end(seen)) * direction >= 0
            case SeenNearZero():
                return value == 0
            case SeenSymbol() | SeenStop():
                return True
            case _:
                assert_never(seen)

    def _end(self, seen: Seen) -> int:
        return self._whole(seen.end) if isinstance(seen, SeenBeyond) else 0
