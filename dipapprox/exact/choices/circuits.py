"""Circuits of weights in; the values of their roots out: as functions of ε, as enclosures, signs.

Each goes through the circuit once, node by node. Right for every ε at which the weights are
probabilities (`validity.objection`).

A function of ε is kept as p / (d y^s Π f^e), p a polynomial in ε and y = e^{ε/N}, d an integer, f
the denominators of the weights as polynomials. Terms of a sum are brought over a common
denominator; no divisors are looked for on the way, and what no later node needs is forgotten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import TypeVar

from flint import arb, fmpz_mpoly

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import precision, to_enclosure
from dipapprox.cache import Cache
from dipapprox.data_classes import Record
from dipapprox.events.circuits import EVERYTHING, NOTHING, Absorbed, Circuit, Weight
from dipapprox.events.event import Chosen
from dipapprox.exact.choices.absorption import absorption
from dipapprox.exact.signs.normal_form import common_step, exponential_polynomial, over_power
from dipapprox.exact.signs.values import START_BITS, ball_at, more_bits, sign_at
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language.traversal import reachable
from dipapprox.limits import check_limits

W = TypeVar("W")
V = TypeVar("V")
_REMEMBERED = 16  # most circuits whose functions are kept

_known: Cache[Circuit, Mapping[int, ExponentialRatio]] = Cache(_REMEMBERED)


def chosen_probability(event: Chosen) -> ExponentialRatio:
    """The probability of a set of outcomes as a function of ε', 1 being where the program runs."""
    roots = _known.find(event.circuit, lambda: _Functions(event.circuit).roots())
    return roots[event.root].dilated(event.eps)


def weight_function(weight: Weight) -> ExponentialRatio:
    if isinstance(weight, Absorbed):
        ends = absorption(weight.law)
        return ends.get(weight.law.outcomes[weight.outcome], ExponentialRatio.constant(0))
    return weight


# --- functions ------------------------------------------------------------------------------------


class _Quotient(Record, eq=False):
    """top / (divisor · y^powers[-1] · Π factors[k]^powers[k])."""

    top: fmpz_mpoly
    divisor: int
    powers: tuple[int, ...]


class _Functions:
    def __init__(self, circuit: Circuit) -> None:
        self._circuit = circuit
        weights = [weight_function(weight) for weight in circuit.weights]
        below = {factor: None for weight in weights for factor, _ in weight.denominator}
        self._step = common_step((*(weight.numerator for weight in weights), *below))
        self._below = {factor: over_power(factor, self._step) for factor in below}
        y = over_power(ExponentialPolynomial.monomial(1, 0, self._step), self._step)
        self._factors = [*(top for top, _, _ in self._below.values()), y[0]]
        self._power: dict[tuple[int, int], fmpz_mpoly] = {}
        self._weights = [self._quotient(weight) for weight in weights]

    def roots(self) -> dict[int, ExponentialRatio]:
        nodes, wanted = self._circuit.nodes, set(self._circuit.roots)
        uses = Counter(node for terms in nodes for _, node in terms)
        values: dict[int, _Quotient] = {}
        found: dict[int, ExponentialRatio] = {}
        for number, terms in enumerate(nodes):
            check_limits()
            if number <= EVERYTHING:
                values[number] = self._quotient(ExponentialRatio.constant(number))
            else:
                values[number] = self._sum([(self._weights[w], values[n]) for w, n in terms])
                for _, node in terms:
                    uses[node] -= 1
                    if not uses[node]:
                        del values[node]
            if number in wanted:
                found[number] = self._function(values[number])
        return found

    def _sum(self, terms: Sequence[tuple[_Quotient, _Quotient]]) -> _Quotient:
        divisors = [weight.divisor * value.divisor for weight, value in terms]
        powers = [
            tuple([a + b for a, b in zip(weight.powers, value.powers, strict=True)])
            for weight, value in terms
        ]
        divisor, common = lcm(*divisors), tuple(map(max, *powers, powers[0]))
        total = self._factors[-1] * 0
        for (weight, value), own, above in zip(terms, divisors, powers, strict=True):
            top = weight.top * value.top
            if own != divisor:
                top = top * (divisor // own)
            for factor, (most, mine) in enumerate(zip(common, above, strict=True)):
                if most != mine:
                    top = top * self._to_the(factor, most - mine)
            total += top
        return _Quotient(total, divisor, common)

    def _to_the(self, factor: int, exponent: int) -> fmpz_mpoly:
        key = factor, exponent
        if key not in self._power:
            self._power[key] = self._factors[factor] ** exponent
        return self._power[key]

    def _quotient(self, weight: ExponentialRatio) -> _Quotient:
        """Read a weight: with f = g / (d y^s), 1 / f^e is d^e y^(s e) / g^e."""
        top, divisor, shift = over_power(weight.numerator, self._step)
        exponents = dict(weight.denominator)
        powers = []
        for factor, (_, own, power) in self._below.items():
            exponent = exponents.get(factor, 0)
            powers.append(exponent)
            top = top * own**exponent
            shift -= power * exponent
        if shift < 0:
            top, shift = top * self._to_the(len(self._factors) - 1, -shift), 0
        return _Quotient(top, divisor, (*powers, shift))

    def _function(self, value: _Quotient) -> ExponentialRatio:
        top, kept = value.top, dict[ExponentialPolynomial, int]()
        for factor, exponent in zip(self._factors[:-1], value.powers[:-1], strict=True):
            while exponent and top:
                check_limits()
                quotient, rest = divmod(top, factor)
                if rest:
                    break
                top, exponent = quotient, exponent - 1
            kept[exponential_polynomial(factor, self._step)] = exponent
        unit = ExponentialPolynomial.monomial(
            Fraction(1, value.divisor), 0, -value.powers[-1] * self._step
        )
        return ExponentialRatio.of(exponential_polynomial(top, self._step) * unit, kept)


# --- at one ε -------------------------------------------------------------------------------------

_EXACT_BITS = 4096  # rational values are kept exactly as long as their denominators are no longer


def enclose_choices(events: Sequence[Chosen], bits: int) -> dict[Chosen, Enclosure | NotEnclosed]:
    """Enclose probabilities of sets of outcomes, each with relative width at most 2^-bits.

    Rational ones with short denominators come out as points. ZeroDivisionError: a weight is not
    defined where the program runs.
    """
    groups: dict[tuple[Circuit, Fraction], list[Chosen]] = {}
    for event in events:
        groups.setdefault((event.circuit, event.eps), []).append(event)
    found: dict[Chosen, Enclosure | NotEnclosed] = {}
    for (circuit, eps), group in groups.items():
        values = _enclosed(circuit, [event.root for event in group], eps, bits)
        for event, value in zip(group, values, strict=True):
            found[event] = (
                value.intersect(UNIT, "choices") if isinstance(value, Enclosure) else value
            )
    return found


def _enclosed(
    circuit: Circuit, roots: Sequence[int], eps: Fraction, bits: int
) -> list[Enclosure | NotEnclosed]:
    weights = [weight_function(weight).at(eps) for weight in circuit.weights]
    nodes = _needed(circuit, roots)
    constants = [weight.as_constant() for weight in weights]
    ends: tuple[Fraction | None, Fraction | None] = Fraction(0), Fraction(1)
    exact = _values(circuit, nodes, constants, ends, _rational_sum)
    irrational = [root for root in roots if exact[root] is None]
    working = max(START_BITS, bits + 32)
    balls: dict[int, arb] = {}
    while irrational:
        with precision(working):
            own = [ball_at(weight) for weight in weights]
            balls = _values(circuit, nodes, own, (arb(0), arb(1)), _ball_sum)
            if all(balls[root].rel_accuracy_bits() >= bits + 2 for root in irrational):
                break
        working = more_bits(working, eps)
    values = ((root, exact[root]) for root in roots)
    return [
        to_enclosure(balls[root]) if value is None else Enclosure.exact(value)
        for root, value in values
    ]


def _needed(circuit: Circuit, roots: Sequence[int]) -> list[int]:
    """Return the nodes that some roots consist of, without constants, in their order."""
    found = reachable(roots, lambda node: (below for _, below in circuit.nodes[node]))
    return sorted(found - {NOTHING, EVERYTHING})


def _values(
    circuit: Circuit,
    nodes: Iterable[int],
    weights: Sequence[W],
    ends: tuple[V, V],
    total: Callable[[list[tuple[W, V]]], V],
) -> dict[int, V]:
    """Return the values of some nodes, given 0 and 1 and how products are added up."""
    values = {NOTHING: ends[0], EVERYTHING: ends[1]}
    for number in nodes:
        check_limits()
        values[number] = total([(weights[w], values[n]) for w, n in circuit.nodes[number]])
    return values


def _ball_sum(terms: Sequence[tuple[arb, arb]]) -> arb:
    return sum((weight * value for weight, value in terms), arb(0))


def _rational_sum(terms: Sequence[tuple[Fraction | None, Fraction | None]]) -> Fraction | None:
    """None if it is not rational, or its denominator is long."""
    total = Fraction(0)
    for weight, value in terms:
        if weight == 0 or value == 0:
            continue
        if weight is None or value is None:
            return None
        total += weight * value
        if total.denominator.bit_length() > _EXACT_BITS:
            return None
    return total


_possible: Cache[tuple[Circuit, Fraction], dict[int, bool]] = Cache(_REMEMBERED)


def is_possible_choice(event: Chosen) -> bool:
    """Whether its probability is positive; ZeroDivisionError where a weight is not defined."""
    key = event.circuit, event.eps
    return _possible.find(key, lambda: _positive_nodes(*key))[event.root]


def _positive_nodes(circuit: Circuit, eps: Fraction) -> dict[int, bool]:
    positive = [sign_at(weight_function(weight), eps) > 0 for weight in circuit.weights]
    nodes = range(EVERYTHING + 1, len(circuit.nodes))
    ends = False, True
    return _values(circuit, nodes, positive, ends, lambda own: any(map(all, own)))
