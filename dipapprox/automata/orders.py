"""What runs of an automaton know of the order of the values that they hold."""

from __future__ import annotations

from dipapprox.automata.model import Automaton, members
from dipapprox.automata.validity import uncovered
from dipapprox.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class ValueOrder:
    """What is known of the order of values: rows of masks, one for each variable.

    Of variables that are larger, those that are smaller (the transpose), and those that hold the
    same sample, the variable itself among them.
    """

    over: tuple[int, ...]
    under: tuple[int, ...]
    equal: tuple[int, ...]

    def at_most(self, variables: int) -> int:
        """Return the variables that are smaller than, or equal to, one of `variables`."""
        found = 0
        for i in members(variables):
            found |= self.under[i] | self.equal[i]
        return found

    def at_least(self, variables: int) -> int:
        """Return the variables that are larger than, or equal to, one of `variables`."""
        found = 0
        for i in members(variables):
            found |= self.over[i] | self.equal[i]
        return found

    def after(self, above: int, below: int, assigned: int) -> ValueOrder | None:
        """Return the order after a sample above `above`, below `below` went to `assigned`; None if
        no sample can lie there, as some value that is to be below it is not below one that is to be
        above it."""
        small, large = self.at_most(above), self.at_least(below)
        if small & large:
            return None
        if not assigned and not (small and large):
            return self
        over, under, equal = list(self.over), list(self.under), list(self.equal)
        for i in members(small):
            over[i] |= large
        for i in members(large):
            under[i] |= small
        if assigned:
            kept = ~assigned
            for i in range(len(over)):
                over[i] &= kept
                under[i] &= kept
                equal[i] &= kept
            small &= kept
            large &= kept
            for i in members(small):
                over[i] |= assigned
            for i in members(large):
                under[i] |= assigned
            for i in members(assigned):
                over[i], under[i], equal[i] = large, small, assigned
        return ValueOrder(tuple(over), tuple(under), tuple(equal))


def unordered(count: int) -> ValueOrder:
    """Return the order of `count` variables of which nothing is known."""
    return ValueOrder((0,) * count, (0,) * count, tuple(1 << i for i in range(count)))


def steps_before_stops(automaton: Automaton, most: int) -> int:
    """Return how many steps all feasible runs take, whatever their samples are, up to `most`;
    perhaps fewer, where there are many orders of the values."""
    leaving = automaton.leaving()
    now = {(0, unordered(len(automaton.variables)))}
    for steps in range(most):
        after = set()
        for state, order in now:
            own = [automaton.transitions[index] for index in leaving[state]]
            missing = uncovered(own)
            if any(order.after(above, below, 0) is not None for above, below in missing):
                return steps
            for step in own:
                reached = order.after(step.above, step.below, step.assigned)
                if reached is not None:
                    after.add((step.target, reached))
        if len(after) > _MOST_ORDERS:
            return steps + 1
        now = after
    return most


_MOST_ORDERS = 1_000
