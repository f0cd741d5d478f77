"""Probabilities that are log-concave in real inputs, as balls of their logarithms.

**Theorem.** Let a final state have linear guards, in samples of log-concave densities > 0 and in
inputs. Then its probability p is log-concave in the real inputs (Prékopa 1973: a marginal of a
log-concave function on the convex set of the guards), p = e^L. An output has disjoint states: P = Σ
p_s. Here every guard is about one sample, so that p is a product, with what choices give the state.

* **From above.** For any point c, h > 0 and x = u - c, L(u) <= L(c) + Σ max(a_i x_i, b_i x_i) with
  a_i = (L(c + h e_i) - L(c)) / h, b_i = (L(c) - L(c - h e_i)) / h: a supergradient at c, which a
  concave function has, lies between. So ln P(u) is at most ln Σ_s e^f of convex f, which is convex
  in u (Hölder).
* **From below.** For weights w_s >= 0 that add up to 1, ln P(u') >= Σ w_s (L_s(u') - ln w_s), as ln
  is concave; so -ln P(u') is at most a convex function of u', too.

Their sum is convex in (u, u'): on a polytope of pairs it is largest at a vertex. At a pair (c, c'),
with w as likely as the states there, it is ln P(c) - ln P(c'); near it no more than the square of
the distance above that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from flint import arb

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.errors import LimitReached
from dipapprox.events.instantiate import Instantiator, Outline
from dipapprox.exact.choices import circuits
from dipapprox.language.core import Input
from dipapprox.laws.family import RealFamily
from dipapprox.limits import check_limits
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.semantics.state import FinalStates

_MOST_STATES = 64
_BITS = 160  # of balls
_RELATIVE = 120  # bits that are known of probabilities
_MOST_BITS = 2**15  # of probabilities; beyond they are too small to tell
_STEP = Fraction(1, 2**44)  # h, for c of about 1
_Pair = tuple[Input, Input]

_Part = tuple[RealFamily, list[LinearForm], list[LinearForm]]
"""Noise that lies above the first numbers, and below the others, in scales from its mean."""


def logarithms(states: FinalStates, eps: Fraction, names: Sequence[str]) -> Logarithms | None:
    """Return the states of a program, with real inputs of some names; None if a guard is about
    several samples, or others than the theorem is about, or they are too many."""
    instantiator = Instantiator(states, eps)
    if states.comparisons or any(state.conditions for state in states.states):
        return None
    if instantiator.chances.diagrams is not None or len(instantiator.outlines) > _MOST_STATES:
        return None
    weights = list[arb]()
    parts: list[list[_Part]] = []
    outputs: list[list[int]] = [[] for _ in states.outputs]
    for number, outline in enumerate(instantiator.outlines):
        cuts = own_cuts(states, instantiator.scales, outline, {})
        if cuts is None:
            return None
        own: dict[int, _Part] = {}
        for sample, form, is_below in cuts:
            family = states.samples[sample].family
            if not isinstance(family, RealFamily) or len(family.sides) < 2:
                return None
            _, low, high = own.setdefault(sample, (family, [], []))
            (high if is_below else low).append(form)
        parts.append(list(own.values()))
        chosen = instantiator.chosen(number)
        share = None if chosen is None else circuits.enclose_choices([chosen], _BITS)[chosen]
        if isinstance(share, NotEnclosed) or (share is not None and not share.lower):
            return None
        with precision(_BITS):
            weights.append(to_ball(1 if share is None else share).log())
        outputs[outline.output].append(number)
    if len(names) > 1 and max(map(len, outputs)) > 1:
        return None  # too much would have to be halved
    return Logarithms(instantiator, weights, parts, outputs, names)


class Logarithms:
    """Balls of ln p of all final states, by input.

    Attributes:
        outputs: The states of each.
        rows: Of each state how its parts move with real inputs; None if ends of one move apart.
    """

    def __init__(
        self,
        instantiator: Instantiator,
        weights: Sequence[arb],
        parts: Sequence[Sequence[_Part]],
        outputs: Sequence[Sequence[int]],
        names: Sequence[str],
    ) -> None:
        self.outputs = outputs
        self._instantiator, self._weights, self._parts = instantiator, weights, parts
        self.rows = [_rows(own, names) for own in parts]
        self._known: dict[Input, list[arb]] = {}

    def of(self, input: Input) -> list[arb]:
        found = self._known.get(input)
        if found is None:
            check_limits()
            numbers = self._instantiator.numbers(input)
            with precision(_BITS):
                found = self._known[input] = [
                    sum((_log_mass(part, numbers) for part in own), weight)
                    for weight, own in zip(self._weights, self._parts, strict=True)
                ]
        return found

    def need(self, pair: _Pair, states: Sequence[int]) -> Enclosure:
        """Enclose ln P(u) - ln P(u') of an output."""
        first, second = map(self.of, pair)
        with precision(_BITS):
            found = _log_sum([first[k] for k in states]) - _log_sum([second[k] for k in states])
            return _finite(found)

    def bound(
        self, ends: Sequence[_Pair], near: _Pair, states: Sequence[int]
    ) -> tuple[Fraction, _Pair]:
        """Return the largest value of the convex function of a pair, and the vertex that has it."""
        centre, sides = near[0], dict[int, tuple[Fraction, list[arb], list[arb]]]()
        for k, value in enumerate(centre):
            if isinstance(value, Fraction) and len({u[k] for u, _ in ends}) > 1:
                h = _STEP * (1 + abs(value))
                more, less = ((*centre[:k], value + x, *centre[k + 1 :]) for x in (h, -h))
                sides[k] = h, self.of(more), self.of(less)
        middle, likely = map(self.of, near)

        def above(u: Input) -> arb:
            terms = []
            for s in states:
                found = middle[s]
                for k, (h, more, less) in sides.items():
                    x = to_ball((Fraction(u[k]) - Fraction(centre[k])) / h)
                    found += (x * (more[s] - middle[s])).max(x * (middle[s] - less[s]))
                terms.append(found)
            return _log_sum(terms)

        def below(v: Input) -> arb:
            own, weighted = self.of(v), zip(map(to_ball, weights), states, strict=True)
            return sum((w * (own[s] - w.log()) for w, s in weighted if w > 0), arb(0))

        with precision(_BITS):
            total = _log_sum([likely[s] for s in states])
            weights = _weights([float((likely[s] - total).exp()) for s in states])
            firsts, seconds = (dict.fromkeys(each) for each in zip(*ends, strict=True))
            aboves, belows = {u: above(u) for u in firsts}, {v: below(v) for v in seconds}
            found = {(u, v): _finite(aboves[u] - belows[v]).upper for u, v in ends}
        far = max(found, key=found.__getitem__)
        return found[far], far


def own_cuts(
    states: FinalStates,
    scales: Sequence[Fraction],
    outline: Outline,
    numbers: Mapping[Symbol, Fraction],
) -> list[tuple[int, LinearForm, bool]] | None:
    """Return those of every guard; None if some guard compares several samples."""
    found = []
    for guard in outline.guards:
        if len(guard.samples()) != 1:
            return None
        (local,) = guard.samples()
        number, weight = outline.samples[local], guard.coefficient(local)
        rest = guard - LinearForm.symbol(local).scaled(weight)
        cut = -(rest.scaled(1 / weight) + states.samples[number].mean).scaled(1 / scales[number])
        found.append((number, cut.at(numbers), weight > 0))
    return found


def _rows(parts: Sequence[_Part], names: Sequence[str]) -> list[tuple[Fraction, ...]] | None:
    """Return how the noise of each part moves with real inputs; None if its ends move apart."""
    found = list[tuple[Fraction, ...]]()
    for _, low, high in parts:
        rows = {tuple(form.coefficient(name) for name in names) for form in (*low, *high)}
        if len(rows) > 1:
            return None
        found += rows
    return found


def _log_mass(part: _Part, numbers: Mapping[Symbol, Fraction]) -> arb:
    """Return ln of the probability of noise between numbers."""
    family, *cuts = part
    low, high = ([form.at(numbers).constant for form in own] for own in cuts)
    bits = _BITS
    while bits <= _MOST_BITS:
        with precision(bits):
            mass = _mass(family, max(low, default=None), min(high, default=None))
            found: arb = mass.log()
            if mass > 0 and found.rad() * 2**_RELATIVE < 1:
                return found
        bits *= 2
    raise LimitReached("probabilities are too small to tell")


def _mass(family: RealFamily, low: Fraction | None, high: Fraction | None) -> arb:
    (a, left), (b, right) = (
        (arb(0) if z is None else to_ball(z), (1 if z and z > 0 else -1) * family.has_kink)
        for z in (low, high)
    )
    if low is None:
        return arb(1) if high is None else family.cdf(b, right)
    return family.survival(a, left) if high is None else family.mass(a, b, left, right)


def _finite(ball: arb) -> Enclosure:
    found = to_enclosure(ball)
    if isinstance(found, NotEnclosed):
        raise LimitReached(found.reason)
    return found


def _log_sum(terms: Sequence[arb]) -> arb:
    """Return ln Σ e^t."""
    if len(terms) == 1:
        return terms[0]
    most = max(terms, key=float)
    return most + sum(((each - most).exp() for each in terms), arb(0)).log()


def _weights(likely: Sequence[float]) -> list[Fraction]:
    """Return short numbers >= 0 that add up to 1."""
    unit = 2**30
    found = [Fraction(round(each * unit), unit) for each in likely]
    most = max(range(len(found)), key=found.__getitem__)
    found[most] += 1 - sum(found)
    return found
