"""Random events whose guards are comparisons of sums, and some known ones."""

import random
from collections.abc import Sequence
from fractions import Fraction

from dipapprox.events.canonical import canonical
from dipapprox.events.event import Connected, Event
from dipapprox.events.reduce import connected_parts
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.family import Family
from dipapprox.linear.form import LinearForm

COEFFICIENTS = [Fraction(c) for c in (1, 1, -1, -1, 2, -2)] + [Fraction(1, 2)]


def random_law(chance: random.Random, families: Sequence[Family]) -> Distribution:
    """A law with small parameters; few values, so that coincidences occur."""
    mean = Fraction(chance.randint(-2, 2), chance.choice((1, 2)))
    scale = chance.choice((Fraction(1), Fraction(3, 2), Fraction(2)))
    return Distribution(chance.choice(families), mean, scale)


def random_sums(chance: random.Random, size: int, families: Sequence[Family]) -> Event:
    """Join forms to sums, bound and compare them, until one is left."""
    samples = tuple(random_law(chance, families) for _ in range(size))
    forms = [LinearForm.symbol(k) for k in range(size)]
    guards: list[LinearForm] = []

    def bound(form: LinearForm) -> None:
        sign = Fraction(chance.choice((1, -1)))
        guards.append((form + LinearForm.constant_form(chance.randint(-3, 3))).scaled(sign))

    while len(forms) > 1:
        first = forms.pop(chance.randrange(len(forms)))
        second = forms.pop(chance.randrange(len(forms)))
        if chance.random() < 0.3:
            bound(first)
        both = first + second.scaled(chance.choice(COEFFICIENTS))
        if chance.random() < 0.25:
            bound(both)
            forms.append(first)  # what is compared with it occurs nowhere else
        else:
            forms.append(both)
            if chance.random() < 0.6:
                bound(both)
    bound(forms[0])
    return Event(samples, tuple(guards))


def parts_of(event: Event) -> list[Connected]:
    """The canonical parts; none if the event is impossible."""
    return [canonical(part) for _, part in connected_parts(event) or ()]


def partial_sums(law: Distribution, count: int) -> Event:
    """All of the first `count` partial sums are at least 0."""
    sums = ({k: Fraction(-1) for k in range(n)} for n in range(1, count + 1))
    return Event((law,) * count, tuple(LinearForm.of(each) for each in sums))


def tree_of_counters(laws: Sequence[Distribution], thresholds: Sequence[int]) -> Event:
    """Every node of a binary tree, a power of two leaves, is at least its threshold."""
    guards, size, place = [], 1, 0
    while size <= len(laws):
        for start in range(0, len(laws), size):
            terms = {k: Fraction(-1) for k in range(start, start + size)}
            guards.append(LinearForm.of(terms, Fraction(thresholds[place])))
            place += 1
        size *= 2
    return Event(tuple(laws), tuple(guards))
