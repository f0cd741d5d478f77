"""What a certificate of a budget for real inputs states, compared with what the check finds.

At most: if a shift x of the noise keeps a state for a change Δ of the inputs, that is, if
Σ a x + b·Δ <= 0 for each of its half spaces, and one-sided noise stays on its side, then moving the
noise by x maps the state at q into the state at q + Δ, and no density changes by more than the
factor e^(cost eps), cost = Σ rate |x|. Least costs are convex in Δ: ends of an interval of changes
bound what lies between. States of an output add up; of independent parts costs do.

At least: let flows y >= 0 over the half spaces of a state have |Σ y a| <= rate at every site. Then
no shift for Δ = target costs less than Σ y b·Δ, and along start + t · target the probability of the
state falls at least like e^(-that t eps) (Markov's inequality for e^(θ eps Σ y a noise), θ < 1);
along start + t · origin that of one state falls at most like e^(-cost t eps), cost that of a shift.
Some of the t steps from origin to target, all of them changes of adjacent inputs, loses the
difference of the two. Where the flows leave sites of finite rates alone, the fall has no bound.
Scales that are no multiples of 1/eps, all of one kind, have rates beyond all bounds as eps goes to
0, or grows: what is proved then is of budgets that serve every eps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import ceil, floor

from dipapprox.certificates.real_inputs import (
    CertificateAgainstRealInputs,
    CertificateOfRealInputs,
    Coefficient,
    HalfSpace,
    RecordedFlow,
    RecordedOutput,
    RecordedPart,
    RecordedRay,
    RecordedShift,
    RecordedState,
)
from dipapprox.checking.budgets.examine import BudgetClaim
from dipapprox.checking.facts import Line
from dipapprox.checking.inputs import values_of
from dipapprox.checking.partial_result import PartialResult
from dipapprox.checking.real_inputs.runs import runs, tape_of
from dipapprox.checking.real_inputs.states import Geometry, StateOf
from dipapprox.checking.values import Stuck
from dipapprox.data_classes import dataclass
from dipapprox.distributions import Family
from dipapprox.errors import UserError
from dipapprox.language import core
from dipapprox.language.domains import AllReals, has_names
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import parse_program
from dipapprox.limits import Limits
from dipapprox.semantics.parts import Part, independent_parts

OfRealInputs = CertificateOfRealInputs | CertificateAgainstRealInputs

Box = tuple[tuple[int, int], ...]

MOST_CORNERS = 64
"""Changes that are looked at one by one where several parts read the same inputs."""

SHARED = "the program was split into independent parts as in the proof"

_ZERO = Fraction(0)


def claim_of_real_inputs(record: OfRealInputs) -> BudgetClaim:
    """Return what a certificate states."""
    bounds = record.least_budget
    lower = _ZERO if bounds is None else bounds.lower
    upper = None if bounds is None else bounds.upper
    return BudgetClaim(record.claim.budget, lower, upper, bounds is None, None, at_any_eps=False)


class _False(Exception):
    """Something that the certificate states is false."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(what)
        self.where, self.what = where, what


def examine_real_inputs(record: OfRealInputs, partial: PartialResult, limits: Limits) -> None:
    """Examine all that a certificate states about its program.

    Raises:
        Stuck: If something cannot be followed.
        LimitReached: If `limits` run out.
    """
    source = record.program
    try:
        parsed = parse_program(source.text, source.language, source.name)
        program = elaborate(parsed, record.params, source.name)
    except UserError as error:
        partial.differ("program.text", f"it is not a program: {error.message}")
        return
    if program.parameters != record.params:
        partial.differ("params", "they are not those of the program")
        return
    try:
        _Examination(record, program, limits).run(partial)
    except _False as wrong:
        partial.differ(wrong.where, wrong.what)


@dataclass(frozen=True, slots=True)
class _Guard:
    """Σ noise · e + Σ inputs · q <= a number; by symbols of noise, and by inputs of the part."""

    noise: dict[int, Fraction]
    inputs: dict[int, Fraction]


@dataclass(frozen=True, slots=True)
class _KnownState:
    guards: tuple[_Guard, ...]
    lines: tuple[Line, ...]


class _Examination:
    def __init__(self, record: OfRealInputs, program: core.Program, limits: Limits) -> None:
        self.record, self.program, self.limits = record, program, limits
        if program.real_outputs or program.rounds is not None:
            raise _False("program.text", "it publishes real numbers, or goes on for ever")
        self.integers = any(d.family.is_discrete for d in tape_of(program).draws.values())
        self._require_reals()
        self.changes, radius = self._changes()
        self.boxes = self.changes
        if record.radius != radius or not radius:
            raise _False("radius", f"inputs change by {radius}")

    def run(self, partial: PartialResult) -> None:
        parts = independent_parts(self.program)
        if len(parts) > 1:
            partial.shared.append(SHARED)
        recorded = self.record.evidence
        if [(p.inputs, p.outputs) for p in parts] != [(p.inputs, p.cells) for p in recorded]:
            raise _False("evidence", "the program has other independent parts")
        if len({k for part in parts for k in part.inputs}) < sum(len(p.inputs) for p in parts):
            self.boxes = _corners(self.boxes)
        bounds = self.record.least_budget
        private = bounds is not None and bounds.upper is not None
        known = [
            _PartCheck(part, each, f"evidence[{number}]", private, self.integers, self.limits)
            for number, (part, each) in enumerate(zip(parts, recorded, strict=True))
        ]
        if bounds is not None and bounds.upper is not None:
            dearest = max(sum((each.upper(box) for each in known), _ZERO) for box in self.boxes)
            if dearest * self.record.radius != bounds.upper:
                raise _False(
                    "least_budget.upper", f"the shifts prove {dearest * self.record.radius}"
                )
        lost = self._lost(known)
        stated = None if bounds is None else bounds.lower
        if (None if lost is None else lost * self.record.radius) != stated:
            found = "no budget" if lost is None else str(lost * self.record.radius)
            raise _False("least_budget", f"the rays prove {found}")

    # --- inputs -----------------------------------------------------------------------------------

    def _require_reals(self) -> None:
        for cell in self.program.inputs:
            if has_names(cell.domain):
                raise _False("program.text", f"the input '{cell.name}' has named values")
            if not isinstance(cell.domain, AllReals) and not self.record.reals:
                raise _False("reals", f"the input '{cell.name}' has finitely many values")

    def _bounds(self) -> Iterator[tuple[Fraction, Fraction] | None]:
        for cell in self.program.inputs:
            yield cell.domain.bounds if isinstance(cell.domain, AllReals) else None

    def _changes(self) -> tuple[list[Box], Fraction]:
        """Return boxes whose convex hull are all changes of adjacent inputs, and their unit."""
        adjacency, count = self.program.adjacency, len(self.program.inputs)
        if not isinstance(adjacency, core.Within) or adjacency.norm is core.Norm.L0:
            raise Stuck("adjacent inputs may differ by any amount, or are listed")
        radius = adjacency.radius
        bounds = list(self._bounds())
        known = [each for each in bounds if each is not None]
        if len(known) == count:
            low_high = (
                (ceil(low), floor(high)) if self.integers else (low, high) for low, high in known
            )
            radius = min([radius, max((Fraction(b - a) for a, b in low_high), default=_ZERO)])
        if self.integers:
            radius = Fraction(floor(radius))
        match adjacency.norm:
            case core.Norm.LINF:
                return [((-1, 1),) * count], radius
            case core.Norm.INCREASING:
                return [((0, 1),) * count], radius
            case core.Norm.DECREASING:
                return [((-1, 0),) * count], radius
            case _:
                return [
                    tuple((sign, sign) if k == cell else (0, 0) for k in range(count))
                    for cell in range(count)
                    for sign in (1, -1)
                ], radius

    # --- at least ---------------------------------------------------------------------------------

    def _lost(self, known: Sequence[_PartCheck]) -> Fraction | None:
        """Return what the rays of all parts prove together, in units; None for no budget."""
        rays = [(each, *found) for each in known for found in each.rays()]
        if not rays:
            return _ZERO
        if any(each is not None for each in self._bounds()):
            raise _False("evidence", "inputs lie between bounds, which a ray leaves")
        if len({id(each) for each, _, _ in rays}) < len(rays):
            raise _False("evidence", "a part has several rays")
        start, step = dict[int, Fraction](), dict[int, tuple[int, int]]()
        for each, _, ray in rays:
            columns = zip(each.inputs, ray.start, ray.origin, ray.target, strict=True)
            for k, value, origin, target in columns:
                if start.setdefault(k, value) != value or (
                    step.setdefault(k, (origin, target)) != (origin, target)
                ):
                    raise _False("evidence", "two rays do not walk together")
        count = len(self.program.inputs)
        change = [b - a for a, b in (step.get(k, (0, 0)) for k in range(count))]
        if not any(_contains(box, change) for box in self.changes):
            raise _False("evidence", "inputs do not change so from origin to target")
        losses = [each.loss(output, ray) for each, output, ray in rays]
        if any(loss is None for loss in losses):
            if len(losses) > 1:
                raise _False("evidence", "one ray without bound is enough")
            return None
        return sum((loss for loss in losses if loss is not None), _ZERO)


class _PartCheck:
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
        self.geometry = Geometry(self.tape, limits)
        self.states = [[self._state(each) for each in output.states] for output in record.outputs]
        followed = list(runs(part.program, self.tape, limits))
        cells = part.program.outputs
        states = [
            StateOf(_values(output, cells, where), state.lines)
            for output, known in zip(record.outputs, self.states, strict=True)
            for state in known
        ]
        misfit = self.geometry.misfit if whole else self.geometry.misfit_of_some
        found = misfit(followed, states)
        if found is not None:
            raise _False(where, found)
        self._require_one_direction()

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
        guards, lines = list[_Guard](), list[Line]()
        for half_space in record.guards:
            noise = self._noise(half_space.noise)
            if not noise:
                raise _False(self.where, "a half space of inputs alone")
            inputs = _numbers(half_space.inputs, len(self.inputs), self.where)
            guards.append(_Guard(noise, inputs))
            lines.append(self._line(half_space, noise, inputs))
        return _KnownState(tuple(guards), tuple(lines))

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
                raise _False(self.where, f"there is no noise {each.place}, or it comes twice")
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
                    raise _False(where, "shifts are missing")
                inner = [shift for shift in state.shifts if _is_within(shift.box, box)]
                if not _cover(box, [shift.box for shift in inner]):
                    raise _False(where, "there is no shift for some changes")
                costs += [self._cost(shift, each, where) for shift in inner]
        return max(costs)

    def _cost(self, shift: RecordedShift, state: _KnownState, where: str) -> Fraction:
        if len(shift.box) != len(self.inputs):
            raise _False(where, "a box has a side for each input")
        cost = self._shifted(self._noise(shift.shift), state, shift.box, where)
        if cost != shift.cost:
            raise _False(where, f"a shift costs {cost}")
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
                raise _False(where, "a shift does not keep its state")
        cost = _ZERO
        for symbol, x in moved.items():
            rate, draw = self.rate(symbol), self._draw(symbol)
            if rate is None:
                raise _False(where, "no shift of this noise has a finite price")
            if draw.family.is_discrete and x.denominator != 1:
                raise _False(where, "integer noise is moved by a fraction")
            if x < 0 and draw.family is Family.EXPONENTIAL:
                raise _False(where, "one-sided noise leaves its side")
            if x > 0 and draw.family is Family.REFLECTED_EXPONENTIAL:
                raise _False(where, "one-sided noise leaves its side")
            cost += rate * abs(x)
        return cost

    # --- at least ---------------------------------------------------------------------------------

    def rays(self) -> Iterator[tuple[RecordedOutput, RecordedRay]]:
        """Yield the outputs that have a ray."""
        for output in self.record.outputs:
            if output.ray is not None:
                yield output, output.ray

    def loss(self, output: RecordedOutput, ray: RecordedRay) -> Fraction | None:
        """Return what an output loses on its ray, in units; None for beyond all bounds."""
        number = self.record.outputs.index(output)
        known = self.states[number]
        where = f"{self.where}.outputs[{number}].ray"
        if len(ray.flows) != len(known) or ray.state >= len(known):
            raise _False(where, "expected a flow for each state")
        if self.integers and any(value.denominator != 1 for value in ray.start):
            raise _False(where, "inputs are integers")
        start = dict(enumerate(ray.start))
        forms = [self.geometry.form(line).at(start) for line in known[ray.state].lines]  # type: ignore[arg-type]  # symbols
        if not self.geometry.is_open(forms):
            raise _False(where, "the state is impossible at the start")
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
            raise _False(where, f"the flows prove {found}")
        return found

    def _dear(
        self, record: RecordedFlow, state: _KnownState, target: Sequence[int], where: str
    ) -> Fraction | None:
        """Return what the flow proves that a state costs at the target; None for ∞."""
        flow = _numbers(record.flow, len(state.guards), where)
        if any(y < 0 for y in flow.values()):
            raise _False(where, "a flow is negative")
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
                raise _False(where, "a flow is larger than the rate")
        if record.cost is None:
            if value <= 0:
                raise _False(where, "a flow proves nothing")
            return None
        if value != record.cost:
            raise _False(where, f"a flow proves {value}")
        return value


# --- boxes and numbers ----------------------------------------------------------------------------


def _contains(box: Box, change: Sequence[int]) -> bool:
    return all(lo <= each <= hi for (lo, hi), each in zip(box, change, strict=True))


def _is_within(inner: Sequence[tuple[int, int]], outer: Box) -> bool:
    return len(inner) == len(outer) and all(
        lo <= a <= b <= hi for (a, b), (lo, hi) in zip(inner, outer, strict=True)
    )


def _cover(box: Box, boxes: Sequence[Sequence[tuple[int, int]]]) -> bool:
    """Whether boxes cover another, where the ends of an interval stand for all of it."""
    if any(_is_within(box, tuple(each)) for each in boxes):
        return True
    inside = [each for each in boxes if _is_within(each, box)]
    for place, (lo, hi) in enumerate(box):
        if lo < hi and inside and all(a == b for a, b in (each[place] for each in inside)):
            ends = ((*box[:place], (end, end), *box[place + 1 :]) for end in (lo, hi))
            return all(_cover(end, inside) for end in ends)
    return False


def _corners(boxes: Sequence[Box]) -> list[Box]:
    """Return the corners of boxes, if they are few: they stand for all changes."""
    found = list[Box]()
    for box in boxes:
        for corner in product(*(sorted({*ends}) for ends in box)):
            found.append(tuple((end, end) for end in corner))
            if len(found) > MOST_CORNERS:
                return list(boxes)
    return list(dict.fromkeys(found))


def _numbers(coefficients: Sequence[Coefficient], count: int, where: str) -> dict[int, Fraction]:
    places = [each.place for each in coefficients]
    if any(a >= b for a, b in pairwise(places)) or any(place >= count for place in places):
        raise _False(where, "numbers do not ascend, or there are too many")
    return {each.place: each.value for each in coefficients if each.value}


def _values(
    output: RecordedOutput, cells: Sequence[core.Cell], where: str
) -> tuple[core.Value, ...]:
    try:
        return values_of(output.output, cells)
    except UserError as error:
        raise _False(where, error.message) from None
