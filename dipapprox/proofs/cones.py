"""Final states as cones: which shifts of the samples keep a state's guards.

A sample is z_i = m_i·q + e_i + const with e_i centred, a guard Σ_i a_gi z_i + b_g·q + const <= 0.
If the inputs change from q to q + Δ and the noise from e to e + x with

    Σ_i a_gi x_i  <=  c_g·Δ         for every guard g,          c_g = -b_g - Σ_i a_gi m_i,

then every guard stays as true as it was. A real output Σ_i a_i z_i + b·q + const is what it was if
that holds for it and for its negative, with equality. One-sided noise adds x_i >= 0 or x_i <= 0.
The constants play no part. What such a shift costs is Σ rate_i · |x_i|, in multiples of eps.

A rate is 1/b for Laplace noise of scale b/eps, discrete or one-sided, too, and for logistic noise.
Gumbel noise, which may lie on both sides, has it for shifts to one of them, and none to the other.
It is infinite for Gaussian noise, of which no shift has a finite price, and for a scale that is no
multiple of 1/eps: a price in multiples of eps is then unbounded, as eps goes to 0 or to infinity.

Possible inputs. Inputs at which a final state has a positive probability; 0 for all where that will
do.

Inputs may lie between bounds. A state that is possible at an end of an interval is possible close
to it, too: so bounds are asked for as guards. An interval of one point has nothing inside: it is no
guard, and a state may then count as possible that is not. So are bounds where a state compares real
samples beside integer ones.

For real samples a state needs an open set of them. For integer samples, in guards that bound a
sample, a difference of two, or one of a sample and an input, it needs an integer point: such guards
are a totally unimodular system, so with integer bounds some vertex is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from math import ceil, floor
from typing import Any

from dipapprox.data_classes import Record, field
from dipapprox.errors import BrokenInvariant
from dipapprox.language.core import Cell
from dipapprox.laws.family import BOTH_SIDES, Family, RealFamily
from dipapprox.linear.form import LinearForm, Symbol, content, difference
from dipapprox.linear.half_spaces import has_interior, implies, nearest_point
from dipapprox.linear.programme import SIDES, LinearProgramme, UnknownSide
from dipapprox.linear.zones import potentials
from dipapprox.semantics.path_ends import supports
from dipapprox.semantics.real_inputs import NotReal, bounds_of
from dipapprox.semantics.splitting import coprime
from dipapprox.semantics.state import FinalState, FinalStates, Guard, Sample, guards_of

_HALVINGS = 200
"""Of the slack that an open set is asked for; its ends have so many binary digits at most."""


class PossibleInputs:
    """Finds inputs that make states possible."""

    def __init__(self, samples: Sequence[Sample], inputs: Sequence[Cell]) -> None:
        names = [cell.name for cell in inputs]
        self._samples, self._inputs = samples, names
        # An input is one more unknown number.
        self._unknowns: dict[Symbol, LinearForm] = {
            name: LinearForm.symbol(len(samples) + k) for k, name in enumerate(names)
        }
        self._integers = any(sample.family.is_discrete for sample in samples)
        intervals = {
            cell.name: bounds
            for cell in inputs
            if (bounds := bounds_of(cell.domain, self._integers)) is not None
        }
        # What is closest to 0.
        self._zeros: dict[Symbol, Fraction] = {
            name: min(max(Fraction(0), low), high)
            for name in names
            for low, high in [intervals.get(name, (Fraction(0), Fraction(0)))]
        }
        self._bounds = [
            side
            for name, (lo, hi) in intervals.items()
            if lo < hi
            for q in (LinearForm.symbol(name),)
            for side in (LinearForm.constant_form(lo) - q, q - LinearForm.constant_form(hi))
        ]

    def of(self, guards: Sequence[Guard]) -> tuple[Fraction, ...] | None:
        """Return such inputs for a state with these guards; None if it is null for all."""
        integer = [coprime(guard.form) for guard in guards if self._is_integer(guard)]
        real = [guard for guard in guards if not self._is_integer(guard)]
        forms = [guard.form for guard in (*real, *supports(real, self._samples))]
        for form in integer:
            if sorted(c for _, c in form.terms) not in ([-1], [1], [-1, 1]):
                raise NotReal(
                    "integer samples are compared otherwise than two with each other or one with "
                    "a number or an input"
                )
        bounds = [LinearForm(form.terms, Fraction(ceil(form.constant))) for form in integer]
        zeros = self._zeros
        if has_interior(form.at(zeros) for form in forms) and _has_point(
            f.at(zeros) for f in bounds
        ):
            return tuple([self._zeros[name] for name in self._inputs])
        if not self._integers:
            forms += self._bounds
        elif not real:
            bounds += self._bounds
        forms = [form.substitute(self._unknowns) for form in forms]
        bounds = [form.substitute(self._unknowns) for form in bounds]
        if not has_interior(forms) or not _has_point(bounds):
            return None
        return self._found(forms, bounds)

    def telling(self, guards: Sequence[Guard]) -> list[Guard]:
        """Return guards without those that hold whatever real inputs and samples are."""
        if self._integers or not self._bounds:
            return list(guards)
        sides = supports(guards, self._samples)
        whole = [*(each.form for each in sides), *self._bounds]
        whole = [form.substitute(self._unknowns) for form in whole]
        return [each for each in guards if not implies(whole, each.form.substitute(self._unknowns))]

    def _is_integer(self, guard: Guard) -> bool:
        return self._samples[guard.form.samples()[0]].family.is_discrete

    def _found(
        self, forms: Sequence[LinearForm], bounds: Sequence[LinearForm]
    ) -> tuple[Fraction, ...]:
        unknowns = range(len(self._samples) + len(self._inputs))
        slack = Fraction(1)
        for _ in range(_HALVINGS):
            inner = [LinearForm(form.terms, form.constant + slack) for form in forms]
            found = nearest_point([*inner, *bounds], unknowns)
            if found is not None:
                inputs = tuple([found[k] for k in unknowns[len(self._samples) :]])
                if self._integers and any(each.denominator != 1 for each in inputs):
                    raise NotReal("no integer inputs were found that make an output possible")
                return inputs
            slack /= 2
        raise NotReal("no inputs were found that make an output possible")


def _has_point(bounds: Iterable[LinearForm]) -> bool:
    """Whether integers obey integer bounds of unknowns and differences."""
    found = [each for each in map(difference, bounds) if each is not None]
    return potentials([(u, v, floor(w)) for u, v, w in found], 0) is not None


class Pricing(Enum):
    """What a shift of a sample costs."""

    LINEAR = "in proportion to the shift"
    GAUSSIAN = "no finite budget"
    SCALE = "no multiple of eps"
    ONE_WAY = "in proportion to the shift to one side, no finite budget to the other"


class ShiftSource(Record):
    """A sample as a source of shifts."""

    label: str  # the variable that it was first assigned to
    line: int | None  # of the draw in the program's text
    pricing: Pricing  # what its shifts cost
    rate: Fraction | None  # what a shift by 1 costs in multiples of eps; None if that is infinite
    side: UnknownSide  # where its shifts may lie
    support: UnknownSide  # where it lies itself, less its mean
    # The inputs in its mean, by number, with their coefficients.
    mean: tuple[tuple[int, Fraction], ...]
    is_integer: bool  # whether its shifts are integers
    site: int = 0  # the number of the draw in the program

    @property
    def is_free(self) -> bool:
        """Whether it may lie where no shift that has a price leads."""
        return self.rate is None or self.side is not self.support


def programme_of(sources: Sequence[ShiftSource], rows: Sequence[Any]) -> LinearProgramme[Any]:
    """Return the programme of the cheapest shifts of samples, or of the cheapest noise: rows with
    their coefficients are to be at most some numbers."""
    rates = {place: source.rate for place, source in enumerate(sources)}
    sides = {place: source.side for place, source in enumerate(sources)}
    return LinearProgramme(rows, rates, sides)


class GuardRow(Record):
    """A guard without its constant: Σ noise · x <= Σ inputs · Δ."""

    # (place in `Cone.sources`, coefficient), ascending, no coefficient 0.
    noise: tuple[tuple[int, int], ...]
    # (number of the input, coefficient), ascending, no coefficient 0.
    inputs: tuple[tuple[int, int], ...]


class Cone(Record):
    """The shifts that keep a final state."""

    rows: tuple[GuardRow, ...]  # what the shifts have to obey
    sources: tuple[ShiftSource, ...]  # the samples in the rows
    start: tuple[Fraction, ...]  # inputs at which the state has a positive probability
    # The state itself: forms <= 0 over the samples' noise, by the places of their sources, and over
    # inputs, by their names.
    guards: tuple[LinearForm, ...] = field(default=(), compare=False, repr=False)
    # What it publishes as real outputs: such forms, in the order of the program.
    shown: tuple[LinearForm, ...] = field(default=(), compare=False, repr=False)
    # The numbers of inputs, by their names.
    inputs: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)


class ConeBuilder:
    """Makes the cones of final states."""

    def __init__(self, states: FinalStates) -> None:
        self._inputs = {cell.name: k for k, cell in enumerate(states.program.inputs)}
        self._sources = [_source(sample, self._inputs) for sample in states.samples]
        self._possible = PossibleInputs(states.samples, states.program.inputs)
        self._means = [sample.mean for sample in states.samples]

    def cone(self, state: FinalState) -> Cone | None:
        """Return the cone of a final state; None if it is null for all inputs."""
        if state.conditions:
            raise BrokenInvariant("a final state of real inputs has conditions on them")
        guards = guards_of(state.path)
        start = self._possible.of(guards)
        if start is None:
            return None
        own = [guard.form for guard in self._possible.telling(guards)]
        forms = own + [side for form in state.reals for side in (form, -form)]
        numbers = sorted({sample for form in forms for sample in form.samples()})
        around: dict[Symbol, LinearForm] = {
            number: LinearForm.symbol(place) + self._means[number]
            for place, number in enumerate(numbers)
        }
        rows = dict.fromkeys(self._row(form.substitute(around)) for form in forms)
        kept = tuple(row for row in rows if row.noise or row.inputs)
        centred = tuple(dict.fromkeys(form.substitute(around) for form in own))
        shown = tuple([form.substitute(around) for form in state.reals])
        sources = tuple(self._sources[number] for number in numbers)
        return Cone(kept, sources, start, centred, shown, self._inputs)

    def _row(self, form: LinearForm) -> GuardRow:
        noise = {place: c for place, c in form.terms if isinstance(place, int)}
        change = {self._inputs[name]: -c for name, c in form.terms if isinstance(name, str)}
        unit = content([*noise.values(), *change.values()]) or Fraction(1)
        return GuardRow(_integers(noise, unit), _integers(change, unit))


def _source(sample: Sample, inputs: dict[str, int]) -> ShiftSource:
    family = sample.family
    if not family.shifts:
        pricing = Pricing.GAUSSIAN
    elif not (family.is_exponential or _falls_as_shifts_cost(family)):
        raise NotReal(f"{family.title} noise: shifts may cost less than their price")
    elif sample.scale.power != -1:
        pricing = Pricing.SCALE
    else:
        pricing = Pricing.LINEAR if family.shifts == family.sides else Pricing.ONE_WAY
    rate = None if pricing in (Pricing.GAUSSIAN, Pricing.SCALE) else 1 / sample.scale.coefficient
    return ShiftSource(
        sample.label,
        sample.line,
        pricing,
        rate,
        SIDES[family.shifts or family.sides],
        SIDES[family.sides],
        tuple(sorted((inputs[s], c) for s, c in sample.mean.terms if isinstance(s, str))),
        family.is_discrete,
        sample.site,
    )


def _falls_as_shifts_cost(family: Family) -> bool:
    """Whether E e^(tZ) is finite where lower bounds ask for it: for |t| < 1 on the sides of shifts
    that have a price, so that f(z) >= f(0) e^-|z| there, and for all t on the other side."""
    if not isinstance(family, RealFamily):
        return False
    tails = {1: family.tail, -1: family.mirror.tail}
    return all((tails[sign] is not None) == (sign in family.shifts) for sign in BOTH_SIDES)


def _integers(numbers: dict[int, Fraction], unit: Fraction) -> tuple[tuple[int, int], ...]:
    return tuple((place, int(c / unit)) for place, c in sorted(numbers.items()) if c)
