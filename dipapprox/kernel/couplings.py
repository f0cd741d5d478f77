"""Budgets of services that serve every eps and all sequences of calls: the rule of couplings.

A *pair* is a store of each of two runs: the values of cells, where some integer cells, those that
are *held*, are known by their differences only, the second run's cell minus the first one's. A pair
(x, y, s) has a number V >= 0: whatever is called from there on may be at most e^(V eps) times as
likely to be seen from x as from y. Runs in the same store have V = 0.

Theorem. Let the initial store and all others that a call leads to be listed; let there be numbers
V for pairs, and B for what the call comes to in which the runs differ. For all calls from a pair
let every path i of the first run, of probability p_i where its samples are as they are (`Calls`),
be in one *group* of paths I with some paths J of the second run, in no other group, so that

  - sum of p_i over I <= e^(c eps) * (sum of q_j over J) for every eps > 0;
  - for all i in I and j in J, samples that meet the guards of i meet those of j and show the same,
    and it costs a to draw them there: the sum of |difference of the means of a sample| / (its
    size), in directions in which its family can be shifted (`laws`); 0 for no scale size / eps;
  - V >= c + a + V', V' the number of the pair that i and j lead to.

Let the same hold of B and the calls in which the runs differ. Then the service is (B eps, 0)-
differentially private for every eps > 0. If the sums are compared at one eps only, it is so there.

Proof. Let m_x be the measure of what is seen of some calls from x, each chosen after what was seen
before. By induction over their number m_x <= e^(V eps) m_y. What path i shows has, but for p_i, a
measure M_i, and what follows is independent of it, as cells keep no samples: m_x is the sum of
p_i M_i m_x(i). Samples have densities at most e^(a eps) times those around the other means, so
M_i m_x(i) <= e^((a + V') eps) M_j m_y(j), which is at most e^((V - c) eps) M_j m_y(j), for all i in
I, j in J. Multiplied by p_i q_j and added up, that is the claim for one group: the left side has
the sum of all q_j as a factor, the right one that of all p_i. Groups have no j in common, so they
add up. Before the runs differ they are one.

What is held. V has several points (s, V) for the same stores, and arguments that are symbols have
two ends. Costs and what a path leads to are linear in s and the arguments, but for |.|,
which is convex. So if the same groups serve all points and ends, they serve what is between, with
the averages of V: points of the same stores have one list of groups, and what holds of a guard does
so for one reason. Means of integer noise are integers at integers between, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

from dipapprox.kernel.errors import BadProof, Refuted, spend
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.forms import Form, has_integers, only
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.laws import FAMILIES, IntegerFamily
from dipapprox.kernel.machine import Number, Value, read_value
from dipapprox.kernel.paths import IMPOSSIBLE, Beside, Held, Path, Read, Sample, number_form
from dipapprox.kernel.proofs import positive
from dipapprox.kernel.reading import as_integer, as_list, as_name, as_number, as_word
from dipapprox.kernel.services import Arguments, Calls, Service
from dipapprox.kernel.signs import Signs

ZERO = Fraction(0)
Store = tuple[Value, ...]
Shifts = tuple[Number, ...]  # of what is held

Ends = tuple[tuple[Fraction, ...], tuple[Fraction, ...]]
"""Values of arguments that are symbols, in both runs."""

Way = tuple[int, Arguments | None, tuple[tuple[Fraction, ...], ...]]
"""A call, its arguments, and the ends of those that are symbols; None is no call."""

Place = tuple[Fraction, Shifts, Ends]  # what may be lost, and where

Case = tuple[tuple[Store, Way], tuple[Store, Way], list[Place]]
"""The stores of two runs, what is called in them, and the places at which that is looked at."""


def couplings(service: Service, step: Mapping[str, Any]) -> Budgets:
    """V(pair) >= cost of a group of paths + V(pair that they lead to): B is enough.

    Theorem (`couplings`): paths of two runs that show the same are matched in groups; a group costs
    how much likelier its choices are in the first run, and how far apart its samples are drawn.

    Step: "eps": one, or null for all; "budget"; "held": cells; "followed": how calls are, "given"
    its arguments, "symbols" in their place, or "exact", without samples in its paths; "changes":
    [store, the groups of every call in which runs differ] for all stores, of the other cells;
    "pairs": [first store, second one, [[shifts, V], …], the groups of every call].
    """
    eps = None if step["eps"] is None else positive(step["eps"], "eps")
    found = Couplings(service, Signs.at(eps), step)
    for store, groups in found.stores.items():
        for way in found.asked:
            found.paths(store, way)
        found.require(found.changes(store), groups)
    for (_, _, _, groups), key in zip(step["pairs"], found.pairs, strict=True):
        found.require(found.calls(key), groups)
    return Budgets(found.budget, eps=eps)


class Couplings:
    """Such a step: the stores, the numbers V, and how calls are followed."""

    def __init__(self, service: Service, signs: Signs, step: Mapping[str, Any]) -> None:
        self._service, self._signs = service, signs
        self.paths = cache(self._paths)
        self.budget = as_number(step["budget"], "a budget")
        cells = dict(service.cells)
        self._held = tuple([as_name(name, "a cell") for name in as_list(step["held"], "cells")])
        first = [cells.pop(name) if name in cells else None for name in self._held]
        if not all(isinstance(value, int) for value in first):
            raise Refuted("what is held is no integer at first, or no cell")
        self._open = tuple(cells)
        self._calls = Calls(service, self._held, signs)
        self.asked: list[Way] = []
        self._exact = set[int]()
        ways = as_list(step["followed"], "calls", len(service.calls))
        for number, (call, json) in enumerate(zip(service.calls, ways, strict=True)):
            domains = [domain for _, domain in call.arguments]
            way = as_word(json, "how calls are followed", ("given", "symbols", "exact"))
            if way == "symbols":
                self.asked.append((number, (None,) * len(domains), _ends(domains)))
            else:
                self.asked += [(number, given, ((),)) for given in product(*domains)]
            spend(2 * len(self.asked))
            if way == "exact":
                self._exact.add(number)
        listed = [as_list(each, "changes", 2) for each in as_list(step["changes"], "changes")]
        self.stores = {self._store(store): groups for store, groups in listed}
        if len(self.stores) < len(listed) or tuple(cells.values()) not in self.stores:
            raise BadProof("a store twice, or the initial one is not listed")
        self._same: Shifts = (ZERO,) * len(self._held)
        self.pairs: dict[tuple[Store, Store], dict[Shifts, Fraction]] = {}
        for each in as_list(step["pairs"], "pairs"):
            one, other, points, _ = as_list(each, "a pair", 4)
            key = self._store(one), self._store(other)
            if key in self.pairs:
                raise BadProof("a pair twice")
            self.pairs[key] = self._points(key[0] == key[1], points)

    def _store(self, json: object) -> Store:
        return tuple(map(read_value, as_list(json, "a store", len(self._open))))

    def _points(self, is_one: bool, json: object) -> dict[Shifts, Fraction]:
        # Runs in the same store, too, are among what is averaged.
        found: dict[Shifts, Fraction] = {self._same: ZERO} if is_one else {}
        for each in as_list(json, "points"):
            shifts, value = as_list(each, "a point", 2)
            listed = as_list(shifts, "shifts", len(self._held))
            point = tuple([as_number(shift, "a shift") for shift in listed])
            left = as_number(value, "what may be lost")
            if point in found or left < 0:
                raise BadProof("a point twice, or one below 0")
            found[point] = left
        if not found:
            raise BadProof("a pair without points")
        return found

    def _paths(self, store: Store, way: Way) -> list[tuple[Path, Store]]:
        """Return the paths of a call, or of none, each with the store that it leads to."""
        number, given, _ = way
        follow = self._calls.exactly if number in self._exact else self._calls.paths
        paths = [self._calls.nothing_done(store)]
        if given is not None:
            paths = follow(self._service.calls[number], store, given)
        return [(path, self._after(path)) for path in paths]

    def _after(self, path: Path) -> Store:
        spend(100)
        samples = [atom for atom in path.atoms if isinstance(atom, Sample)]
        means = [s.mean for s in samples if isinstance(FAMILIES[s.family], IntegerFamily)]
        for form in map(number_form, (*(path.store[name] for name in self._held), *means)):
            random = any(isinstance(path.atoms[atom], Sample) for atom, _ in form.terms)
            if random or not has_integers(form):
                raise Refuted("what is held, or the mean of integer noise, is no integer")
        found = tuple([v for n in self._open if not isinstance(v := path.store[n], Form)])
        if found not in self.stores:
            raise Refuted("a call leads to a store that is not listed")
        return found

    # --- what is matched ---------------------------------------------------------------------

    def changes(self, store: Store) -> Iterator[Case]:
        """Yield the calls in which runs differ, from a store."""
        data = [way for way in self.asked if way[0] == 0]
        spend(30 * len(data) ** 2)
        stay: Way = 0, None, ((),)
        ways = [*product(data, data)]
        if self._service.inserts:
            ways = [way for each in data for way in ((each, stay), (stay, each))]
        for one, other in ways:
            spend(15 * len(one[2]) * len(other[2]))
            places = [(self.budget, self._same, ends) for ends in product(one[2], other[2])]
            yield (store, one), (store, other), places

    def calls(self, key: tuple[Store, Store]) -> Iterator[Case]:
        """Yield the calls from a pair."""
        (first, second), points = key, self.pairs[key]
        for way in self.asked:
            spend(30 + 10 * len(points) * len(way[2]))
            places = [(left, point, (e, e)) for point, left in points.items() for e in way[2]]
            yield (first, way), (second, way), places

    def require(self, found: Iterable[Case], json: object) -> None:
        """Check the groups of cases: [paths, paths, c]; null: each path with the same one."""
        cases = list(found)
        for case, groups in zip(cases, as_list(json, "calls", len(cases)), strict=True):
            self._require(case, groups)

    def _require(self, case: Case, json: object) -> None:
        ours, theirs, places = self.paths(*case[0]), self.paths(*case[1]), case[2]
        groups = [[[k], [k], 0] for k in range(len(ours))] if json is None else json
        taken, matched = list[int](), list[int]()
        for each in as_list(groups, "groups"):
            first, second, factor = as_list(each, "a group", 3)
            for own, paths in ((as_list(first, "paths"), ours), (as_list(second, "paths"), theirs)):
                if not all(0 <= as_integer(k, "a path") < len(paths) for k in own):
                    raise Refuted("there is no such path")
            taken, matched = taken + first, matched + second
            gain = as_number(factor, "a gain")
            p = sum((ours[k][0].weight for k in first), IMPOSSIBLE)
            q = sum((theirs[k][0].weight for k in second), IMPOSSIBLE)
            if gain or p != q:
                slack = Ratio(Sum.exponential(gain)) * q + p.scaled(Fraction(-1))
                if not self._signs.tell(slack.numerator, positive=False):
                    raise Refuted("choices of the first run are likelier than a group says")
            for (mine, left), (another, after) in product(
                [ours[k] for k in first], [theirs[k] for k in second]
            ):
                self._require_loss((mine, another), gain, places, (left, after))
        if sorted(taken) != list(range(len(ours))) or len(set(matched)) < len(matched):
            raise Refuted("a path of the first run in no group, or one in two groups")

    def _require_loss(
        self,
        paths: tuple[Path, Path],
        gain: Fraction,
        places: Sequence[Place],
        after: tuple[Store, Store],
    ) -> None:
        """Make sure that paths are alike, and V >= gain + cost + V', at every place."""
        one, other = paths
        there = self.pairs.get(after, {self._same: ZERO} if after[0] == after[1] else {})
        spend(20 + 20 * len(places) * (1 + len(other.guards)))
        for left, point, (mine, theirs) in places:
            atoms = _atoms(one, self._same, mine), _atoms(other, point, theirs)
            both = Beside(paths, atoms, {})
            both.require_alike()
            held = [both.ends(one.store[n], other.store[n])[0] for n in self._held]
            lost = there.get(tuple(held))
            if lost is None:
                raise Refuted("a call leads to a pair that is not listed")
            missing = gain + both.cost() + lost - left
            if missing > 0:
                raise Refuted(f"{missing} is missing of what may be lost")


def _atoms(path: Path, held: Shifts, arguments: Sequence[Fraction]) -> list[Form]:
    """Return atoms: what is held, shifted; numbers for arguments; samples."""
    found, values = list[Form](), iter(arguments)
    for atom in path.atoms:
        match atom:
            case Held():
                found.append(only(len(found)).plus(Form(held[len(found)])))
            case Read():
                found.append(Form(next(values)))
            case Sample():
                found.append(only(len(found)))
    return found


def _ends(domains: Sequence[Sequence[Value]]) -> tuple[tuple[Fraction, ...], ...]:
    """The ends of what arguments may be that are symbols."""
    ranges = []
    for domain in domains:
        integers = [Fraction(value) for value in domain if isinstance(value, int)]
        if len(integers) < len(domain):
            raise Refuted("an argument that is a symbol is no integer")
        ranges.append(sorted({min(integers), max(integers)}))
    return tuple(product(*ranges))
