"""Final states in, bounds of p' and p'' out: how fast probabilities can move with eps.

Events are outputs, or any sets of what is published; for numbers see the last paragraph.

Fix an input. With x_i = mean_i + scale_i(eps) z_i, z standard, an output's probability is the
measure of an event. Two views of it make eps move only the law of the samples:

Scaling. The event is fixed in x, the law is rescaled. With theta = log eps and scale a eps^k the
log-density, or mass, moves at the rate k s(z), s(z) = z² - 1 for a Gaussian, |z| - 1 for a Laplace
sample, so dp/dtheta = E[S; B] with S = Σ k_i s_i. Twice: d²p/dtheta² = E[S² + Σ k_i² ds_i; B], and
as the bracket has mean 0, this is at most half its L1 norm, Σ k_i² (E s_i² + E |ds_i|) / 2. What s
and its derivative are, and how large, the families say (`laws`: `drift`, `excess`, `bend`).

Shift. If all scales are a/eps, choose numbers c_i (linear in the inputs) with Σ coefficient c_i +
constant = 0 for every guard. The guards are then homogeneous in x - c, so in y = eps (x - c) the
event does not depend on eps, and y has scale a and mean eps (mean - c): it moves with velocity t_i
= (mean_i - c_i)/a_i in units of z_i. With tau² = Σ t_i² over the Gaussian and T = Σ |t_i|, Q = Σ
t_i² over the Laplace samples, and Z the standard Gaussian along the Gaussian part of t:
    |p'|  <= tau |E[Z; B]| + T p
    |p''| <= tau² |E[Z² - 1; B]| + 2 tau T E[|Z|; B] + T² p + Q,
the last because the second derivative of exp(-|z|)/2 is itself minus a unit mass at 0. (p' is then
only Lipschitz, with this constant: all that the users of p'' need.)

For any event B with probability p and any a >= 0, E[h; B] <= a' p + E[(h - a')+] gives, by Mills'
ratio 1 - Phi(a) >= a phi(a)/(1 + a²), bounds that are affine in p:
    |E[Z; B]|     <= a p + phi(a)/(1 + a²),  E[|Z|; B] <= a p + 2 phi(a)/(1 + a²)
    |E[Z² - 1; B]| <= max(a² - 1, 1) p + 4 a phi(a)/(1 + a²)  (a >= 1), and <= 2 phi(1)
and for other s likewise. Small a suit large p.

One-sided samples scale like Laplace samples: the edge of the support stays, and z - 1 has the law
of |z| - 1. A shift of one at the rate t takes t q from p, where z = 0, and adds t p everywhere
else, q being the probability of B given z = 0: p' = t (p - q), so |p'| <= |t| per sample. As q may
jump there is no bound of p'' by shifts unless t = 0. p is Lipschitz in every mean, so rates of
several samples add up. Rates are sums over all samples in guards and hold for every input.

Choices. If no weight depends on eps, p is a mean, with constant weights, of probabilities given the
outcomes of all choices. These meet the bounds, which are affine in p: so does their mean. Weights
that depend on eps have no bounds here at all, and integers no shifts, as they cannot be scaled.

Numbers. A set S of outputs, finite values and numbers y, is an event like any other, {guards,
published in S}: scaling bounds Pr[S] as S stays. A shift that makes y - κ homogeneous for every
published y, the levels κ being the same for all inputs (below), bounds Pr[S] as S moves with
eps: a number in S, if it has a density, is κ + z / eps for a fixed z. Constants stay what they are.
Both bound all sets at every eps, but of different families; so each is used alone.

Centres. Centres for the samples of a program: points from which its guards look homogeneous.

Wanted are c_i, linear in the inputs, with Σ coefficient_i c_i + (inputs and constant) = 0 for every
guard. Elimination expresses some of them by the others; the free ones are chosen so that the
samples' means lie close to the centres, measured in scales. Any choice is valid, so floating-point
least squares may make it; what is used of it is exact.

A published number y is to be seen from one level κ, the same for all inputs: y - κ is homogeneous
in x - c if its form has the value κ at c. So a level is an unknown like a centre, but a constant;
each number has one for each valuation of the finite outputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.precision import exponential
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.events.circuits import Absorbed, Weight
from dipapprox.events.instantiate import chances_of_states
from dipapprox.language.core import Value
from dipapprox.laws.family import Family, RealFamily, Speeds
from dipapprox.linear.form import FormSpan, LinearForm, Symbol
from dipapprox.numerics.intervals import square_root
from dipapprox.pairs.selections import Pair
from dipapprox.semantics.state import FinalStates, Guard, Sample, guard_of, newest

_MOST_GUARDS = 20_000
_MOST_SAMPLES = 300  # elimination beyond these sizes would take longer than it saves
_ROUNDING = 10**6
Ranges = Mapping[str, tuple[Fraction, Fraction]]  # middle and half-width of input cells


def velocities(
    states: FinalStates, used: Sequence[int], pair: Pair | None = None
) -> list[Fraction] | None:
    """Bound how far means are from centres, in scales.

    Args:
        used: Indices of the samples that guards mention, or published numbers.
        pair: The inputs in question; None for all.

    Returns:
        For every used sample a bound of |mean_i - c_i| / a_i over the inputs, a_i / eps being its
        scale; None if there are no centres, or some scale is not a / eps.
    """
    samples = states.samples
    if any(samples[i].scale.power != -1 for i in used) or len(used) > _MOST_SAMPLES:
        return None
    guards = distinct_guards(states)
    forms = [guard.form for guard in guards] + _levelled(states)
    if len(forms) > _MOST_GUARDS:
        return None
    pivots = _solve(forms, len(samples))
    if pivots is None:
        return None
    ranges = _ranges(states, pair)
    distances = [_distance(i, pivots, samples[i]) for i in used]
    if not all(name in ranges for distance in distances for name in distance.inputs()):
        return None
    constants = {name: (middle, Fraction(0)) for name, (middle, _) in ranges.items()}
    bounds = []
    for known in (constants, ranges):
        chosen = _closest(distances, known, len(samples))
        bounds.append([_largest(d.substitute(chosen), ranges) for d in distances])
    return min(bounds, key=lambda speeds: sum(speed * speed for speed in speeds))


def _levelled(states: FinalStates) -> list[LinearForm]:
    """Return published numbers less their levels, which are symbols beyond those of the samples."""
    levels: dict[tuple[tuple[Value, ...], int], int] = {}
    found: dict[LinearForm, None] = {}
    for state in states.states:
        for place, form in enumerate(state.reals):
            if form.samples():
                key = tuple(state.outputs), place
                level = levels.setdefault(key, len(states.samples) + len(levels))
                found[form - LinearForm.symbol(level)] = None
    return list(found)


def distinct_guards(states: FinalStates) -> list[Guard]:
    """Return the guards of all states; states that share a prefix of a path share its guards."""
    seen: set[int] = set()
    found: dict[LinearForm, Guard] = {}
    for state in states.states:
        node = state.path
        while node is not None and id(node) not in seen:
            seen.add(id(node))
            for guard in map(guard_of, newest(node)):
                found.setdefault(guard.form, guard)
            node = node.parent
    return list(found.values())


def _solve(forms: Sequence[LinearForm], levels: int) -> dict[Symbol, LinearForm] | None:
    """Solve form = 0 for all forms: pivots as forms over free samples and inputs; None if none.

    Symbols from `levels` on are constants: they are pivots only where nothing else is left.
    """
    span = FormSpan()
    for number, form in enumerate(forms):
        rest, _ = span.reduced(form)
        mentioned = rest.samples()
        if not mentioned and (rest.terms or rest.constant):
            return None
        if mentioned and mentioned[0] >= levels and rest.inputs():
            return None
        span.put(rest, number)
    return {pivot: LinearForm.symbol(pivot) - row for pivot, (row, _) in span.rows.items()}


def _distance(index: int, pivots: Mapping[Symbol, LinearForm], sample: Sample) -> LinearForm:
    """Return (mean - c) / a as a form over input cells and free centres (sample indices)."""
    centre = pivots.get(index, LinearForm.symbol(index))
    return (sample.mean - centre).scaled(1 / sample.scale.coefficient)


def _ranges(states: FinalStates, pair: Pair | None) -> Ranges:
    ranges: dict[str, tuple[Fraction, Fraction]] = {}
    for place, cell in enumerate(states.program.inputs):
        values = cell.domain if pair is None else [input[place] for input in pair]
        numbers = [value for value in values if isinstance(value, Fraction)]
        if len(numbers) == len(values):
            low, high = min(numbers), max(numbers)
            ranges[cell.name] = (low + high) / 2, (high - low) / 2
    return ranges


def _closest(
    distances: Sequence[LinearForm], ranges: Ranges, levels: int
) -> dict[Symbol, LinearForm]:
    """Choose the free centres: least squares of the distances, one problem per input and constant.

    A cell of half-width 0 is taken at its middle: then the free centres do not depend on it. Nor do
    symbols from `levels` on.
    """
    free = sorted({s for d in distances for s in d.samples()})
    moving = [name for name, (_, half) in ranges.items() if half]
    if not free:
        return {}
    matrix = np.array([[-float(d.coefficient(s)) for s in free] for d in distances])
    wanted = np.empty((len(distances), 1 + len(moving)))
    for row, form in enumerate(distances):
        middle = sum((ranges[n][0] * form.coefficient(n) for n in form.inputs()), form.constant)
        wanted[row, 0] = float(middle)
        for column, name in enumerate(moving):
            wanted[row, 1 + column] = float(form.coefficient(name) * ranges[name][1])
    solution = np.linalg.lstsq(matrix, wanted, rcond=None)[0]
    centres = [place for place, symbol in enumerate(free) if symbol < levels]
    solution[:, 1:] = 0.0
    if centres:
        solution[centres, 1:] = np.linalg.lstsq(matrix[:, centres], wanted[:, 1:], rcond=None)[0]
    chosen: dict[Symbol, LinearForm] = {}
    for place, symbol in enumerate(free):
        constant, *slopes = (
            Fraction(float(x)).limit_denominator(_ROUNDING) for x in solution[place]
        )
        terms: dict[Symbol, Fraction] = {}
        for name, slope in zip(moving, slopes, strict=True):
            middle, half = ranges[name]
            terms[name] = slope / half
            constant -= slope / half * middle
        chosen[symbol] = LinearForm.of(terms, constant)
    return chosen


def _largest(form: LinearForm, ranges: Ranges) -> Fraction:
    if form.samples():
        raise BrokenInvariant("a free centre was not chosen")
    own = {name: (middle - half, middle + half) for name, (middle, half) in ranges.items()}
    low, high = form.extent(lambda name: own[str(name)])
    return max(-low, high)


_CUTS = tuple(Fraction(k, 2) for k in range(2, 25))
_BITS = 32
_FIRST_CUT = Fraction(1)


class SlopeBound(Record):
    """p -> slope * p + constant, both >= 0."""

    slope: Fraction
    constant: Fraction


class Rates(Record):
    """Majorants of |p'| and |p''| as functions of p, for all of a program and an interval."""

    first: tuple[SlopeBound, ...]
    second: tuple[SlopeBound, ...]


class DerivativeBounds:
    """The rates of a program, for one pair of inputs or for all; `LimitReached` if there are
    weights that depend on eps.

    Attributes:
        scaled: Bounds of dp/dtheta and d²p/dtheta².
        shifted: Bounds of p' and p'', if there are centres.
    """

    def __init__(self, states: FinalStates, pair: Pair | None = None) -> None:
        samples = _used(states)
        used = {sample.family for _, sample in samples}
        circuit = chances_of_states(states).circuit
        moving = any(map(_moves, circuit.weights))
        if moving:
            if not all(f.is_exponential for f in used) or states.program.real_outputs:
                another = ": one value at a time can be verified"
            else:
                another = ": only closed forms tell"
            raise LimitReached(
                "between values of eps, choices with weights that depend on eps are not bounded"
                f"{another}"
            )
        self.scaled = _scaling(samples)
        found = None
        if not any(family.is_discrete for family in used):
            found = velocities(states, [index for index, _ in samples], pair)
        self.shifted: Rates | None = None
        if found is not None:
            families = [sample.family for _, sample in samples]
            self.shifted = _shift(zip(families, found, strict=True))

    def rates(self, lower: Fraction) -> Rates:
        """Return bounds that hold for all eps >= `lower` > 0, of programs with finite outputs."""
        first, *others = self.families(lower)
        for each in others:
            first = Rates(first.first + each.first, first.second + each.second)
        return first

    def families(self, lower: Fraction) -> list[Rates]:
        """Return bounds for families of sets, one for each way to let sets move with eps.

        Each family has all sets at every eps >= `lower` > 0.
        """
        # d/deps = (d/dtheta)/eps, d²/deps² = (d²/dtheta² - d/dtheta)/eps².
        first = [SlopeBound(f.slope / lower, f.constant / lower) for f in self.scaled.first]
        level = min(f.constant for f in self.scaled.first if not f.slope)
        second = [
            SlopeBound(s.slope / lower**2, (s.constant + level) / lower**2)
            for s in self.scaled.second
        ]
        scaled = Rates(tuple(first), tuple(second))
        return [scaled] if self.shifted is None else [scaled, self.shifted]


def _moves(weight: Weight) -> bool:
    """Whether the weight of an outcome depends on eps as it is written."""
    if isinstance(weight, Absorbed):
        steps = (step for following in weight.law.transitions for _, step in following)
        return any(step.as_constant() is None for step in steps)
    return weight.as_constant() is None


def _used(states: FinalStates) -> list[tuple[int, Sample]]:
    """Return the samples that some guard or published number mentions, with their indices."""
    mentioned = {s for guard in distinct_guards(states) for s in guard.form.samples()}
    mentioned.update(s for state in states.states for form in state.reals for s in form.samples())
    return [(index, states.samples[index]) for index in sorted(mentioned)]


def _scaling(samples: Iterable[tuple[int, Sample]]) -> Rates:
    speeds: dict[Family, Fraction] = {}
    level = square = Fraction(0)
    for _, sample in samples:
        speed, family = Fraction(abs(sample.scale.power)), sample.family
        speeds[family] = speeds.get(family, Fraction(0)) + speed
        level += speed * family.drift
        square += speed**2 * family.bend
    first = [SlopeBound(Fraction(0), level)]
    for cut in _CUTS:
        steepness = max(cut**2 - 1, Fraction(1))
        rest = sum((n * family.excess(cut) for family, n in speeds.items()), Fraction(0))
        first.append(SlopeBound(sum(speeds.values(), Fraction(0)) * steepness, rest))
    return Rates(tuple(first), (SlopeBound(Fraction(0), square),))


def _real(family: Family) -> RealFamily:
    if not isinstance(family, RealFamily):
        raise ValueError("integer noise does not move by degrees")
    return family


def _shift(velocity: Iterable[tuple[Family, Fraction]]) -> Rates:
    """Return bounds of p' and p'' from velocities, in standard units per unit of eps."""
    moving = sum((_real(family).speeds(speed) for family, speed in velocity), Speeds())
    square, score = moving.normal, moving.score
    gaussian = square_root(Enclosure.exact(square), 2 * _BITS).upper
    first, second = [], []
    for cut in (Fraction(0), Fraction(1, 2), *_CUTS):
        tail = _density(cut) / (1 + cut**2)
        first.append(SlopeBound(gaussian * cut + score, gaussian * tail + moving.jumps))
        if moving.jumps:
            continue
        cross = 2 * gaussian * score
        slope = cross * cut + score**2
        constant = cross * 2 * tail + moving.bend
        if cut == _FIRST_CUT:
            second.append(SlopeBound(slope, constant + square * 2 * _density(cut)))
        if cut >= _FIRST_CUT:
            steepness = max(cut**2 - 1, Fraction(1))
            second.append(
                SlopeBound(slope + square * steepness, constant + square * 4 * cut * tail)
            )
    return Rates(tuple(first), tuple(second))


def _density(cut: Fraction) -> Fraction:
    """Return at least phi(cut): 1/sqrt(2 pi) < 2/5 (even 0.39895)."""
    return Fraction(39895, 100000) * exponential(-(cut**2) / 2, _BITS).upper
