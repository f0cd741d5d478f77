"""Paths: the ways in which a block of statements may be gone through, with real numbers unknown.

Numbers that are not known are atoms: what cells held before, inputs that are read, samples. A path
is taken where its guards hold, forms over atoms each >= 0, or > 0. The paths of a block are
disjoint and leave nothing out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from dipapprox.kernel.errors import Refuted, spend
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.forms import NOTHING, Form, Stored, copied, has_integers, only, over, size_of
from dipapprox.kernel.laws import FAMILIES, IntegerFamily
from dipapprox.kernel.machine import Block, Number
from dipapprox.kernel.walk import Guard, Noise, Walk, Where, form_of

CERTAIN, IMPOSSIBLE = Ratio.constant(Fraction(1)), Ratio.constant(Fraction(0))
"""Probabilities."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a cell held at the beginning."""

    cell: str


@dataclass(frozen=True, slots=True)
class Read:
    """A number that is read from an input."""

    name: str


@dataclass(frozen=True, slots=True)
class Sample:
    """A fresh sample, of scale `size` * eps ** `power`: for -1 alone its noise can be shifted."""

    family: str
    mean: Form
    size: Fraction
    power: int = -1


Atom = Held | Read | Sample


@dataclass(slots=True, eq=False)
class Path:
    """A path under way, or at its end.

    Cells hold values, and forms over atoms by number; `said` was published, in this order; what was
    chosen at random has the probability `weight`.
    """

    store: dict[str, Stored]
    atoms: tuple[Atom, ...]
    guards: tuple[Guard, ...] = ()
    said: tuple[Stored, ...] = ()
    ended: bool = False
    weight: Ratio = CERTAIN

    @property
    def held(self) -> list[str]:
        """The cells whose values at the beginning are atoms; these come first."""
        return [atom.cell for atom in self.atoms if isinstance(atom, Held)]

    @property
    def reads(self) -> list[str]:
        """The inputs that are read, in turn."""
        return [atom.name for atom in self.atoms if isinstance(atom, Read)]

    @property
    def fixed(self) -> tuple[bool, Mapping[str, Stored | None]]:
        """Whether it has ended, and what cells hold, of random numbers None."""
        return self.ended, {n: None if isinstance(v, Form) else v for n, v in self.store.items()}

    def fresh(self, atom: Atom) -> Form:
        """Add an atom."""
        spend(len(self.atoms) // 16)
        self.atoms = (*self.atoms, atom)
        return only(len(self.atoms) - 1)


def number_form(value: Stored | None) -> Form:
    """Return what a cell holds that has to hold a number."""
    if value is None or isinstance(value, str):
        raise Refuted("a cell holds no number")
    return form_of(value)


Changes = Mapping[int, tuple[Number, Number]]
"""By atom, between what it lies: how much more is read in the second run than in the first one."""


def between(form: Form, changes: Changes) -> tuple[Number, Number]:
    """Return the least and the largest value of a form over changes."""
    low = high = form.constant
    for atom, coefficient in form.terms:
        if atom not in changes:
            raise Refuted("what may be depends on what is not known")
        both = [coefficient * end for end in changes[atom]]
        low, high = low + min(both), high + max(both)
    return low, high


class Beside(NamedTuple):
    """Paths of two runs, beside each other."""

    paths: tuple[Path, Path]  # of the first run, and of the second
    # What their atoms are, as forms over what is not known; None where the path is one and the
    # same, and the others say how much more they are than in the first run.
    atoms: tuple[Sequence[Form] | None, Sequence[Form]]
    changes: Changes  # what tells the runs apart

    def apart(self, ours: Stored | None, theirs: Stored | None) -> Form:
        """Return how much more a number is in the second run."""
        (first, second), form = self.atoms, number_form(theirs)
        if first is None:
            return over(Form(0, form.terms), second)
        return over(form, second).plus(over(number_form(ours), first).scaled(-1))

    def ends(self, ours: Stored | None, theirs: Stored | None) -> tuple[Number, Number]:
        """Return how much that is at least, and at most."""
        return between(self.apart(ours, theirs), self.changes)

    def require_alike(self) -> None:
        """Make sure that the second path is taken where the first one is, and publishes the same.

        Each of its guards follows from the one of the first path that has its place.
        """
        one, other = self.paths
        if len(one.guards) != len(other.guards):
            raise Refuted("paths with other guards are matched")
        for (ours, above), (theirs, strict) in zip(one.guards, other.guards, strict=True):
            least, _ = self.ends(ours, theirs)
            if least < 0 or (strict and not above and not least):
                raise Refuted("a guard does not hold after the shifts")
        for own, said in zip(one.said, other.said, strict=True):
            if isinstance(own, Form) or isinstance(said, Form):
                if self.apart(own, said) != NOTHING:
                    raise Refuted("another number is published after the shifts")
            elif own != said:
                raise Refuted("paths that publish different values are matched")

    def cost(self) -> Fraction:
        """Return what it costs at most to shift the samples, in multiples of eps."""
        ours, theirs = (
            [(only(k), atom) for k, atom in enumerate(path.atoms) if isinstance(atom, Sample)]
            for path in self.paths
        )
        laws = ([(a.family, a.size, a.power) for _, a in own] for own in (ours, theirs))
        if next(laws) != next(laws):
            raise Refuted("paths that draw different samples are matched")
        total = Fraction(0)
        for (before, one), (after, other) in zip(ours, theirs, strict=True):
            # How much more a sample is, less how much more its mean is.
            law, sunk = FAMILIES[one.family], self.apart(one.mean, other.mean)
            moved = self.apart(before, after).plus(sunk.scaled(-1))
            forms = moved, one.mean, other.mean
            if isinstance(law, IntegerFamily) and not all(map(has_integers, forms)):
                raise Refuted("an integer is shifted, or drawn around a fraction")
            low, high = between(moved, self.changes)
            signs = law.shifts if one.power == -1 else ()
            if (high > 0 and 1 not in signs) or (low < 0 and -1 not in signs):
                raise Refuted(f"samples of {one.family} cannot be shifted so")
            total += max(high, -low) / one.size
            spend(20 + size_of(total))
        return total


class Ways(Walk[Path]):
    """Goes through blocks along all paths."""

    def __init__(self) -> None:
        super().__init__()
        self._ended: list[Path] = []

    def unchanged(self, values: Mapping[str, Stored], held: Sequence[str]) -> Path:
        """Return the path on which nothing is done; atoms 0, 1, … are what held cells hold."""
        spend(len(held))
        return Path({**values, **{c: only(k) for k, c in enumerate(held)}}, tuple(map(Held, held)))

    def through(self, block: Block, path: Path) -> list[Path]:
        """Return the paths of a block, those that end behind those that do not."""
        self._ended = []
        return self._block(block, [path]) + self._ended

    def _sample(self, state: Path, noise: Noise, mean: Number | Form, where: Where) -> Form:
        family, size, power = noise
        return state.fresh(Sample(family, form_of(mean), size, power))

    def _guarded(self, state: Path, guards: Sequence[Guard]) -> Path:
        spend(4 * len(state.guards))
        return replace(state, store=copied(state.store), guards=(*state.guards, *guards))

    def _weighted(self, state: Path, weight: Ratio) -> Path:
        return replace(state, store=copied(state.store), weight=state.weight * weight)

    def _end(self, state: Path) -> None:
        state.ended = True
        self._ended.append(state)
