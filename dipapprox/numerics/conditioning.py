"""The method `conditioning`: a few samples take values in turn, the rest is eliminated each time.

    event -> the fewest separators, of these the cheapest -> rules (all below)
          -> for every choice of places the parts that are left, with moved means, in one batch
          -> Σ weights · Π parts

Iterated rules: let I_d integrate over separator d with its density, Q_d be its rule. As 0 <= g <= 1
and Q_d 1 <= 1 + e_d,

    |I_1 … I_k g - Q_1 … Q_k g|  <=  Σ_d e_d Π_{c≠d} (1 + e_c),

where Q_d may be applied to I g of the others, which has the same bounds off the real line. What the
cut-offs lose is at most Σ l_d. The number of choices is known before any is made; too many are
refused.

Rules. Quadrature over the values of a separator: exact places, weights with the density, the error.

In: a separator s of law φ, between bounds, and the bound |g(u + i v)| <= exp(v² A / 2) of a
function g, 0 <= g <= 1 on the line. Out: places t_k, balls w_k and e, l with

    Σ w_k g(t_k) - e  <=  ∫ φ g  <=  Σ w_k g(t_k) + e + l.

The line is cut off where all but l of the law is kept, and at the kink of its density. On a panel
of half-width h with n nodes x_k of Gauss and Legendre, and for the ellipse of ratio r with the
semi-axes a, b, the rule errs by at most 8 h m r^(1 - 2n) / (r - 1) (`arithmetic.legendre`), m the
greatest |φ g| in it: m <= c e^(h² b² A / 2) / σ, with the scale σ, and c a bound of the standard
density on the ellipse in scales, as `RealFamily.ellipse` has it. No point of the ellipse
is further than h b from the line, or h (a - 1) beyond the panel, which ends at the mean if there is
a kink.

Places are rational, near the nodes. By Cauchy on the circle of radius 1 / √A, |g'| <= √(A e); so
|g(t) - g(x)| <= |t - x| (1 + A), because √(A e) <= 1 + A.

Separators: the fewest samples such that what is left is easy once their values are known. In: an
event. Out: a `Separation`. Let the guards be c s + A x + k <= 0 for samples s, the
*separators*, and x, the others. Where Gaussian samples x_i and numbers a_i have A a = c,

    c s + A x + k  =  A y + k,      y = x + a s:

given s, the event is that of the guards A y + k <= 0 with means moved by a s: it keeps its guards.
Then Pr[event | s] is analytic in s everywhere, and for s = u + i v

    |Pr[event | s]|  <=  exp(v² Σ a_i² / σ_i² / 2),

as the densities of the y_i are at most exp((a_i v / σ_i)² / 2) times those for s = u, and the other
laws do not change. Of all a the one with the least Σ a_i² / σ_i² is a = D A' λ with A D A' λ = c,
where D has the variances of the Gaussian x_i, else 0; that sum is λ' c.

Guards of a separator alone are its bounds. The x fall into independent parts; each of them must be
a comparison of samples or sums that eliminations do, or Gaussian of a low rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import combinations, product
from math import ceil, comb, log, log2, prod, sqrt
from operator import itemgetter

from flint import arb

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed, enclosing, sure
from dipapprox.arithmetic.legendre import legendre_nodes
from dipapprox.arithmetic.precision import exact_fraction, precision, to_ball, to_enclosure
from dipapprox.cache import Cache
from dipapprox.data_classes import Record, replace
from dipapprox.events.event import EVERYWHERE, Connected, Event, Interval, common, spelled_out
from dipapprox.events.measures import covariance
from dipapprox.events.reduce import connected_parts
from dipapprox.laws.distribution import Distribution, cutoff_interval
from dipapprox.limits import check_limits
from dipapprox.linear.form import LinearForm, solved
from dipapprox.numerics.elimination.sum_event import sum_event
from dipapprox.numerics.gaussian_rank.cones import polyhedron_of
from dipapprox.numerics.methods import EventByEvent, Method, as_continuous

_RATIOS = (2, 3, 4, 5, 6, 8, 10, 13, 17, 25, 40)
_WIDTHS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
"""Half-widths of panels that are tried, in lengths on which the integrand changes."""

_MOST_NODES = 64
_LARGEST = 2**200


class Panels(Record):
    """How a separator's range is divided."""

    # low, high, how many panels, the side of the mean (0 for Gauss)
    runs: tuple[tuple[Fraction, Fraction, int, int], ...]
    nodes: int  # of each panel
    ratio: int  # of the ellipse

    @property
    def places(self) -> int:
        """How many values the separator takes."""
        return self.nodes * sum(count for _, _, count, _ in self.runs)


class Weighted(Record):
    """A rule: t_k, w_k, e and l, see above."""

    places: tuple[Fraction, ...]
    weights: tuple[arb, ...]
    error: arb
    lost: Fraction


def panels_for(separator: Separator, law: Distribution, bits: int) -> Panels | None:
    """Choose panels for an error of about 2**-bits; only the time depends on it.

    None if no rule does, or the numbers are beyond the range of doubles.
    """
    low, high = cutoff_interval(law, bits)
    low = low if separator.lower is None else max(low, separator.lower)
    high = high if separator.upper is None else min(high, separator.upper)
    if low >= high:
        return Panels((), 1, _RATIOS[0])
    runs = [(low, high, 0)]
    if law.real.has_kink:
        cut = min(max(law.mean, low), high)
        runs = [run for run in ((low, cut, -1), (cut, high, 1)) if run[0] < run[1]]
    if not all(abs(x) <= _LARGEST for x in (low, high, separator.strength, 1 / law.scale)):
        return None
    strength, scale = float(separator.strength), float(law.scale)
    length = 1 / sqrt(strength + 1 / scale**2)
    best: Panels | None = None
    for width in _WIDTHS:
        counts = [ceil(float(end - start) / (2 * width * length)) for start, end, _ in runs]
        parts = tuple((s, e, count, side) for (s, e, side), count in zip(runs, counts, strict=True))
        half = max(float(end - start) / (2 * count) for start, end, count, _ in parts)
        for ratio in _RATIOS:
            wide, high_axis = (ratio + 1 / ratio) / 2, (ratio - 1 / ratio) / 2
            axes = half * high_axis / scale, half * (wide - 1) / scale
            largest = law.real.ellipse(*map(arb, axes))
            if not largest.is_finite():
                break  # this ellipse, and larger ones, reach a pole
            exponent = (half * high_axis) ** 2 * strength / 2 + float(largest.log())
            digits = bits + 4 + exponent / log(2) + log2(max(sum(counts), 1))
            digits += log2(max(8 * half / scale, 2.0**-60))
            nodes = max(ceil((digits / log2(ratio) + 1) / 2), 2)
            found = Panels(parts, nodes, ratio)
            if nodes <= _MOST_NODES and (best is None or found.places < best.places):
                best = found
    return best


def weighted(separator: Separator, law: Distribution, panels: Panels, bits: int) -> Weighted:
    """Build the rule at the working precision, with places to about 2**-(bits + 20)."""
    standard, scale = law.real, to_ball(law.scale)
    mean, strength = to_ball(law.mean), to_ball(separator.strength)
    unit = 1 << bits + 20 + max((1 + separator.strength).__ceil__().bit_length(), 1)
    nodes, gauss_weights = legendre_nodes(panels.nodes)
    ratio = arb(panels.ratio)
    wide, high = (ratio + 1 / ratio) / 2, (ratio - 1 / ratio) / 2
    factor = 8 * ratio ** (1 - 2 * panels.nodes) / (ratio - 1)
    places: list[Fraction] = []
    weights: list[arb] = []
    error = arb(0)
    for start, end, count, side in panels.runs:
        half_exact = (end - start) / (2 * count)
        half = to_ball(half_exact)
        largest = standard.ellipse(half * high / scale, half * (wide - 1) / scale)
        largest *= ((half * high) ** 2 * strength / 2).exp()
        error += count * factor * half * largest / scale
        for panel in range(count):
            centre = to_ball(start + (2 * panel + 1) * half_exact)
            for node, weight in zip(nodes, gauss_weights, strict=True):
                x = centre + half * node
                place = Fraction(round(exact_fraction(x.mid()) * unit), unit)
                own = half * weight * standard.pdf((x - mean) / scale, side or 1) / scale
                places.append(place)
                weights.append(own)
                error += own * abs(x - to_ball(place)) * (1 + strength)
    return Weighted(tuple(places), tuple(weights), error, Fraction(2, 2**bits))


_MOST_EVENTS = 10_000  # most events of parts, all together: some milliseconds each
_MOST_CHOICES = 200_000  # most choices of places: some microseconds each
_REMEMBERED = 1_000
_Choice = tuple[int, ...]  # numbers of places, by separator
_Shape = tuple[tuple[tuple[str, int, int], ...], tuple[LinearForm, ...]]


class Conditioned(EventByEvent):
    name = "conditioning"

    def __init__(self, inner: Method) -> None:
        self._inner = inner
        self._known: Cache[_Shape, tuple[Separation, ...]] = Cache(_REMEMBERED)

    @enclosing
    def one(self, event: Connected, bits: int) -> Enclosure:
        continuous = as_continuous(event)
        if isinstance(continuous, NotEnclosed):
            return sure(continuous)
        plain = spelled_out(continuous)
        laws = [(law.family.name, *law.scale.as_integer_ratio()) for law in plain.samples]
        shape = tuple(laws), plain.guards  # what separations depend on: all but the means
        found = self._known.find(shape, lambda: tuple(separations(plain)))
        if not found:
            few = f"no {MOST_SEPARATORS} samples or fewer whose values leave only what is easy"
            return sure(NotEnclosed(few))
        return self._by_values(plain, found, bits)

    def _by_values(self, plain: Event, found: Sequence[Separation], bits: int) -> Enclosure:
        # Each rule may err by its share of a quarter, each law lose as much.
        own = bits + 3 + MOST_SEPARATORS.bit_length()
        ways: list[tuple[int, Separation, list[Panels]]] = []
        for separation in found:
            laws_of = [(each, plain.samples[each.sample]) for each in separation.separators]
            panels = [rule for s, law in laws_of if (rule := panels_for(s, law, own)) is not None]
            if len(panels) == len(laws_of):
                ways.append((prod(rule.places for rule in panels), separation, panels))
        if not ways:
            return sure(NotEnclosed("no rule for a sample to take values in turn"))
        choices, separation, panels = min(ways, key=itemgetter(0))
        counts = [rule.places for rule in panels]
        moved = [{k for k, _ in separator.shift} for separator in separation.separators]
        # For each part the separators that move its means, by position.
        movers = [
            tuple([d for d, means in enumerate(moved) if means & set(samples)])
            for samples, _ in separation.parts
        ]
        asked = sum(prod(counts[d] for d in each) for each in movers)
        if asked > _MOST_EVENTS or choices > _MOST_CHOICES:
            taken = f"{len(counts)} samples would take {choices} values in turn"
            return sure(NotEnclosed(f"{taken}, more than {_MOST_EVENTS}"))
        with precision(own + 64):
            rules = [
                weighted(s, plain.samples[s.sample], rule, own)
                for s, rule in zip(separation.separators, panels, strict=True)
            ]
        wanted = bits + 2 + len(movers).bit_length()
        tables: list[tuple[_Choice, dict[_Choice, Enclosure]]] = []
        for part, own_movers in zip(separation.parts, movers, strict=True):
            shifts = [(separation.separators[d].shift, rules[d].places) for d in own_movers]
            chosen = list(product(*(range(counts[d]) for d in own_movers)))
            batch = [_moved(plain, part, shifts, choice) for choice in chosen]
            table: dict[_Choice, Enclosure] = {}
            answers = self._inner.enclose(batch, wanted)
            for choice, answer in zip(chosen, answers, strict=True):
                if isinstance(answer, NotEnclosed):
                    answer = NotEnclosed(f"with values for {len(rules)} samples, {answer.reason}")
                table[choice] = sure(answer)
            tables.append((own_movers, table))
        with precision(own + 64):
            return _total(rules, tables)


_Shift = tuple[tuple[int, Fraction], ...]


def _moved(
    event: Event,
    part: RemainingPart,
    shifts: Sequence[tuple[_Shift, Sequence[Fraction]]],
    choice: _Choice,
) -> Event:
    """What is left of an event where separators, that move its means, take values.

    Separations know no means: events that differ in them have the same.
    """
    numbers, guards = part
    moved: dict[int, Fraction] = {}
    for (shift, places), place in zip(shifts, choice, strict=True):
        for k, by in shift:
            moved[k] = moved.get(k, Fraction(0)) + by * places[place]
    samples = [
        replace(law, mean=law.mean + moved[k]) if k in moved else law
        for k, law in ((k, event.samples[k]) for k in numbers)
    ]
    return Event(tuple(samples), guards)


def _total(
    rules: Sequence[Weighted], tables: Sequence[tuple[_Choice, dict[_Choice, Enclosure]]]
) -> Enclosure:
    """Σ weights · Π parts, over all choices of places."""
    balls = [(m, {choice: to_ball(e) for choice, e in table.items()}) for m, table in tables]
    total = arb(0)
    for choice in product(*(range(len(rule.places)) for rule in rules)):
        if not choice[-1]:
            check_limits()
        term = arb(1)
        for d, place in enumerate(choice):
            term *= rules[d].weights[place]
        for movers, table in balls:
            term *= table[tuple([choice[d] for d in movers])]
        total += term
    error = arb(0)
    for d, rule in enumerate(rules):
        others = prod((1 + r.error for c, r in enumerate(rules) if c != d), start=arb(1))
        error += rule.error * others
    found = sure(to_enclosure(total + arb(0, error.upper())))
    lost = sum((rule.lost for rule in rules), Fraction(0))
    return Enclosure(found.lower, found.upper + lost).intersect(UNIT, Conditioned.name)


MOST_SEPARATORS = 3
_MOST_SETS = 400  # most sets of samples that are looked at
_EASY_RANK = 3


class Separator(Record):
    """A sample that takes values in turn."""

    sample: int  # its number in the event
    lower: Fraction | None  # least value; None: no bound
    upper: Fraction | None  # greatest value
    # (sample, a): for every unit of the value the mean of a Gaussian sample moves by a
    shift: tuple[tuple[int, Fraction], ...]
    strength: Fraction  # Σ a² / σ² over `shift`


RemainingPart = tuple[tuple[int, ...], tuple[LinearForm, ...]]
"""A part of what is left: which samples it has, and guards over their places there."""


class Separation(Record):
    """Separators and the independent parts that are left; no part: nothing is."""

    separators: tuple[Separator, ...]
    parts: tuple[RemainingPart, ...]


def separations(event: Event) -> Iterator[Separation]:
    """Yield what separates a connected, irredundant event in the fewest samples, if few do."""
    size, found, choices = len(event.samples), False, 0
    for count in range(1, min(MOST_SEPARATORS, size - 1) + 1):
        choices += comb(size, count)
        if choices > _MOST_SETS:
            return
        for chosen in combinations(range(size), count):
            check_limits()
            separation = separation_by(event, chosen)
            if separation is not None:
                found = True
                yield separation
        if found:
            return


def separation_by(event: Event, chosen: Sequence[int]) -> Separation | None:
    """Separate an event by some samples; None if guards or laws do not allow it."""
    bounds: dict[int, list[Interval]] = {sample: [] for sample in chosen}
    ties: list[LinearForm] = []
    for guard in event.guards:
        samples = guard.samples()
        if len(samples) == 1 and samples[0] in bounds:
            c = guard.coefficient(samples[0])
            end = -guard.constant / c
            bounds[samples[0]].append((None, end) if c > 0 else (end, None))
        elif all(sample in bounds for sample in samples):
            return None  # separators compared with each other: no moving of others undoes that
        else:
            ties.append(guard)
    gaussian = {
        k: law.scale**2
        for k, law in enumerate(event.samples)
        if law.family.is_normal and k not in bounds
    }
    matrix = [[covariance(first, second, gaussian) for second in ties] for first in ties]
    columns = [[guard.coefficient(sample) for guard in ties] for sample in chosen]
    solutions = solved(matrix, columns)  # which is symmetric
    if solutions is None:
        return None
    # Last, as it takes a linear programme for each guard.
    rest = tuple(
        LinearForm(tuple([(s, c) for s, c in guard.terms if s not in bounds]), guard.constant)
        for guard in ties
    )
    parts = connected_parts(Event(event.samples, rest))
    if parts is None or not all(_is_easy(part) for _, part in parts):
        return None
    separators = []
    for sample, column, weights in zip(chosen, columns, solutions, strict=True):
        shift = []
        for k, variance in gaussian.items():
            by = sum((w * g.coefficient(k) for w, g in zip(weights, ties, strict=True)), _ZERO)
            if by:
                shift.append((k, by * variance))
        strength = sum((w * c for w, c in zip(weights, column, strict=True)), _ZERO)
        lower, upper = reduce(common, bounds[sample], EVERYWHERE)
        separators.append(Separator(sample, lower, upper, tuple(shift), strength))
    left = tuple((numbers, part.guards) for numbers, part in parts)
    return Separation(tuple(separators), left)


_ZERO = Fraction(0)


def _is_easy(part: Event) -> bool:
    if not isinstance(sum_event(part, 0), NotEnclosed):
        return True
    gaussian = all(law.family.is_normal for law in part.samples)
    return gaussian and not isinstance(polyhedron_of(part, _EASY_RANK), NotEnclosed)
