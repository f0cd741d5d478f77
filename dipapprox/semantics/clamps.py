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
from dipapprox.language.traversal import nodes_in, rewrite

_Ends = tuple[Fraction | None, Fraction | None]
_Held = tuple[core.Variable | core.Element, _Ends]  # where it is assigned, and between what it is
_ZERO, _MINUS = core.Constant(Fraction(0)), core.Constant(Fraction(-1))


def without_clamps(program: core.Program) -> core.Program:
    """Return a program with the same largest deltas, of which some inputs have smaller ranges."""
    adjacency = program.adjacency
    ranges = {c.name: c.domain for c in program.inputs if isinstance(c.domain, AllReals)}
    if not ranges or isinstance(adjacency, core.Listed) or program.rounds is not None:
        return program
    signed = isinstance(adjacency, core.Within) and adjacency.norm in core.ONE_WAY
    ends: dict[str, _Ends] = {name: own.bounds or (None, None) for name, own in ranges.items()}
    seen: dict[str, set[_Ends]] = {}

    def without(known: Collection[str], is_read: bool) -> core.Body:
        def change(node: object) -> core.Assign | None:
            match node:
                case (
                    core.Assign(value=core.Variable(name) as own)
                    | core.If(condition=core.Comparison(left=core.Variable(name) as own))
                ) if name in known:
                    held = _clamp(node, own, ends[name])
                    held = held or (None if signed else _modulus(node, own, ends[name]))
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
        low, high = own.pop()
        if not own and name not in others and low is not None and high is not None:
            left[name] = AllReals((low, high))
    cells = tuple(replace(c, domain=left.get(c.name, c.domain)) for c in program.inputs)
    return replace(program, inputs=cells, body=without(left, True))


def _clamp(node: core.Statement, cell: core.Variable, ends: _Ends) -> _Held | None:
    match node:
        case core.Assign(place, value) if value == cell:
            return place, ends
        case core.If(
            core.Comparison(own, relation, core.Constant(Fraction() as end)),
            (core.Assign(place, core.Constant(value)),),
            (rest,),
        ) if own == cell and value == end:
            inner = _clamp(rest, cell, ends)
            if inner is not None and inner[0] == place:
                low, high = inner[1]
                if (low is None or low <= end) and (high is None or end <= high):
                    if relation is core.Relation.LESS:
                        return place, (end, high)
                    if relation is core.Relation.GREATER:
                        return place, (low, end)
    return None


def _modulus(node: core.Statement, cell: core.Variable, ends: _Ends) -> _Held | None:
    low, high = ends
    match node:
        case core.If(
            core.Comparison(own, core.Relation.LESS, zero),
            (core.Assign(place, core.Product(minus, less)),),
            (core.Assign(other, more),),
        ) if (zero, minus) == (_ZERO, _MINUS) and own == less == more == cell and place == other:
            if low is not None and high is not None and 0 <= -low <= high:
                return place, (Fraction(0), high)
    return None
