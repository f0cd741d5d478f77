"""Probabilities that are log-concave in real inputs, as balls of their logarithms.

**Theorem.** Let a final state have linear guards, in samples of log-concave densities > 0 and in
inputs. Then its probability p is log-concave in the real inputs (Prékopa 1973: a marginal of a
log-concave function on the convex set of the guards), p = e^L. An output has disjoint states: P = Σ
p_s. Where every guard is about one sample, p is a product of what these have; else it is enclosed
as probabilities are, of outputs of one state. What choices give a state is a factor.

* **From above.** For any point c, h > 0 and x = u - c, L(u) <= L(c) + Σ max(a_i x_i, b_i x_i) with
  a_i = (L(c + h e_i) - L(c)) / h, b_i = (L(c) - L(c - h e_i)) / h: a supergradient at c, which a
  concave function has, lies between. So ln P(u) is at most ln Σ_s e^f of convex f, which is convex
  in u (Hölder).
* **From below.** For weights w_s >= 0 that add up to 1, ln P(u') >= Σ w_s (L_s(u') - ln w_s), as ln
  is concave; so -ln P(u') is at most a convex function of u', too.

Their sum is convex in (u, u'): on a polytope of pairs it is largest at a vertex. At a pair (c, c'),
with w as likely as the states there, it is ln P(c) - ln P(c'); near it no more than the square of
the distance above that.

**Lemma (moved together).** Let p depend on the numbers w_k = a_k·u: means of samples, and ends that
single samples are compared with, constants, too; any other guard being x - y <= constant for two
samples of means w_k, w_l. Numbers are tied that guards connect. Let s_k = a_k·(u - u'). If s_k is
at least all s_l tied to it, then L(u) - L(u') does not rise as w_k and w'_k rise by the same
number; if it is at most all of these, it does not fall.
Proof. L is a sum over what is tied; let it be all. A density f(x - w) is log-supermodular in (x,
w), as ln f is concave, and so is the indicator of x - y <= constant, or of x <= w: that is a
sublattice. So is their product; and, if x is integrated out, p (Karlin and Rinott 1980): L(a) +
L(b) <= L(a ∨ b) + L(a ∧ b). If all numbers move by t, L stays. Let a = w' + s + τ e_k, τ > 0, and
b = w' + s_k (1, …, 1): then a ∨ b = b + τ e_k and a ∧ b = w' + s, so

    L(w' + s + τ e_k) - L(w' + τ e_k)  <=  L(w' + s) - L(w').

For s_k below all s_l exchange u and u'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from flint import arb

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.errors import LimitReached
from dipapprox.events.instantiate import Instantiator, Outline, without_inputs
from dipapprox.events.reduce import connected_samples
from dipapprox.exact.choices import circuits
from dipapprox.language.core import Input
from dipapprox.laws.family import RealFamily
from dipapprox.limits import check_limits
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.numerics.closed_form import mass_between
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.semantics.state import FinalStates

_MOST_STATES = 64
_BITS = 160  # of balls
_RELATIVE = 120  # bits that are known of probabilities
_MOST_BITS = 2**15  # of probabilities; beyond they are too small to tell
_STEP = Fraction(1, 2**44)  # h, for c of about 1
_RELATIVE_TIED, _MOST_BITS_TIED, _STEP_TIED = 60, 2**10, Fraction(1, 2**24)
"""The same where guards tie samples, whose probabilities take longer."""
_Pair = tuple[Input, Input]

_Part = tuple[RealFamily, list[LinearForm], list[LinearForm]]
"""Noise that lies above the first numbers, and below the others, in scales from its mean."""


def logarithms(
    states: FinalStates, eps: Fraction, names: Sequence[str], source: OutputProbabilities
) -> Logarithms | None:
    """Return the states of a program, with real inputs of some names; None where the theorem is not
    about it, or they are too many. Probabilities without closed forms are those of `source`."""
    instantiator = Instantiator(states, eps)
    if states.comparisons or any(state.conditions for state in states.states):
        return None
    if instantiator.chances.diagrams is not None or len(instantiator.outlines) > _MOST_STATES:
        return None
    weights = list[arb]()
    parts: list[Sequence[_Part] | int] = []
    outputs: list[list[int]] = [[] for _ in states.outputs]
    for number, outline in enumerate(instantiator.outlines):
        own: dict[int, _Part] = {}
        for sample in outline.samples:
            family = states.samples[sample].family
            if not isinstance(family, RealFamily) or len(family.sides) < 2:
                return None
            own[sample] = family, [], []
        cuts = own_cuts(states, instantiator.scales, outline, {})
        for sample, form, is_below in cuts or ():
            _, low, high = own[sample]
            (high if is_below else low).append(form)
        parts.append(outline.output if cuts is None else list(own.values()))
        chosen = instantiator.chosen(number)
        share = None if chosen is None else circuits.enclose_choices([chosen], _BITS)[chosen]
        if isinstance(share, NotEnclosed) or (share is not None and not share.lower):
            return None
        with precision(_BITS):
            weights.append(to_ball(1 if share is None else share).log())
        outputs[outline.output].append(number)
    tied = any(isinstance(own, int) for own in parts)
    if (len(names) > 1 or tied) and max(map(len, outputs)) > 1:
        return None  # too much would have to be halved
    rows = [_rows(states, each, names) for each in instantiator.outlines]
    return Logarithms(instantiator, weights, parts, outputs, rows, source)


class Logarithms:
    """Balls of ln p of all final states, by input.

    Attributes:
        outputs: The states of each.
        rows: Of each state for what is tied how its numbers move with real inputs; None if the
            lemma is not about them.
    """

    def __init__(
        self,
        instantiator: Instantiator,
        weights: Sequence[arb],
        parts: Sequence[Sequence[_Part] | int],
        outputs: Sequence[Sequence[int]],
        rows: Sequence[Rows | None],
        source: OutputProbabilities,
    ) -> None:
        self.outputs, self.rows = outputs, rows
        self._instantiator, self._weights, self._parts = instantiator, weights, parts
        self._source = source
        tied = any(isinstance(own, int) for own in parts)
        self._step = _STEP_TIED if tied else _STEP
        self._known: dict[tuple[Input, int], arb] = {}

    def of(self, input: Input, state: int) -> arb:
        found = self._known.get((input, state))
        if found is None:
            check_limits()
            numbers, own = self._instantiator.numbers(input), self._parts[state]
            with precision(_BITS):
                if isinstance(own, int):
                    found = self._log_tied(own, input)
                else:
                    found = sum((_log_mass(each, numbers) for each in own), self._weights[state])
            self._known[input, state] = found
        return found

    def _log_tied(self, output: int, input: Input) -> arb:
        """Return ln of the probability of an output of one state."""
        bits = _RELATIVE_TIED + 12
        while bits <= _MOST_BITS_TIED:
            found = self._source.some((output,), input, bits)
            if isinstance(found, NotEnclosed):
                raise LimitReached(found.reason)
            (mass,) = found
            if mass.lower and mass.width * 2**_RELATIVE_TIED < mass.lower:
                return to_ball(mass).log()
            bits *= 2
        raise LimitReached("probabilities are too small to tell")

    def need(self, pair: _Pair, states: Sequence[int]) -> Enclosure:
        """Enclose ln P(u) - ln P(u') of an output."""
        with precision(_BITS):
            first, second = (_log_sum([self.of(each, k) for k in states]) for each in pair)
            return _finite(first - second)

    def bound(
        self, ends: Sequence[_Pair], near: _Pair, states: Sequence[int]
    ) -> tuple[Fraction, _Pair]:
        """Return the largest value of the convex function of a pair, and the vertex that has it."""
        centre, steps = near[0], dict[int, tuple[Fraction, Input, Input]]()
        for k, value in enumerate(centre):
            if isinstance(value, Fraction) and len({u[k] for u, _ in ends}) > 1:
                h = self._step * (1 + abs(value))
                more, less = ((*centre[:k], value + x, *centre[k + 1 :]) for x in (h, -h))
                steps[k] = h, more, less
        likely = [self.of(near[1], s) for s in states]

        def above(u: Input) -> arb:
            terms = []
            for s in states:
                found = middle = self.of(centre, s)
                for k, (h, more, less) in steps.items():
                    x = to_ball((Fraction(u[k]) - Fraction(centre[k])) / h)
                    rises = self.of(more, s) - middle, middle - self.of(less, s)
                    found += (x * rises[0]).max(x * rises[1])
                terms.append(found)
            return _log_sum(terms)

        def below(v: Input) -> arb:
            weighted = zip(map(to_ball, weights), states, strict=True)
            return sum((w * (self.of(v, s) - w.log()) for w, s in weighted if w > 0), arb(0))

        with precision(_BITS):
            total = _log_sum(likely)
            weights = _weights([float((each - total).exp()) for each in likely])
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


Rows = list[list[tuple[Fraction, ...]]]
"""By what is tied, for each of its numbers the coefficients of real inputs."""


def _rows(states: FinalStates, outline: Outline, names: Sequence[str]) -> Rows | None:
    """Return how the numbers of a state move with real inputs; None if that is not known."""
    size = len(outline.samples)
    shifts, guards = without_inputs(size, outline.guards) or ({}, outline.guards)
    found: Rows = []
    for samples, tied in connected_samples(size, guards):
        means = [states.samples[outline.samples[k]].mean for k in samples]
        moved = [
            mean + shifts[k] if k in shifts else mean
            for k, mean in zip(samples, means, strict=True)
        ]
        for guard in tied:
            factors = [guard.coefficient(k) for k in guard.samples()]
            if len(factors) == 1:
                moved.append(guard.scaled(-1 / factors[0]))
            elif len(factors) > 2 or factors[0] != -factors[1] or guard.inputs():
                return None
        found.append([tuple(form.coefficient(name) for name in names) for form in moved])
    return found


def _log_mass(part: _Part, numbers: Mapping[Symbol, Fraction]) -> arb:
    """Return ln of the probability of noise between numbers."""
    family, *cuts = part
    low, high = ([form.at(numbers).constant for form in own] for own in cuts)
    bits = _BITS
    while bits <= _MOST_BITS:
        with precision(bits):
            mass = mass_between(family, max(low, default=None), min(high, default=None))
            found: arb = mass.log()
            if mass > 0 and found.rad() * 2**_RELATIVE < 1:
                return found
        bits *= 2
    raise LimitReached("probabilities are too small to tell")


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
