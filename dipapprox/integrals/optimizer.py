"""From an event to the plan that evaluates it: choose an order, build the pieces, join them.

The default order has the least nesting: an elimination forest of least depth of the comparison
graph (spec of the paper, "the right lower bound is the tree-depth"). The paper's own order and no
optimisation at all are kept as oracles and baselines.

The paper's dependency graph has edges from the outer variable to the inner one whose bounds mention
it (DiPApprox section 6.2); it is acyclic by construction, and Algorithm 5 works on it.

Guards become normalised nested integrals (DiPApprox section 6, Lemma 2, made exact). The domain of
an event is cut into finitely many disjoint pieces on which, for a given order of integration, every
variable has one lower and one upper affine bound: the innermost variable is eliminated first, every
choice of active bounds is a piece, and the choice becomes a constraint on the variables further out
(Fourier-Motzkin elimination as a decomposition). Pieces of measure zero are recognised exactly and
never appear.

Laplace densities have a kink at their mean, one-sided ones a jump. A variable with others inside
its integral is split there, and a side without mass dropped; the innermost of its branch needs no
split, only to know on which side its bounds lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from importlib import import_module
from itertools import combinations, product
from math import prod
from typing import Any

from dipapprox import graphs
from dipapprox.errors import LimitReached
from dipapprox.events.event import Event
from dipapprox.integrals.integral import Add, Integral, Level, Multiply, Plan, nesting
from dipapprox.integrals.strategy import Strategy
from dipapprox.limits import check_limits, check_pieces
from dipapprox.linear.form import LinearForm, difference
from dipapprox.linear.half_spaces import Bound, active, has_interior, implies, solved_for


def order_edges(event: Event) -> tuple[tuple[int, int], ...]:
    """Return an edge (larger, smaller) for every guard that compares two samples, for no other."""
    found = (difference(guard) for guard in event.guards)
    return tuple((u, v) for u, v, _ in filter(None, found) if u >= 0 and v >= 0)


Piece = tuple[Level, ...]  # the paper's normal form; on its domain lower <= upper holds


def optimise_paper(piece: Piece) -> Plan:
    """Algorithm 5: split into weakly connected components, then peel off all sources at once.

    The integral was built with `literal=False`; by Theorem 5 the result equals it.
    """
    # Imported here: igraph loads its drawing back ends, a third of a second at least.
    graph = import_module("igraph").Graph(directed=True)
    place = {level.variable: k for k, level in enumerate(piece)}
    graph.add_vertices(len(place), {"level": piece, "place": list(place.values())})
    graph.add_edges(
        [(place[outer], k) for k, level in enumerate(piece) for outer in level.mentioned]
    )
    return _generate(graph)


def _generate(graph: Any) -> Plan:
    """GenExpr of the paper on a part of the dependency graph."""
    parts = [graph.induced_subgraph(part) for part in graph.connected_components(mode="weak")]
    if len(parts) != 1:
        parts.sort(key=lambda part: min(part.vs["place"]))
        return Multiply(tuple(map(_generate, parts)))
    if graph.vcount() == 1:
        return Integral(graph.vs[0]["level"], None)
    plan = _generate(graph.induced_subgraph(graph.vs.select(_indegree_gt=0)))
    sources = sorted(graph.vs.select(_indegree=0), key=lambda v: v["place"], reverse=True)
    for source in sources:
        plan = Integral(source["level"], plan)
    return plan


_DEEPEST = 100  # levels of a plan; deeper ones could never be evaluated


def plan(event: Event, strategy: Strategy) -> Plan:
    """Return a plan whose value is the probability of the event; reduced ones give smaller plans.

    Args:
        strategy: LEAST_NESTING: each variable's bounds mention only its ancestors in an
            elimination forest of least depth; all other parts multiply. PAPER: larger variables
            outside smaller ones, then Algorithm 5. NONE: the same order, nested literally.
    """
    order = elimination_order(event, strategy)
    literal = strategy is Strategy.NONE
    if literal:
        _check_depth(len(order))
    pieces = build_integrals(event, order, literal=literal)
    match strategy:
        case Strategy.LEAST_NESTING:
            return _assembled(pieces, 0)
        case Strategy.PAPER:
            found = _sum(tuple(optimise_paper(piece) for piece in pieces))
        case Strategy.NONE:
            found = _sum(tuple(_nest(piece) for piece in pieces))
    _check_depth(nesting(found))
    return found


def elimination_order(event: Event, strategy: Strategy) -> tuple[int, ...]:
    """Return the variables, outermost first.

    PAPER and NONE put larger variables outside smaller ones; where guards give no such order,
    variables come by number.
    """
    if strategy is Strategy.LEAST_NESTING:
        return tuple(graphs.elimination_forest(len(event.samples), comparison_edges(event)))
    return graphs.downward_order(len(event.samples), order_edges(event))


def elimination_depth(event: Event) -> int:
    """Return how many integrals the order of least nesting nests, in its worst pieces."""
    forest = graphs.elimination_forest(len(event.samples), comparison_edges(event))
    return graphs.depth_of(forest)


def comparison_edges(event: Event) -> tuple[tuple[int, int], ...]:
    """Return the undirected comparison graph: samples that occur in one guard are adjacent."""
    pairs = (pair for guard in event.guards for pair in combinations(guard.samples(), 2))
    return tuple(dict.fromkeys(pairs))


def _check_depth(depth: int) -> None:
    if depth > _DEEPEST:
        raise LimitReached(f"nesting limit: more than {_DEEPEST} nested integrals")


def _sum(terms: tuple[Plan, ...]) -> Plan:
    return terms[0] if len(terms) == 1 else Add(terms)


def _nest(piece: Piece) -> Plan:
    """Nest all levels in their order: nothing is optimised."""
    found = reduce(lambda body, level: Integral(level, body), reversed(piece), None)
    return Multiply(()) if found is None else found


def _assembled(pieces: tuple[Piece, ...], depth: int) -> Plan:
    """Put pieces over the same variables, in the same order, together: Σ Π levels.

    Sums are pushed inwards: pieces that share their outermost level share its integral, and a
    sum of all combinations of independent parts is a product of sums. Without that, k independent
    splits would cost 2^k terms.
    """
    check_limits()
    _check_depth(depth)
    if not pieces:
        return Add(())
    if not pieces[0]:
        return Multiply(())
    parts = _independent_parts(pieces)
    if len(parts) == 1:
        return _nested(pieces, depth)
    projections = [
        tuple(dict.fromkeys(tuple(piece[k] for k in part) for piece in pieces)) for part in parts
    ]
    # The pieces are pairwise distinct (equal levels would be equal domains, and domains are
    # disjoint), and so are projections of distinct pieces put together again: as many pieces as
    # combinations are all of them.
    if prod(map(len, projections)) == len(pieces):
        return Multiply(tuple(_assembled(each, depth) for each in projections))
    # Not all combinations occur: sum over what the first part can be, given the rest.
    first, rest = parts[0], [k for k in range(len(pieces[0])) if k not in set(parts[0])]
    tails: dict[Piece, list[Piece]] = {}
    for piece in pieces:
        head = tuple(piece[k] for k in first)
        tails.setdefault(head, []).append(tuple(piece[k] for k in rest))
    heads: dict[frozenset[Piece], list[Piece]] = {}
    for head, found in tails.items():
        heads.setdefault(frozenset(found), []).append(head)
    factors = ((group, tails[group[0]]) for group in heads.values())
    return _sum(
        tuple(Multiply(tuple(_assembled(tuple(f), depth) for f in pair)) for pair in factors)
    )


def _nested(pieces: tuple[Piece, ...], depth: int) -> Plan:
    """Integrate over the outermost variable of connected pieces, once for each of its ranges."""
    groups: dict[Level, list[Piece]] = {}
    for piece in pieces:
        groups.setdefault(piece[0], []).append(piece[1:])
    terms: list[Plan] = []
    for level, inner in groups.items():
        if not inner[0]:
            terms.append(Integral(level, None))
            continue
        body = _assembled(tuple(inner), depth + 1)
        if any(level.variable in each.mentioned for piece in inner for each in piece):
            terms.append(Integral(level, body))
        else:  # the level may straddle a kink: a leaf, not to be nested
            terms.append(Multiply((Integral(level, None), body)))
    return _sum(tuple(terms))


def _independent_parts(pieces: Sequence[Piece]) -> tuple[tuple[int, ...], ...]:
    """Group the positions of levels that are connected through bounds in some piece."""
    place = {level.variable: k for k, level in enumerate(pieces[0])}
    edges = {
        (place[outer], k)
        for piece in pieces
        for k, level in enumerate(piece)
        for outer in level.mentioned
        if outer in place
    }
    return graphs.components(len(pieces[0]), edges)


_BELOW, _ABOVE = -1, 1

Buckets = Mapping[int, tuple[LinearForm, ...]]
"""Constraints form <= 0, under the position of their innermost variable."""


def build_integrals(
    event: Event, order: Sequence[int], *, literal: bool = False
) -> tuple[Piece, ...]:
    """Decompose an event into disjoint normalised nested integrals.

    Args:
        order: All variables of the event, outermost first.
        literal: Whether the levels will be nested literally in this order. Then only the last
            one is a leaf; otherwise every variable that no inner bound mentions is.

    Returns:
        Pieces whose domains are disjoint up to measure zero and cover the event's, except where
        a one-sided density is 0. On a piece's domain lower <= upper at every level, and the sides
        are as `Level` says.
    """
    builder = _Builder(event, tuple(order), literal)
    done: list[Piece] = []
    todo: list[tuple[Buckets, Piece]] = [(builder.start(), ())]
    while todo:
        check_limits()
        constraints, levels = todo.pop()
        if len(levels) == len(order):
            done.append(levels)
        else:
            eliminated = builder.eliminate(constraints, levels)
            todo += [(left, (level, *levels)) for left, level in eliminated]
        check_pieces(len(done) + len(todo))
    return tuple(done)


class _Builder:
    """The elimination step for one event and order."""

    def __init__(self, event: Event, order: tuple[int, ...], literal: bool) -> None:
        self._event = event
        self._order = order
        self._position = {variable: k for k, variable in enumerate(order)}
        self._literal = literal

    def start(self) -> Buckets:
        buckets: dict[int, tuple[LinearForm, ...]] = {}
        for guard in self._event.guards:
            form = guard.normalised()
            place = self._place(form)
            buckets[place] = (*buckets.get(place, ()), form)
        return buckets

    def eliminate(self, buckets: Buckets, inner: Piece) -> Iterator[tuple[Buckets, Level]]:
        """Yield the pieces in which the innermost variable left has one bound on either side.

        With each level come the constraints on the variables further out.
        """
        position = len(self._order) - len(inner) - 1
        variable = self._order[position]
        constraints = dict(buckets)
        lowers, uppers = solved_for(variable, constraints.pop(position, ()))
        law = self._event.samples[variable]
        mean = LinearForm.constant_form(law.mean)
        mentioned = any(variable in level.mentioned for level in inner)
        if not law.real.has_kink:
            for lower, upper, outer in active(lowers, uppers):
                for assumed in self._assume(constraints, [a - b for a, b, _ in outer]):
                    yield assumed, Level(law, variable, lower, upper)
        elif mentioned or (self._literal and inner):
            for side in law.family.sides:
                below = _with_bound(uppers, mean) if side == _BELOW else uppers
                above = _with_bound(lowers, mean) if side == _ABOVE else lowers
                for lower, upper, outer in active(above, below):
                    for assumed in self._assume(constraints, [a - b for a, b, _ in outer]):
                        yield assumed, Level(law, variable, lower, upper, side, side)
        else:  # a leaf: by the sides of the mean on which its bounds lie
            for lower, upper, outer in active(lowers, uppers):
                choices = list(product(_sides(lower, mean, _BELOW), _sides(upper, mean, _ABOVE)))
                for assumed in self._assume(constraints, [a - b for a, b, _ in outer]):
                    for (lower_side, low), (upper_side, up) in choices:
                        for known in self._assume(assumed, [*low, *up]):
                            sides = lower_side, upper_side
                            yield known, Level(law, variable, lower, upper, *sides)

    def _assume(self, constraints: Buckets, forms: Iterable[LinearForm]) -> Iterator[Buckets]:
        """Yield the constraints with form <= 0 added for all forms; nothing if none is left."""
        result = dict(constraints)
        for raw in forms:
            if raw.is_constant:
                if raw.constant >= 0:
                    return
                continue
            form = raw.normalised()
            place = self._place(form)
            bucket = result.get(place, ())
            if form in bucket:
                continue
            known = [other for forms_here in result.values() for other in forms_here]
            if not has_interior([*known, form]):
                return
            if not implies(known, form):
                result[place] = (*bucket, form)
        yield result

    def _place(self, form: LinearForm) -> int:
        return max(self._position[sample] for sample in form.samples())


def _with_bound(bounds: tuple[LinearForm, ...], extra: LinearForm) -> tuple[LinearForm, ...]:
    return bounds if extra in bounds else (*bounds, extra)


def _sides(
    bound: Bound, mean: LinearForm, infinite: int
) -> tuple[tuple[int, tuple[LinearForm, ...]], ...]:
    """Return the sides of `mean` a bound may lie on, each with the constraint that says so."""
    if bound is None:
        return ((infinite, ()),)
    offset = bound - mean
    if offset.is_constant:
        return ((_BELOW if offset.constant <= 0 else _ABOVE, ()),)
    return ((_BELOW, (offset,)), (_ABOVE, (-offset,)))
