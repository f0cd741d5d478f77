"""Paths: the ways in which a block of statements may be gone through, with real numbers unknown.

Numbers that are not known are atoms: what cells held before, inputs that are read, samples. A path
is taken where its guards hold, forms over atoms each >= 0, or > 0. The paths of a block are
disjoint and leave nothing out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import NotProved, Refused
from dipapprox.kernel.expressions import NEGATED, compared, divided, form_of, name_of, value_of
from dipapprox.kernel.laws import FAMILIES, IntegerFamily
from dipapprox.kernel.machine import Block, Tree
from dipapprox.kernel.measures import Form
from dipapprox.kernel.rounds import Rounds
from dipapprox.kernel.states import Stored, copied

MOST_PATHS = 20_000
"""Of a block."""


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
    """A fresh sample, of scale `size` / eps."""

    family: str
    mean: Form
    size: Fraction


Atom = Held | Read | Sample

Guard = tuple[Form, bool]
"""A form that is > 0 (True), or >= 0."""


@dataclass(slots=True)
class Path:
    """A path under way, or at its end.

    Attributes:
        store: What cells hold: forms over atoms, by number, and values.
        said: What was published, in this order.
        ended: Whether the program has ended.
    """

    store: dict[str, Stored]
    atoms: tuple[Atom, ...]
    guards: tuple[Guard, ...] = ()
    said: tuple[Stored, ...] = ()
    ended: bool = False

    def fresh(self, atom: Atom) -> Form:
        """Add an atom."""
        spend(len(self.atoms) // 16)
        self.atoms = (*self.atoms, atom)
        return Form(Fraction(0), ((len(self.atoms) - 1, Fraction(1)),))


class Follower:
    """Follows the blocks of a machine."""

    def __init__(self, machine: Rounds) -> None:
        self._machine = machine
        self._turn = 0

    def start(self) -> list[Path]:
        """Return the paths of the body."""
        path = Path({}, ())
        if self._machine.round is None:
            for name in self._machine.inputs:
                path.store[name] = path.fresh(Read(name))
        return self._whole(self._machine.body, path, self._machine.first)

    def round(self, values: dict[str, Stored], held: Sequence[str]) -> list[Path]:
        """Return the paths of a round from a store; atoms 0, 1, … are what these cells hold."""
        path = Path(dict(values), ())
        for cell in held:
            path.store[cell] = path.fresh(Held(cell))
        return self._whole(self._machine.round or (), path, self._machine.each)

    def _whole(self, block: Block, path: Path, published: Sequence[str]) -> list[Path]:
        found = self._block(block, [path])
        for path in found:
            if not set(published) <= path.store.keys():
                raise NotProved("what is published has no value")
            path.said += tuple([path.store[name] for name in published])
        return found

    def _block(self, block: Block, paths: list[Path]) -> list[Path]:
        spend(4)
        for statement in block:
            spend(len(paths))
            before, paths = paths, []
            for path in before:
                paths += self._statement(statement, path)
                if len(paths) > MOST_PATHS:
                    raise Refused(f"more than {MOST_PATHS} paths")
        return paths

    def _statement(self, statement: Tree, path: Path) -> list[Path]:
        spend(4 + len(path.guards) + len(path.store) // 8)
        if path.ended:
            return [path]
        match statement:
            case "set", target, ("cell", name) if name in self._machine.inputs and (
                self._machine.round is not None
            ):
                self._assign(path, target, path.fresh(Read(name)))
            case "set", target, tree:
                self._assign(path, target, value_of(tree, path.store, self._turn))
            case "draw", target, family, mean, (size, power):
                if power != -1:
                    raise Refused("a scale that is no multiple of 1 / eps")
                if isinstance(FAMILIES[family], IntegerFamily) and not self._machine.whole:
                    raise Refused("integer noise beside inputs that are no integers")
                value = value_of(mean, path.store, self._turn)
                if isinstance(value, str):
                    raise NotProved("a mean that is no number")
                self._assign(path, target, path.fresh(Sample(family, form_of(value), size)))
            case "if", condition, then, otherwise:
                yes, no = divided(condition, [path], self._compared)
                return self._block(then, yes) + self._block(otherwise, no)
            case ("exit",):
                path.ended = True
            case "repeat", turns, _, _, body:
                before, paths = self._turn, [path]
                for self._turn in range(turns):
                    paths = self._block(body, paths)
                self._turn = before
                return paths
            case "forget", names:
                for name in names:
                    path.store.pop(name, None)
            case _:
                raise Refused(f"'{statement[0]}' in a machine of this kind")
        return [path]

    def _assign(self, path: Path, target: Tree, value: Stored) -> None:
        name = name_of(target, path.store, self._turn)
        path.store[name] = value
        if name in self._machine.whenever:
            spend(len(path.said) // 64)
            path.said += (value,)

    def _compared(
        self, relation: str, left: Tree, right: Tree, path: Path
    ) -> tuple[list[Path], list[Path]]:
        one, other = (value_of(each, path.store, self._turn) for each in (left, right))
        form = compared(relation, one, other)
        if isinstance(form, bool):
            return ([path], []) if form else ([], [path])
        spend(4 * len(path.guards))
        holds, fails = (
            [
                replace(path, store=copied(path.store), guards=(*path.guards, *guards))
                for guards in _guards(each, form)
            ]
            for each in (relation, NEGATED[relation])
        )
        return holds, fails


def _guards(relation: str, form: Form) -> list[tuple[Guard, ...]]:
    """The ways in which form relation 0 may hold."""
    back = form.scaled(Fraction(-1))
    match relation:
        case "=":
            return [((form, False), (back, False))]
        case "!=":
            return [((form, True),), ((back, True),)]
    return [((form if ">" in relation else back, "=" not in relation),)]
