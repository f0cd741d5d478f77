"""The step of couplings of a service: stores, pairs of them, and how paths are matched."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dipapprox.errors import NoCertificate
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.kernel import services as kernel
from dipapprox.kernel.couplings import Case, Couplings, Store
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.machine import read_value
from dipapprox.kernel.paths import Path, Sample
from dipapprox.kernel.signs import Signs
from dipapprox.language.core import Value
from dipapprox.proof_steps.machines import Json, number_json, value_json
from dipapprox.services.couplings import matched
from dipapprox.services.loss import Loss
from dipapprox.services.pairs import RunPairs


class UnmatchedCall(Exception):
    """A call whose paths do not tell what it replies: it is to be followed exactly."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class CouplingWriter:
    """Writes the step of couplings of a loss with an upper bound; follows some calls exactly."""

    def __init__(
        self, machine: kernel.Service, loss: Loss, pairs: RunPairs, exact: set[int]
    ) -> None:
        self._machine, self._limits = machine, pairs.system.limits
        self._loss, self._pairs, self._exact = loss, pairs, exact
        system = pairs.system
        held = [cell for cell in system.service.states if cell.name in system.kept]
        self._held = [cell.name for cell in held]
        if not all(cell.is_additive for cell in held):
            raise NoCertificate("cells that are compared are known by their differences only")

    def step(self, budget: Fraction) -> dict[str, Json]:
        """Return the step."""
        system = self._pairs.system
        points: dict[tuple[Store, Store], list[Json]] = {}
        valued = zip(self._pairs.nodes, self._loss.values, strict=True)
        for (first, second, apart), value in valued:
            key = (self._store(system.states[first]), self._store(system.states[second]))
            shifts: Json = [number_json(-each) for each in apart]
            points.setdefault(key, []).append([shifts, number_json(value)])
        stores = [self._store(state) for state in self._pairs.parents]
        changes: list[list[Json]] = [[_written(store), None] for store in stores]
        pairs: list[list[Json]] = [
            [_written(one), _written(other), listed, None]
            for (one, other), listed in points.items()
        ]
        step: dict[str, Any] = {
            "rule": "couplings",
            "from": [],
            "eps": None if system.eps is None else number_json(system.eps),
            "budget": number_json(budget),
            "held": [*self._held],
            "followed": [
                "exact" if k in self._exact else "symbols" if not k and system.any_data else "given"
                for k in range(len(self._machine.calls))
            ],
            "changes": changes,
            "pairs": pairs,
        }
        found = Couplings(self._machine, Signs.at(system.eps), step)
        for written, store in zip(changes, stores, strict=True):
            written[-1] = [self._groups(found, case) for case in found.changes(store)]
        for written, key in zip(pairs, points, strict=True):
            written[-1] = [self._groups(found, case) for case in found.calls(key)]
        return step

    def _store(self, state: Sequence[Value | None]) -> Store:
        return tuple([read_value(value_json(value)) for value in state if value is not None])

    def _paths(self, found: Couplings, case: Case) -> list[list[Path]]:
        self._limits.check()
        try:
            return [[path for path, _ in found.paths(*side)] for side in case[:2]]
        except NotProved as obstacle:
            number = case[0][1][0]
            if number in self._exact:
                raise NoCertificate(f"the kernel does not follow a call: {obstacle}") from None
            raise UnmatchedCall(number) from None

    def _groups(self, step: Couplings, case: Case) -> Json:
        """Match paths that show the same, as outcomes are matched."""
        ours, theirs = self._paths(step, case)
        first, second = _classes(ours), _classes(theirs)
        if first.keys() - second.keys():
            raise UnmatchedCall(case[0][1][0])
        found: list[Json] = []
        for label, left in first.items():
            ways = list(left.items()), list(second[label].items())
            for ours_alike, theirs_alike in matched(*ways, lambda way: way[0][0]):
                one, other = (
                    [k for _, own in each for k in own] for each in (ours_alike, theirs_alike)
                )
                gain = self._gain([ours[k] for k in one], [theirs[k] for k in other])
                found.append([[*one], [*other], gain])
        plain: list[Json] = [[[k], [k], 0] for k in range(len(ours))]
        return None if found == plain else found

    def _gain(self, ours: Sequence[Path], theirs: Sequence[Path]) -> Json:
        nothing = Ratio.constant(Fraction(0))
        p, q = (sum((path.weight for path in paths), nothing) for paths in (ours, theirs))
        if p == q:
            return 0
        found = self._pairs.system.gain(ratio_of(p), ratio_of(q)).upper
        if found is None:
            raise NoCertificate("how much likelier a choice is, is not bounded")
        return number_json(found)


def _written(store: Store) -> Json:
    return [value_json(value_of(value)) for value in store]


_Classes = dict[tuple[object, object], list[int]]
"""Paths, by the stores that they lead to and the means of their samples."""


def _classes(paths: Sequence[Path]) -> dict[object, _Classes]:
    """Sort paths by what they show and draw."""
    found: dict[object, _Classes] = {}
    for number, path in enumerate(paths):
        samples = [each for each in path.atoms if isinstance(each, Sample)]
        drawn = tuple((each.family, each.size) for each in samples)
        alike = found.setdefault((tuple(path.said), tuple(path.guards), drawn), {})
        means = tuple(each.mean for each in samples)
        alike.setdefault((tuple(path.store.items()), means), []).append(number)
    return found


def ratio_of(ratio: Ratio) -> ExponentialRatio:
    """Return a quotient of the kernel as the engine has it."""
    return ExponentialRatio.of(
        _polynomial(ratio.numerator),
        {_polynomial(factor): exponent for factor, exponent in ratio.denominator},
    )


def _polynomial(function: Sum) -> ExponentialPolynomial:
    return ExponentialPolynomial.of({(n, Fraction(q)): Fraction(c) for (q, n), c in function.terms})


def value_of(value: str | int | Fraction) -> Value:
    """Return a value of the kernel as the language has it."""
    return value if isinstance(value, str) else Fraction(value)
