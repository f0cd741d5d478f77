"""Real inputs without bounds: ends beyond which hardly anything changes.

**Lemma (clamping).** Let c move one input to the nearest end of an interval, and let the law of the
outputs at u and at c(u) differ by at most τ in total variation, for all u. Then delta_{u,u'} <=
delta_{c(u),c(u')} + τ + E τ; and clamped pairs of adjacent inputs are adjacent.
Proof. delta = max over S of P_S(u) - E P_S(u'), and each P_S moves by at most τ. Clamping keeps
equal values equal and their order, and brings values no farther apart, so that holds for every
adjacency. Several inputs are clamped one after the other, and their τ add up.

**τ.** Let the same noise be drawn at u and c(u). The final state is determined by which guards are
obeyed. A guard form <= 0 whose form rises with u_i by s > 0 per unit is obeyed at one of them only
if, at an upper end h, the form is <= 0 although its mean there is large. Let that mean be at least
m = Σ |a_k| σ_k t_k, a_k being the coefficients of samples: then some standard noise is farther out
than its t_k, on one side. For Laplace noise, and one-sided one, that has a probability of at most
e^-t, for Gaussian noise at most e^-t²/2. The same holds at a lower end, and for s < 0. Here
e^-7/10 < 1/2 is used. What else is in the form must lie between bounds: other inputs of the guard
have some.

**Lemma (the largest of all).** Let the outputs tell which of u_i + Z_i is the largest, Z being
independent noise, and nothing else. With M = max u_i, let c move up what is below M - h: c(u)_i =
max(u_i, M - h). Then the laws at u and at c(u) differ by at most the probability that Z_i - Z_m >=
h for some i != m, m being where u_m = M; so delta moves by as much as above. If u and u' are
adjacent for `linf`, `increasing`, `decreasing` or `all`, then c(u) and c(u') are.
Proof. Draw the same noise. If no Z_i - Z_m >= h, then no i with u_i < M - h is the largest at c(u),
nor at u, where it is lower; the others have not moved. Clamping: M moves by at most as much as some
u_i, and in the same direction.
Moving all of u and u' by the same number changes nothing: let M = 0, then all c(u)_i lie in [-h, 0]
and those of u' in [-h - r, r] for a radius r. For `all`, u and u' can be moved each on its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dipapprox.data_classes import replace
from dipapprox.events.instantiate import Instantiator, Outline
from dipapprox.language.core import Cell, Everyone, Norm, Within
from dipapprox.language.domains import AllReals
from dipapprox.laws.family import Family, RealFamily
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.interpolation.polynomial import Interval
from dipapprox.pairs.boxes.movement import OutOfReach
from dipapprox.semantics.state import FinalStates

_BITS = 48  # τ is about 2^-_BITS: less than what a claimed δ is usually wanted to


def with_ends(states: FinalStates, eps: Fraction) -> tuple[FinalStates, Fraction]:
    """Bound the real inputs that have no bounds.

    Returns:
        The same states of a program whose real inputs have bounds, and at most by how much, in
        total variation, the outputs' law at any inputs differs from that at clamped ones.

    Raises:
        OutOfReach: If a guard is about several inputs without bounds, or of noise with no tails
            known here.
    """
    cells = states.program.inputs
    free = {cell.name for cell in cells if is_free(cell)}
    if not free:
        return states, Fraction(0)
    largest = _largest_of(states, eps)
    if largest is not None:
        return largest
    ranges: dict[str, Interval] = {}
    for cell in cells:
        if isinstance(cell.domain, AllReals):
            ranges[cell.name] = cell.domain.bounds or _NOWHERE
        else:  # named values are compared with no sample
            values = [value for value in cell.domain if isinstance(value, Fraction)]
            ranges[cell.name] = (min(values), max(values)) if values else _NOWHERE
    ends: dict[str, Interval] = {}
    moved = Fraction(0)
    for form, samples in _guards(states, eps):
        names = free.intersection(form.inputs())
        if not names:
            continue
        if len(names) > 1:
            two = " and ".join(sorted(names)[:2])
            raise OutOfReach(f"inputs without bounds, {two}, are compared with each other")
        (name,) = names
        slope = form.coefficient(name)
        low, high = form.at({name: Fraction(0)}).extent(lambda cell: ranges[str(cell)])
        enough = sum((abs(size) * _far(family) for family, size in samples), Fraction(0))
        if slope < 0:
            slope, low, high = -slope, -high, -low
        own = (-enough - high) / slope, (enough - low) / slope
        known = ends.get(name, own)
        ends[name] = min(known[0], own[0]), max(known[1], own[1])
        moved += Fraction(len(samples), 2**_BITS)
    return _between(states, {name: ends.get(name, _NOWHERE) for name in free}), moved


def _between(states: FinalStates, ends: Mapping[str, Interval]) -> FinalStates:
    """Return the states of a program with bounds for some real inputs, rounded outward."""

    def rounded(low: Fraction, high: Fraction) -> Interval:
        """Short numbers around two ends: integers, if they are not too near for these."""
        unit = Fraction(1)
        while low < high < low + 16 * unit and high < low + 1:
            unit /= 2
        return (low / unit).__floor__() * unit, (high / unit).__ceil__() * unit

    inputs = tuple(
        replace(cell, domain=AllReals(rounded(*ends[cell.name]))) if cell.name in ends else cell
        for cell in states.program.inputs
    )
    return replace(states, program=replace(states.program, inputs=inputs))


def _largest_of(states: FinalStates, eps: Fraction) -> tuple[FinalStates, Fraction] | None:
    """See `with_ends`, where outputs tell which of all noisy inputs is the largest; else None."""
    cells, adjacency = states.program.inputs, states.program.adjacency
    if isinstance(adjacency, Everyone):
        radius = Fraction(0)
    elif isinstance(adjacency, Within) and adjacency.norm not in (Norm.L0, Norm.L1):
        radius = adjacency.radius
    else:
        return None
    if not all(map(is_free, cells)) or states.choices:
        return None
    instantiator = Instantiator(states, eps)
    outlines, count = instantiator.outlines, len(cells)
    numbers = {number for outline in outlines for number in outline.samples}
    means = {states.samples[number].mean for number in numbers}
    if len(numbers) != count or means != {LinearForm.symbol(cell.name) for cell in cells}:
        return None
    winners = {_winner(outline, count) for outline in outlines}
    if None in winners or len(winners) != count or len(outlines) != count:
        return None
    far = (_far(states.samples[k].family) * instantiator.scales[k] for k in numbers)
    ends = -2 * max(far) - radius, radius
    return _between(states, {cell.name: ends for cell in cells}), Fraction(count, 2**_BITS)


def _winner(outline: Outline, count: int) -> int | None:
    """Return the number of the sample that is above all others in a state; None for no such one."""
    lower, upper = set[int](), set[int]()
    for guard in outline.guards:
        if guard.constant or guard.inputs() or len(guard.terms) != 2:
            return None
        for local in guard.samples():
            # form <= 0: what has a negative coefficient is above.
            (lower if guard.coefficient(local) > 0 else upper).add(outline.samples[local])
        if sum((guard.coefficient(local) for local in guard.samples()), Fraction(0)):
            return None
    alone = len(upper) == 1 and len(lower) == count - 1 == len(outline.guards)
    return upper.pop() if alone else None


_NOWHERE = Fraction(0), Fraction(0)  # for an input that no guard mentions


def is_free(cell: Cell) -> bool:
    """Whether an input is real and has no bounds."""
    return isinstance(cell.domain, AllReals) and cell.domain.bounds is None


_Noise = tuple[tuple[Family, Fraction], ...]
"""The family of every sample, and its coefficient times its scale."""


def _guards(states: FinalStates, eps: Fraction) -> list[tuple[LinearForm, _Noise]]:
    """Return the distinct guards: their means as forms over inputs, and their noise.

    Guards about other samples are other guards, whatever their laws: each has noise that may be far
    out. A guard and the one that holds where it does not are one: the same noise is far out.
    """
    instantiator = Instantiator(states, eps)
    found: dict[tuple[tuple[int, ...], LinearForm, _Noise], None] = {}
    for outline in instantiator.outlines:
        for guard in outline.guards:
            factors = {outline.samples[own]: guard.coefficient(own) for own in guard.samples()}
            numbers = tuple(sorted(factors))
            sign = -1 if numbers and factors[numbers[0]] < 0 else 1
            inputs = tuple(term for term in guard.terms if isinstance(term[0], str))
            mean = LinearForm(inputs, guard.constant)
            for number, factor in factors.items():
                mean = mean + states.samples[number].mean.scaled(factor)
            noise = tuple(
                (states.samples[k].family, sign * factors[k] * instantiator.scales[k])
                for k in numbers
            )
            found[numbers, mean.scaled(Fraction(sign)), noise] = None
    return [(mean, noise) for _, mean, noise in found]


def _far(family: Family) -> Fraction:
    """Return t such that standard noise is beyond, on one side, with at most 2^-_BITS."""
    if not isinstance(family, RealFamily):
        raise OutOfReach(f"{family.name} noise around inputs without bounds")
    return family.far(_BITS)
