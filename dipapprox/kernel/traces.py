"""Budgets that do not serve, at one eps or at a limit of it: what one run is likelier to show.

A *trace* is some calls of a service in two adjacent runs, with what is seen of each: a set of
replies; or a program without rounds, at two adjacent inputs, with what it publishes. p and q are
the probabilities, in closed form, of the two runs to show that.

Theorem. If p >= e^(b eps) q and q > 0 at some eps > 0, no budget B < b serves, as p > e^(B eps) q
there. If p > 0 = q at some eps, none serves. For eps -> inf let p grow like eps^n e^(r eps), and q
like eps^m e^(s eps): no B < r - s serves. As eps vanishes let p / q tend to more than 1: none
serves, as e^(B eps) -> 1; or p / q - 1 = s eps + o(eps): no B < s does. Closed forms are power
series near eps = 0, but for a power of eps.

Theorem (repetitions). After a trace let the first run be in a store x with a probability > 0 at
some eps, and let *turns* be calls alike in both runs. Let f be the probability of x to reply as is
seen in a turn and to be in x again; let Y hold the stores that the second run may be in, and with
each y those that a turn leads to, and let every y in Y reply so with a probability r_y < f. Then no
budget serves: after k turns the quotient is at least c (f / r)^k with r the largest r_y.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import factorial
from typing import TYPE_CHECKING, Any

from dipapprox.kernel.errors import BadProof, Refused, Refuted, spend
from dipapprox.kernel.exponentials import Ratio, Sum, power
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.machine import Output, Range, Value, read_value
from dipapprox.kernel.paths import CERTAIN, IMPOSSIBLE
from dipapprox.kernel.proofs import named, positive
from dipapprox.kernel.reading import as_integer, as_list, as_number
from dipapprox.kernel.services import Condition, Service, Shown, read_seen
from dipapprox.kernel.signs import Signs

if TYPE_CHECKING:
    from dipapprox.kernel.rounds import Rounds

Belief = Mapping[Output, Ratio]
"""The stores that a run may be in, with the probability to have got there, as is seen."""


def trace(about: object, step: Mapping[str, Any]) -> Budgets:
    """One run is e^(b eps) times as likely as the other to show the same, at some eps.

    Theorem (`traces`): so no smaller budget serves; none does if only one run can show it, or if
    one is likelier to however small eps is.

    Step: "events": [first call, second call, what is seen of it], of a program [inputs, inputs,
    what is seen]; "budget": b or null, "eps": one, 0 for the limit there, null for the one at
    infinity.
    """
    numbers = step["budget"], step["eps"]
    budget, eps = (None if n is None else as_number(n, "a number") for n in numbers)
    if eps is not None and eps < 0:
        raise BadProof("eps is below 0")
    signs = Signs.at(eps or None)
    if isinstance(about, Service):
        first, second = ServiceRuns(about, signs).adjacent(step["events"])
    elif not isinstance(about, named("rounds.Rounds")):
        raise BadProof("the rule 'trace' is about services, and programs at all eps")
    else:
        (event,) = as_list(step["events"], "events", 1)
        first, second = _shown_at(about, signs, *as_list(event, "an event", 3))
    if not loses(total_of(first), total_of(second), budget, eps):
        raise Refuted("one run is not known to be so much likelier to show the same")
    return Budgets(None, budget, at_any=False, eps=eps or None)


def _shown_at(
    machine: Rounds, signs: Signs, one: object, other: object, seen: object
) -> list[Belief]:
    """Return what a program comes to that shows something in the end, at two adjacent inputs."""
    if machine.round is not None or machine.whenever or not machine.ends:
        raise Refused("more is seen than what cells show in the end")
    conditions = list(map(read_seen, as_list(seen, "what is seen", len(machine.first))))
    stores = list[dict[str, Value]]()
    for each in (one, other):
        listed = as_list(each, "inputs", len(machine.inputs))
        numbers = [as_number(u, "an input") for u in listed]
        stores.append(dict(zip(machine.inputs, numbers, strict=True)))
        for name, u in stores[-1].items():
            if u not in machine.inputs[name] or (machine.whole and Fraction(u).denominator > 1):
                raise Refuted("an input that no program has")
    if not machine.adjacency.holds(*(tuple(store.values()) for store in stores)):
        raise Refuted("inputs that are not adjacent")
    cells = [(name, Range(None, None)) for name in machine.first]
    shown = Shown(cells, (), (), signs, silent=None)
    return [shown.chances(machine.body, store, conditions) for store in stores]


def repetition(service: Service, step: Mapping[str, Any]) -> Budgets:
    """Turns that can be repeated, and that one run is likelier to reply to, whatever it was before.

    Theorem (`traces`): after k of them it is at least c (f / r)^k times as likely, with f > r.

    Step: "events", "turns": as of traces; "store": values of the first run; "eps".
    """
    eps = positive(step["eps"], "eps")
    runs = ServiceRuns(service, Signs.at(eps))
    first, second = runs.adjacent(step["events"])
    turns = as_list(step["turns"], "turns")
    store = tuple(map(read_value, as_list(step["store"], "a store", len(service.cells))))
    back = runs.alike({store: CERTAIN}, turns).get(store, IMPOSSIBLE)
    if store not in first or first[store].numerator.sign(eps) <= 0 or back.numerator.sign(eps) <= 0:
        raise Refuted("the first run does not get to its store, or not back there")
    waiting = list(second)
    known = set(waiting)
    for each in waiting:
        after = runs.alike({each: CERTAIN}, turns)
        if (back + total_of(after).scaled(Fraction(-1))).numerator.sign(eps) <= 0:
            raise Refuted("the second run may be as likely to reply so")
        waiting += [own for own in after if own not in known]
        known |= set(after)
    return Budgets(None, None, at_any=False, eps=eps)


class ServiceRuns:
    """What runs of a service come to."""

    def __init__(self, service: Service, signs: Signs) -> None:
        self._service, self.signs = service, signs
        self._names = [name for name, _ in service.cells]
        self._shown = Shown(service.replies, self._names, (), signs)
        self._known: dict[tuple[object, ...], Belief] = {}

    def adjacent(self, json: object) -> tuple[Belief, Belief]:
        """Return what two adjacent runs come to that go through some events."""
        start = tuple([value for _, value in self._service.cells])
        first: Belief = {start: CERTAIN}
        second, apart = first, 0
        for each in as_list(json, "events"):
            one, other, seen = as_list(each, "an event", 3)
            if one != other:
                apart += 1
                kinds = [
                    None if call is None else as_list(call, "a call", 2)[0] for call in (one, other)
                ]
                wanted = ([0, None], [None, 0]) if self._service.inserts else ([0, 0],)
                if kinds not in wanted or any(type(kind) is bool for kind in kinds):
                    raise Refuted("runs that differ in another way than adjacent ones do")
            first = first if one is None else self.after(first, one, seen)
            second = second if other is None else self.after(second, other, seen)
        if apart != 1:
            raise Refuted("runs that differ in no call, or in several")
        return first, second

    def alike(self, belief: Belief, events: Sequence[object]) -> Belief:
        """Return what a run comes to in calls that both runs get."""
        for each in events:
            one, other, seen = as_list(each, "an event", 3)
            if one is None or one != other:
                raise Refuted("calls that differ are repeated")
            belief = self.after(belief, one, seen)
        return belief

    def after(self, belief: Belief, json: object, seen: object) -> Belief:
        """Return what a run comes to by a call, as is seen."""
        number, given = as_list(json, "a call", 2)
        if not 0 <= as_integer(number, "a call") < len(self._service.calls):
            raise BadProof("there is no such call")
        call = self._service.calls[number]
        values = as_list(given, "arguments", len(call.arguments))
        arguments = tuple(map(read_value, values))
        if any(v not in domain for v, (_, domain) in zip(arguments, call.arguments, strict=True)):
            raise Refuted("an argument that no call has")
        shown = list[Condition]()
        if seen is not None:
            if not call.seen:
                raise Refuted("replies that nobody sees")
            listed = as_list(seen, "what is seen", len(self._service.replies))
            shown = list(map(read_seen, listed))
        found: dict[Output, Ratio] = {}
        for store, weight in belief.items():
            spend(100)
            key = number, arguments, store, tuple(shown)
            if key not in self._known:
                cells = dict(zip(self._names, store, strict=True))
                cells |= zip([name for name, _ in call.arguments], arguments, strict=True)
                self._known[key] = self._shown.chances(call.body, cells, shown)
            for after, chance in self._known[key].items():
                found[after] = found.get(after, IMPOSSIBLE) + weight * chance
        return {after: weight for after, weight in found.items() if weight.numerator.terms}


def total_of(belief: Belief) -> Ratio:
    """Return the probability of what is seen."""
    return sum(belief.values(), IMPOSSIBLE)


def loses(p: Ratio, q: Ratio, budget: Fraction | None, eps: Fraction | None) -> bool:
    """Whether no budget below one serves, None for none at all, at an eps or a limit of it.

    p and q are the probabilities there, for limits at all eps > 0; 0 and None are limits, at 0 and
    at infinity.
    """
    if not q.numerator.terms:
        return budget is None and eps is not None and eps > 0 < p.numerator.sign(eps)
    if eps is None:
        return budget is not None and bool(p.numerator.terms) and _rate(p) - _rate(q) >= budget
    if not eps:
        return _is_likelier_near_zero(p, q, budget)
    slack = p + (Ratio(Sum.exponential(budget or Fraction(0))) * q).scaled(Fraction(-1))
    return budget is not None and q.numerator.sign(eps) > 0 <= slack.numerator.sign(eps)


def _rate(ratio: Ratio) -> Fraction:
    """The largest rate of what is not 0: how fast it grows."""
    below = [_top(factor) * exponent for factor, exponent in ratio.denominator]
    return _top(ratio.numerator) - sum(below)


def _top(function: Sum) -> Fraction:
    return max(Fraction(rate) for (rate, _), _ in function.terms)


def _is_likelier_near_zero(p: Ratio, q: Ratio, budget: Fraction | None) -> bool:
    """Whether p / q tends to more than 1 as eps vanishes, or p / q - 1 = s eps + o(eps), s >= B.

    q is not 0; B is None for any number.
    """
    apart = p - q
    if apart.numerator.is_zero():
        return False
    order, factor = _first_term(apart * q.inverse())
    return factor > 0 and (order < 1 or (order == 1 and budget is not None and factor >= budget))


def _first_term(value: Ratio) -> tuple[int, Fraction]:
    """Return k and c: the value, which is not 0, is c eps^k + o(eps^k) as eps vanishes."""
    order, factor = _first_of(value.numerator)
    for own, exponent in value.denominator:
        k, c = _first_of(own)
        order, factor = order - k * exponent, factor / power(c, exponent)
    return order, factor


def _first_of(function: Sum) -> tuple[int, Fraction]:
    """Return the same of a sum that is not 0.

    Up to a power of eps it is a sum of P_q(eps) e^(q eps), which solves a linear differential
    equation of the order N, the sum of all deg P_q + 1. So its first N derivatives do not all
    vanish at 0.
    """
    order, factor = min(n for (_, n), _ in function.terms) - 1, Fraction(0)
    while not factor:
        order += 1
        spend((10 + abs(order)) * len(function.terms))
        for (rate, n), c in function.terms:
            if n <= order:
                factor += c * power(Fraction(rate), order - n) / factorial(order - n)
    return order, factor
