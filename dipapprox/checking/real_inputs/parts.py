"""One independent part of a program: its states, what shifts of them cost, what rays lose.

`examine` says why this bounds budgets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

from dipapprox.certificates.real_inputs import (
    Coefficient,
    HalfSpace,
    RecordedFlow,
    RecordedOutput,
    RecordedPart,
    RecordedRay,
    RecordedShift,
    RecordedState,
)
from dipapprox.checking.facts import Line
from dipapprox.checking.inputs import values_of
from dipapprox.checking.real_inputs.boxes import Box, cover, is_within
from dipapprox.checking.real_inputs.runs import runs, tape_of
from dipapprox.checking.real_inputs.states import (
    Atoms,
    Geometry,
    StateOf,
    atoms_of,
    tells_atoms,
)
from dipapprox.checking.values import Stuck
from dipapprox.data_classes import dataclass
from dipapprox.distributions import Family
from dipapprox.errors import UserError
from dipapprox.language import core
from dipapprox.language.domains import AllReals
from dipapprox.limits import Limits
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
        self.states = [[self._state(each) for each in output.states] for output in record.outputs]
        followed = list(runs(part.program, self.tape, limits))
        outputs = [_values(output, part.program.outputs, where) for output in record.outputs]
        tells = tells_atoms((run.shown for run in followed), self.tape)
        self._require_distinct(outputs, tells)
        states = [
            StateOf(output, state.shown, state.lines)
            for output, known in zip(outputs, self.states, strict=True)
            for state in known
        ]
        if whole:
            found = self.geometry.misfit(followed, states)
        else:
            found = self.geometry.misfit_of_some(followed, states, tells=tells)
        if found is not None:
            raise Untrue(where, found)
        self._require_one_direction()

    def _require_distinct(self, outputs: Sequence[tuple[core.Value, ...]], tells: bool) -> None:
        """Raise Untrue unless all states of an output are together: a ray is about all of them."""
        seen = set[tuple[tuple[core.Value, ...], Atoms]]()
        for output, known in zip(outputs, self.states, strict=True):
            atoms = {atoms_of(state.shown) if tells else () for state in known}
            if len(atoms) > 1:
                raise Untrue(self.where, "states of an output show different numbers")
            key = output, atoms.pop()
            if key in seen:
                raise Untrue(self.where, "an output comes twice")
            seen.add(key)

    def _require_one_direction(self) -> None:
        scales = [d.scale for d in self.tape.draws.values() if not d.family.is_gaussian]
        others = {scale.power for scale in scales} - {-1}
        if others and min(others) < -1 < max(others):
            raise Stuck("scales of noise that are no multiples of 1/eps, of both kinds")

    def rate(self, symbol: int) -> Fraction | None:
        """What a shift by 1 costs, in multiples of eps; None: no finite budget pays for it."""
        draw = self._draw(symbol)
        if draw.family.is_gaussian or draw.scale.power != -1:
            return None
        return 1 / draw.scale.coefficient

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
            raise Untrue(where, f"a shift costs {cost}")
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
            if x < 0 and draw.family is Family.EXPONENTIAL:
                raise Untrue(where, "one-sided noise leaves its side")
            if x > 0 and draw.family is Family.REFLECTED_EXPONENTIAL:
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
        start = dict(enumerate(ray.start))
        forms = [self.geometry.form(line).at(start) for line in known[ray.state].lines]  # type: ignore[arg-type]  # symbols
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
            raise Untrue(where, f"the flows prove {found}")
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
        for symbol, a in total.items():
            rate, family = self.rate(symbol), self._draw(symbol).family
            if rate is None:
                continue  # it is never shifted; Gaussian noise has all exponential moments
            most = rate if record.cost is not None else _ZERO
            if (a > most and family is not Family.EXPONENTIAL) or (
                a < -most and family is not Family.REFLECTED_EXPONENTIAL
            ):
                raise Untrue(where, "a flow is larger than the rate")
        if record.cost is None:
            if value <= 0:
                raise Untrue(where, "a flow proves nothing")
            return None
        if value != record.cost:
            raise Untrue(where, f"a flow proves {value}")
        return value


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
