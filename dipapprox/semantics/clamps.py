"""Real inputs that are read through a clamp or a modulus alone, as inputs of smaller ranges.

What the kernel does by itself (`kernel/clamps.py`, with the theorem and its proof), of a program:
where all that is read of an input is one and the same clamp to ends within its range, or one and
the same modulus, no less far up than down, the largest deltas are those of the program that reads
the input itself, between these ends.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

from dipapprox.data_classes import replace
from dipapprox.language import core
from dipapprox.language.cells import read
from dipapprox.language.domains import AllReals
from dipapprox.language.piecewise import absolute, held_between
from dipapprox.language.traversal import nodes_in, rewrite

_Ends = tuple[Fraction | None, Fraction | None]
_Image = tuple[_Ends, bool]  # between what it is, and whether as a clamp, not as a modulus
_Held = tuple[core.Variable | core.Element, _Image]  # where it is assigned, and what
_ZERO = core.Constant(Fraction(0))


def without_clamps(program: core.Program) -> core.Program:
    """Return a program with the same largest deltas, of which some inputs have smaller ranges."""
    adjacency = program.adjacency
    ranges = {c.name: c.domain for c in program.inputs if isinstance(c.domain, AllReals)}
    if not ranges or isinstance(adjacency, core.Listed) or program.rounds is not None:
        return program
    signed = isinstance(adjacency, core.Within) and adjacency.norm in core.ONE_WAY
    ends: dict[str, _Ends] = {name: own.bounds or (None, None) for name, own in ranges.items()}
    seen: dict[str, set[_Image]] = {}

    def without(known: Collection[str], is_read: bool) -> core.Body:
        def change(node: object) -> core.Assign | None:
            match node:
                case (
                    core.Assign(value=core.Variable(name) as own)
                    | core.If(condition=core.Comparison(left=core.Variable(name) as own))
                ) if name in known:
                    held = _held(node, own, ends[name], signed)
                    if held is not None:
                        seen.setdefault(name, set()).add(held[1])
                        return core.Assign(held[0], own if is_read else _ZERO, span=node.span)
            return None

        return rewrite(program.body, change)

    rest = without(ranges, False)
    repeated = [each for each in nodes_in(rest) if isinstance(each, core.Repeat)]
    loops = {array for each in repeated for array in each.arrays}
    others = {*read(rest), *(c.name for c in program.inputs if c.variable in loops)}
    left = dict[str, AllReals]()
    for name, own in seen.items():
        (low, high), _ = own.pop()
        if not own and name not in others and low is not None and high is not None:
            left[name] = AllReals((low, high))
    cells = tuple(replace(c, domain=left.get(c.name, c.domain)) for c in program.inputs)
    return replace(program, inputs=cells, body=without(left, True))


def _held(
    node: core.Assign | core.If, cell: core.Variable, ends: _Ends, signed: bool
) -> _Held | None:
    """Return what is assigned a clamp or a modulus of an input between ends; None if nothing is."""
    low, high = ends
    match node:
        case core.Assign(place, value):
            return (place, (ends, True)) if value == cell else None
        case core.If(then=(core.Assign(place),)) if node == absolute(place, cell, None):
            fits = low is not None and high is not None and 0 <= -low <= high and not signed
            return (place, ((Fraction(0), high), False)) if fits else None
        case core.If(
            core.Comparison(_, relation, core.Constant(Fraction() as end)),
            (core.Assign(place),),
            (rest,),
        ):
            least, most = (end, None) if relation is core.Relation.LESS else (None, end)
            match rest:
                case core.If(core.Comparison(_, _, core.Constant(Fraction() as other))):
                    most = other
            known = [each for each in (low, least, most, high) if each is not None]
            if known == sorted(known) and node == held_between(place, cell, least, most, None):
                image = low if least is None else least, high if most is None else most
                return place, (image, True)
    return None
