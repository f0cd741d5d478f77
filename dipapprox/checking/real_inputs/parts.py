"""One independent part of a program: its states, what shifts of them cost, what rays lose.

`examine` says why this bounds budgets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, gcd, lcm

from dipapprox.certificates.real_inputs import (
    Coefficient,
    HalfSpace,
    RecordedFlow,
    RecordedOutput,
    RecordedPart,
    RecordedPlaceLoss,
    RecordedRay,
    RecordedShift,
    RecordedState,
)
from dipapprox.checking.facts import Line
from dipapprox.checking.inputs import values_of
from dipapprox.checking.real_inputs.boxes import Box, cover, is_within
from dipapprox.checking.real_inputs.choices import Choices, case_of
from dipapprox.checking.real_inputs.runs import is_outside, rate_of, runs, tape_of
from dipapprox.checking.real_inputs.states import (
    Atoms,
    Geometry,
    StateOf,
    atoms_of,
    tells_atoms,
)
from dipapprox.checking.values import Stuck
from dipapprox.data_classes import dataclass
from dipapprox.digits import brief_text
from dipapprox.errors import UserError
from dipapprox.language import core
from dipapprox.language.domains import AllReals
from dipapprox.limits import Limits
from dipapprox.semantics.linear import LinearForm, Symbol
from dipapprox.semantics.parts import Part

_ZERO = Fraction(0)


class Untrue(Exception):
    """Something that the certificate states is false: where, and what is true."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(what)
        self.where, self.what = where, what


@dataclass(frozen=True, slots=True)
class _Guard:
    """Σ noise · e + Σ inputs · q <= a number; by symbols of noise, and by inputs of the part."""

    noise: dict[int, Fraction]
    inputs: dict[int, Fraction]

    @property
    def negative(self) -> _Guard:
        """The other side."""
        noise = {symbol: -a for symbol, a in self.noise.items()}
        return _Guard(noise, {k: -b for k, b in self.inputs.items()})


@dataclass(frozen=True, slots=True)
class _KnownState:
    """Lines <= 0, the real outputs, and what shifts have to keep: for these, both sides."""

    lines: tuple[Line, ...]
    shown: tuple[Line, ...]
    guards: tuple[_Guard, ...]


class PartCheck:
    """One part: its states are what it does; its shifts and flows are looked at when asked."""

    def __init__(
        self,
        part: Part,
        record: RecordedPart,
        where: str,
        whole: bool,
        integers: bool,
        limits: Limits,
    ) -> None:
        self.inputs, self.record, self.where = part.inputs, record, where
        self.limits = limits
        self.tape = tape_of(part.program)
        self.integers = integers
        self.symbols = self.tape.symbols
        self.draws = tuple(self.tape.draws.values())
        bounds = [
            each.domain.bounds if isinstance(each.domain, AllReals) else None
            for each in part.program.inputs
        ]
        self.geometry = Geometry(self.tape, bounds, limits)
        self.choices = Choices(part.program, limits)
        if not self.choices.are(record.cases):
            raise Untrue(where, "the choices go in other ways")
        self.states = [[self._state(each) for each in output.states] for output in record.outputs]
        self._require_states(part.program, whole)
        self._require_one_direction()

    def _require_states(self, program: core.Program, whole: bool) -> None:
        """Raise Untrue unless the states are what the program does, in every case."""
        record = self.record
        followed = [
            list(runs(program, self.tape, case_of(case), self.limits)) for case in record.cases
        ]
        outputs = [_values(output, program.outputs, self.where) for output in record.outputs]
        tells = tells_atoms((run.shown for each in followed for run in each), self.tape)
        seen = self._distinct(outputs, tells)
        states = [list[StateOf]() for _ in record.cases]
        for values, output, known in zip(outputs, record.outputs, self.states, strict=True):
            for one, state in zip(output.states, known, strict=True):
                if one.case >= len(states):
                    raise Untrue(self.where, "a state of no case")
                states[one.case].append(StateOf(values, state.shown, state.lines))
        for case, own in zip(followed, states, strict=True):
            if whole:
                found = self.geometry.misfit(case, own)
            else:
                found = self.geometry.misfit_of_some(case, own, seen, tells=tells)
            if found is not None:
                raise Untrue(self.where, found)

    def _distinct(
        self, outputs: Sequence[tuple[core.Value, ...]], tells: bool
    ) -> set[tuple[tuple[core.Value, ...], Atoms]]:
        """Return the outputs; all states of one are together: a ray is about all of them."""
        seen = set[tuple[tuple[core.Value, ...], Atoms]]()
        for output, known in zip(outputs, self.states, strict=True):
            atoms = {atoms_of(state.shown) if tells else () for state in known}
            if len(atoms) > 1:
                raise Untrue(self.where, "states of an output show different numbers")
            key = output, atoms.pop()
            if key in seen:
                raise Untrue(self.where, "an output comes twice")
            seen.add(key)
        return seen

    def _require_one_direction(self) -> None:
        scales = [d.scale for d in self.tape.draws.values() if d.family.is_exponential]
        others = {scale.power for scale in scales} - {-1}
        if others and (min(others) < -1 < max(others) or len(self.choices)):
            raise Stuck("scales that are no multiples of 1/eps, of both kinds or beside choices")

    def rate(self, symbol: int) -> Fraction | None:
        """What a shift by 1 costs, in multiples of eps; None: no finite budget pays for it."""
        return rate_of(self._draw(symbol))

    def _draw(self, symbol: int) -> core.Draw:
        return self.draws[symbol - self.tape.inputs]

    def _state(self, record: RecordedState) -> _KnownState:
        guards, lines, shown = list[_Guard](), list[Line](), list[Line]()
        for half_space in record.guards:
            guard = self._guard(half_space)
            if not guard.noise:
                raise Untrue(self.where, "a half space of inputs alone")
            guards.append(guard)
            lines.append(self._line(half_space, guard.noise, guard.inputs))
        for half_space in record.shown:
            guard = self._guard(half_space)
            shown.append(self._line(half_space, guard.noise, guard.inputs))
            guards += [guard, guard.negative]
        return _KnownState(tuple(lines), tuple(shown), tuple(guards))

    def _guard(self, half_space: HalfSpace) -> _Guard:
        inputs = _numbers(half_space.inputs, len(self.inputs), self.where)
        return _Guard(self._noise(half_space.noise), inputs)

    @staticmethod
    def _line(
        half_space: HalfSpace, noise: dict[int, Fraction], inputs: dict[int, Fraction]
    ) -> Line:
        return Line(half_space.constant, tuple(sorted((inputs | noise).items())))

    def _noise(self, coefficients: Iterable[Coefficient]) -> dict[int, Fraction]:
        found = dict[int, Fraction]()
        for each in coefficients:
            symbol = self.symbols.get(each.place)
            if symbol is None or symbol in found or not each.value:
                raise Untrue(self.where, f"there is no noise {each.place}, or it comes twice")
            found[symbol] = each.value
        return found

    # --- at most ----------------------------------------------------------------------------------

    def upper(self, whole: Box) -> Fraction:
        """Return what the shifts cost at most for changes in a box of all inputs."""
        box = tuple(whole[k] for k in self.inputs)
        costs = [_ZERO]
        for number, (output, known) in enumerate(
            zip(self.record.outputs, self.states, strict=True)
        ):
            for place, (state, each) in enumerate(zip(output.states, known, strict=True)):
                where = f"{self.where}.outputs[{number}].states[{place}]"
                if state.shifts is None:
                    raise Untrue(where, "shifts are missing")
                inner = [shift for shift in state.shifts if is_within(shift.box, box)]
                if not cover(box, [shift.box for shift in inner]):
                    raise Untrue(where, "there is no shift for some changes")
                costs += [self._cost(shift, each, where) for shift in inner]
        return max(costs)

    def _cost(self, shift: RecordedShift, state: _KnownState, where: str) -> Fraction:
        if len(shift.box) != len(self.inputs):
            raise Untrue(where, "a box has a side for each input")
        cost = self._shifted(self._noise(shift.shift), state, shift.box, where)
        if cost != shift.cost:
            raise Untrue(where, f"a shift costs {brief_text(cost)}")
        return cost

    def _shifted(
        self,
        moved: dict[int, Fraction],
        state: _KnownState,
        box: Sequence[tuple[int, int]],
        where: str,
    ) -> Fraction:
        """Return what a shift costs that keeps a state for all changes in a box."""
        self.limits.check()
        for guard in state.guards:
            change = sum((guard.noise.get(s, _ZERO) * x for s, x in moved.items()), _ZERO)
            change += sum((max(b * end for end in box[k]) for k, b in guard.inputs.items()), _ZERO)
            if change > 0:
                raise Untrue(where, "a shift does not keep its state")
        cost = _ZERO
        for symbol, x in moved.items():
            rate, draw = self.rate(symbol), self._draw(symbol)
            if rate is None:
                raise Untrue(where, "no shift of this noise has a finite price")
            if draw.family.is_discrete and x.denominator != 1:
                raise Untrue(where, "integer noise is moved by a fraction")
            if is_outside(draw, x):
                raise Untrue(where, "one-sided noise leaves its side")
            cost += rate * abs(x)
        return cost

    # --- at least ---------------------------------------------------------------------------------

    def rays(self) -> Iterator[tuple[RecordedOutput, RecordedRay]]:
        """Yield the outputs that have a ray."""
        for output in self.record.outputs:
            ray = output.ray
            if ray is not None:
                if {len(ray.start), len(ray.origin), len(ray.target)} != {len(self.inputs)}:
                    raise Untrue(self.where, "a ray has a number for each input")
                yield output, ray

    def loss(self, output: RecordedOutput, ray: RecordedRay) -> Fraction | None:
        """Return what an output loses on its ray, in units; None for beyond all bounds."""
        number = self.record.outputs.index(output)
        known = self.states[number]
        where = f"{self.where}.outputs[{number}].ray"
        if len(ray.flows) != len(known) or ray.state >= len(known):
            raise Untrue(where, "expected a flow for each state")
        if self.integers and any(value.denominator != 1 for value in ray.start):
            raise Untrue(where, "inputs are integers")
        start: dict[Symbol, Fraction] = dict(enumerate(ray.start))
        forms = [self.geometry.form(line).at(start) for line in known[ray.state].lines]
        if not self.geometry.is_open(forms):
            raise Untrue(where, "the state is impossible at the start")
        moved = self._noise(ray.shift)
        here = [(each, each) for each in ray.origin]
        before = self._shifted(moved, known[ray.state], here, where)
        costs = list[Fraction]()
        for flow, state in zip(ray.flows, known, strict=True):
            cost = self._dear(flow, state, ray.target, where)
            if cost is not None:
                costs.append(cost)
        found = min(costs) - before if costs else None
        if found != ray.loss or (found is not None and found <= 0):
            raise Untrue(where, f"the flows prove {brief_text(found)}")
        return found

    def _dear(
        self, record: RecordedFlow, state: _KnownState, target: Sequence[int], where: str
    ) -> Fraction | None:
        """Return what the flow proves that a state costs at the target; None for ∞."""
        flow = _numbers(record.flow, len(state.guards), where)
        if any(y < 0 for y in flow.values()):
            raise Untrue(where, "a flow is negative")
        total, value = dict[int, Fraction](), _ZERO
        for place, y in flow.items():
            guard = state.guards[place]
            for symbol, a in guard.noise.items():
                total[symbol] = total.get(symbol, _ZERO) + y * a
            value += y * sum((b * target[k] for k, b in guard.inputs.items()), _ZERO)
        self._require_within_rates(total, record.cost is not None, where)
        if record.cost is None:
            if value <= 0:
                raise Untrue(where, "a flow proves nothing")
            return None
        if value != record.cost:
            raise Untrue(where, f"a flow proves {brief_text(value)}")
        return value

    def _require_within_rates(self, total: dict[int, Fraction], finite: bool, where: str) -> None:
        """Raise Untrue if a flow through noise is more than its rate, or than 0 if not `finite`."""
        for symbol, a in total.items():
            rate, sides = self.rate(symbol), self._draw(symbol).family.sides
            if rate is None:
                continue  # it is never shifted; Gaussian noise has all exponential moments
            most = rate if finite else _ZERO
            if (a > most and -1 in sides) or (a < -most and 1 in sides):
                raise Untrue(where, "a flow is larger than the rate")

    # --- between two inputs -----------------------------------------------------------------------

    def place_loss(
        self, record: RecordedPlaceLoss, first: Sequence[Fraction], second: Sequence[Fraction]
    ) -> Fraction | None:
        """Return what an output loses between two inputs of the part; None for beyond bounds."""
        if record.output >= len(self.states):
            raise Untrue("places", "there is no such output")
        states = self.states[record.output]
        if len(record.flows) != len(states) or record.state >= len(states):
            raise Untrue("places", "expected a flow for each state")
        if any(draw.scale.power != -1 for draw in self.draws):
            raise Stuck("scales of noise that are no multiples of 1/eps")
        if not self.choices.have_constant_weights:
            raise Stuck("between two inputs, the weights of choices depend on eps")
        before = self._cost_at(states[record.state], record, first)
        costs = [
            self._least_at(state, flow, record.shown, second)
            for state, flow in zip(states, record.flows, strict=True)
        ]
        finite = [cost for cost in costs if cost is not None]
        loss = min(finite) - before if finite else None
        if loss != record.loss or (loss is not None and loss <= 0):
            raise Untrue("places", f"the flows prove {brief_text(loss)}")
        return loss

    def _forms_at(self, state: _KnownState, point: Sequence[Fraction]) -> list[LinearForm]:
        """Return a state's lines at some inputs, <= 0; between integers they are moved."""
        values: dict[Symbol, Fraction] = dict(enumerate(point))
        return [self.geometry.form(line).at(values) for line in state.lines]

    def _cost_at(
        self, state: _KnownState, record: RecordedPlaceLoss, point: Sequence[Fraction]
    ) -> Fraction:
        """Return the rate of some noise, close to which a state holds and shows some numbers."""
        noise = self._noise(record.noise)
        forms = self._forms_at(state, point)
        values: dict[Symbol, Fraction] = {
            symbol: noise.get(symbol, _ZERO) for symbol in self.symbols.values()
        }
        if not self.geometry.is_open(forms):
            raise Untrue("places", "the state is impossible at the first input")
        if any(form.at(values).constant > 0 for form in forms):
            raise Untrue("places", "the noise does not lead to its state")
        everything = dict(enumerate(point)) | values
        shown = [
            line.constant + sum((c * everything[s] for s, c in line.terms), _ZERO)
            for line in state.shown
        ]
        if shown != list(record.shown):
            raise Untrue("places", "the noise shows other numbers")
        cost = _ZERO
        for symbol, e in noise.items():
            rate, draw = self.rate(symbol), self._draw(symbol)
            if rate is None:
                raise Untrue("places", "Gaussian noise is not 0")
            if draw.family.is_discrete and e.denominator != 1:
                raise Untrue("places", "integer noise is a fraction")
            if is_outside(draw, e):
                raise Untrue("places", "one-sided noise is on the other side")
            cost += rate * abs(e)
        return cost

    def _least_at(
        self,
        state: _KnownState,
        record: RecordedFlow | None,
        shown: Sequence[Fraction],
        point: Sequence[Fraction],
    ) -> Fraction | None:
        """Return what a flow proves that a state costs at some inputs; None for ∞."""
        if record is None:
            if self.geometry.is_open(self._forms_at(state, point)):
                raise Untrue("places", "a state is possible at the second input")
            return None
        flow = _numbers(record.flow, len(state.guards), "places")
        if any(y < 0 for y in flow.values()):
            raise Untrue("places", "a flow is negative")
        total, value = dict[int, Fraction](), _ZERO
        for place, y in flow.items():
            guard = state.guards[place]
            for symbol, a in guard.noise.items():
                total[symbol] = total.get(symbol, _ZERO) + y * a
            value += y * self._constant(state, place, shown, point)
        self._require_within_rates(total, record.cost is not None, "places")
        if record.cost is None:
            if value <= 0:
                raise Untrue("places", "a flow proves nothing")
            return None
        if value != record.cost:
            raise Untrue("places", f"a flow proves {brief_text(value)}")
        return value

    def _constant(
        self, state: _KnownState, place: int, shown: Sequence[Fraction], point: Sequence[Fraction]
    ) -> Fraction:
        """Return a guard's part without noise, at some inputs, where numbers are shown."""
        if place < len(state.lines):
            line, sign, least = state.lines[place], 1, _ZERO
        else:
            number, other = divmod(place - len(state.lines), 2)
            line, sign, least = state.shown[number], -1 if other else 1, shown[number]
        inputs = (c * point[s] for s, c in line.terms if s < self.tape.inputs)
        constant = sign * (line.constant + sum(inputs, _ZERO) - least)
        noise = [c for s, c in line.terms if s >= self.tape.inputs]
        if not self.integers or not noise:
            return constant
        # Σ a e <= -constant with coprime integers a: the right side may be rounded down.
        unit = Fraction(lcm(*(c.denominator for c in noise)), gcd(*(c.numerator for c in noise)))
        return ceil(constant * unit) / unit


def _numbers(coefficients: Sequence[Coefficient], count: int, where: str) -> dict[int, Fraction]:
    places = [each.place for each in coefficients]
    if any(a >= b for a, b in pairwise(places)) or any(place >= count for place in places):
        raise Untrue(where, "numbers do not ascend, or there are too many")
    return {each.place: each.value for each in coefficients if each.value}


def _values(
    output: RecordedOutput, cells: Sequence[core.Cell], where: str
) -> tuple[core.Value, ...]:
    try:
        return values_of(output.output, cells)
    except UserError as error:
        raise Untrue(where, error.message) from None
