"""Real inputs that are read through a clamp or a modulus alone: what is left of their ranges.

Theorem. Let u_i be of the range D and be read only where f(u_i) is assigned, everywhere the same f
of D into D with f(f(x)) = f(x), |f(x) - f(y)| <= |x - y|, and, where adjacent inputs only rise or
only fall, f(x) <= f(y) for x <= y. Let C = f(D), and let pairs not be listed. Then every bound of
delta that holds for the machine that reads u_i itself, of the range C, holds for this one, and the
other way round.

Proof. Runs from u are those of the other machine from u with f(u_i) in the place of u_i. If u and
u' are adjacent, so are these, or they are equal: a change that is no larger and of no other sign
takes no more of a radius, by every norm, and is none where there was none; equal inputs have
delta 0, as eps_prv >= 0. So no pair has more here. As C is in D and f(c) = c for c in C, inputs of
the other machine are inputs of this one with the same runs, and are adjacent here if they are
there. So no pair has more there. Several inputs are replaced one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dipapprox.kernel.errors import spend
from dipapprox.kernel.machine import Machine, Range, Tree, words_in

_Image = tuple[Range, bool]
"""C, and whether f is a clamp, not a modulus: with D these are f."""


def without_clamps(machine: Machine) -> Machine:
    """Return a machine with the same bounds of delta, by the theorem."""
    ranges = {name: domain for name, domain in machine.inputs if isinstance(domain, Range)}
    seen: dict[str, set[_Image]] = {}
    if not ranges or machine.adjacency.norm == "pairs":
        return machine
    signed = machine.adjacency.norm in ("increasing", "decreasing")
    others = {*words_in(_without(machine.body, ranges, signed, seen, False))}
    # An element that a turn or an index selects is told by its array.
    alone = {
        name: own.pop()[0]
        for name, own in seen.items()
        if len(own) == 1
        and others.isdisjoint((name, *(name[:k] for k, mark in enumerate(name) if mark == "[")))
    }
    known = {name: ranges[name] for name in alone}
    body = _without(machine.body, known, signed, {}, True)
    inputs = tuple([(name, alone.get(name, domain)) for name, domain in machine.inputs])
    return machine._replace(inputs=inputs, body=body)


def _without(
    tree: Tree, ranges: Mapping[str, Range], signed: bool, seen: dict[str, set[_Image]], read: bool
) -> Tree:
    """Return a tree that reads inputs, or nothing, where it assigned an f of them; note the f."""
    spend(2)
    if not isinstance(tree, tuple):
        return tree
    match tree:
        case ("set", _, ("cell", name)) | ("if", (_, ("cell", name), _), *_) if name in ranges:
            clamp = _clamp(tree, ("cell", name), ranges[name])
            held = clamp or (None if signed else _modulus(tree, ("cell", name), ranges[name]))
            if held is not None:
                seen.setdefault(name, set()).add((held[1], clamp is not None))
                return ("set", held[0], ("cell", name) if read else 0)
    return tuple([_without(part, ranges, signed, seen, read) for part in tree])


def _clamp(tree: Tree, cell: Tree, domain: Range) -> tuple[Tree, Range] | None:
    """Return what is assigned the nearest number to a cell in a range, and this; None if nothing.

    Where u <= end, that of u in what is below `end` is `end` or that of u, as `end` is in it.
    """
    match tree:
        case ("set", place, value) if value == cell:
            return place, domain
        case ("if", ("<" | ">" as relation, own, end), (("set", place, value),), (rest,)) if (
            own == cell and isinstance(end, int | Fraction) and value == end
        ):
            inner = _clamp(rest, cell, domain)
            if inner is not None and inner[0] == place and end in inner[1]:
                low, high = inner[1].low, inner[1].high
                ends = (Fraction(end), high) if relation == "<" else (low, Fraction(end))
                return place, Range(*ends)
    return None


def _modulus(tree: Tree, cell: Tree, domain: Range) -> tuple[Tree, Range] | None:
    """Do the same of a modulus: -u where u < 0, else u."""
    low, high = domain.low, domain.high
    match tree:
        case ("if", ("<", own, 0), (("set", place, ("*", -1, less)),), (("set", other, more),)):
            fits = low is not None and high is not None and 0 <= -low <= high
            if fits and own == less == more == cell and place == other:
                return place, Range(Fraction(0), high)
    return None
