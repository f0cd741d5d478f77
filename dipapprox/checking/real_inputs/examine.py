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
Where real numbers are shown, shifts leave them as they are, and the output is that they lie in some
intervals: that they are no more, and no less, than their ends are two more half spaces for each.
Some of the t steps from origin to target, all of them changes of adjacent inputs, loses the
difference of the two. Where the flows leave sites of finite rates alone, the fall has no bound.
Between two inputs: let some noise lead to a state at the first, of cost Σ rate |noise|, in a state
that is more than a null set. Then as eps grows its probability falls no faster than like
e^(-cost eps): there is an open set of noises of the state as close as 1 / eps, its volume a power
of eps. Let flows y >= 0 over the half spaces A e + B q + c <= 0 of a state have |Σ y a| <= rate at
every site but those of Gaussian noise. At the second input its probability falls at least like
e^(-v eps), v = Σ y (B q + c), by Markov's inequality as above: expectations are bounded as eps
grows. If the rates are 0 here and v > 0, multiples of the flow show that it falls faster; and a
null set has probability 0.

As eps goes to 0: let p, p' be an output's probabilities at two inputs, in closed form. Where p / p'
tends to 1, ln(p / p') / eps tends to what (p / p' - 1) / eps does, and smaller budgets are exceeded
at small eps; where it tends to more, every budget is.

Scales that are no multiples of 1/eps, all of one kind, have rates beyond all bounds as eps goes to
0, or grows: what is proved then is of budgets that serve every eps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil, comb, floor

from dipapprox.certificates.real_inputs import (
    CertificateAgainstRealInputs,
    CertificateOfRealInputs,
    RecordedPlaces,
    RecordedVanishing,
)
from dipapprox.checking.claims import BudgetClaim
from dipapprox.checking.partial_result import PartialResult
from dipapprox.checking.real_inputs.boxes import Box, allowed, contains, corners_of
from dipapprox.checking.real_inputs.parts import PartCheck, Untrue
from dipapprox.checking.real_inputs.runs import tape_of
from dipapprox.checking.real_inputs.vanishing import vanishing_loss
from dipapprox.checking.values import Stuck
from dipapprox.digits import brief_text
from dipapprox.errors import UserError
from dipapprox.language import core
from dipapprox.language.domains import AllReals, has_names
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import parse_program
from dipapprox.limits import Limits
from dipapprox.semantics.parts import Part, independent_parts

OfRealInputs = CertificateOfRealInputs | CertificateAgainstRealInputs

SHARED = "the program was split into independent parts as in the proof"

_ZERO = Fraction(0)

_MOST_BOXES = 1_000
"""Of inputs that may change together; where there are more, all may."""


def claim_of_real_inputs(record: OfRealInputs) -> BudgetClaim:
    """Return what a certificate states."""
    bounds = record.least_budget
    lower = _ZERO if bounds is None else bounds.lower
    upper = None if bounds is None else bounds.upper
    return BudgetClaim(record.claim.budget, lower, upper, bounds is None, None, at_any_eps=False)


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
    except Untrue as wrong:
        partial.differ(wrong.where, wrong.what)


class _Examination:
    def __init__(self, record: OfRealInputs, program: core.Program, limits: Limits) -> None:
        self.record, self.program, self.limits = record, program, limits
        if program.rounds is not None:
            raise Untrue("program.text", "it goes on for ever")
        self.integers = any(d.family.is_discrete for d in tape_of(program).draws.values())
        self._require_reals()
        self.changes, radius, self.are_all = self._changes()
        self.boxes = self.changes
        if record.radius != radius or not radius:
            raise Untrue("radius", f"inputs change by {brief_text(radius)}")

    def run(self, partial: PartialResult) -> None:
        parts = independent_parts(self.program)
        if len(parts) > 1:
            partial.shared.append(SHARED)
        recorded = self.record.evidence
        finite = [(p.inputs, p.outputs[: len(p.program.outputs)]) for p in parts]
        if finite != [(p.inputs, p.cells) for p in recorded]:
            raise Untrue("evidence", "the program has other independent parts")
        if len({k for part in parts for k in part.inputs}) < sum(len(p.inputs) for p in parts):
            self.boxes = corners_of(self.boxes)
        bounds = self.record.least_budget
        private = bounds is not None and bounds.upper is not None
        known = [
            PartCheck(part, each, f"evidence[{number}]", private, self.integers, self.limits)
            for number, (part, each) in enumerate(zip(parts, recorded, strict=True))
        ]
        if bounds is not None and bounds.upper is not None:
            dearest = max(sum((each.upper(box) for each in known), _ZERO) for box in self.boxes)
            if dearest * self.record.radius != bounds.upper:
                raise Untrue(
                    "least_budget.upper",
                    f"the shifts prove {brief_text(dearest * self.record.radius)}",
                )
            if dearest and not self.are_all:
                raise Untrue("least_budget.upper", "adjacent inputs may differ by any amount")
        lost = self._lost(known)
        if lost is not None:
            lost *= self.record.radius
        if self.record.places is not None:
            if lost != 0:
                raise Untrue("places", "there are rays as well")
            lost = self._lost_between(self.record.places, known)
        if self.record.vanishing is not None:
            if lost != 0 or self.record.places is not None:
                raise Untrue("vanishing", "there is other evidence as well")
            lost = self._lost_as_eps_vanishes(self.record.vanishing, parts)
        if lost and not self.are_all:
            lost = None  # so many times as much as one wants
        if lost != (None if bounds is None else bounds.lower):
            found = "no budget" if lost is None else str(lost)
            raise Untrue("least_budget", f"what is lost proves {brief_text(found)}")

    # --- inputs -----------------------------------------------------------------------------------

    def _require_reals(self) -> None:
        """Raise unless every input has values: of no input anything could be said."""
        for cell in self.program.inputs:
            if has_names(cell.domain):
                raise Untrue("program.text", f"the input '{cell.name}' has named values")
            if not isinstance(cell.domain, AllReals) and not self.record.reals:
                raise Untrue("reals", f"the input '{cell.name}' has finitely many values")
            bounds = cell.domain.bounds if isinstance(cell.domain, AllReals) else None
            if self.integers and bounds is not None and floor(bounds[1]) < ceil(bounds[0]):
                raise Stuck(f"no integer lies between the bounds of '{cell.name}'")

    def _bounds(self) -> Iterator[tuple[Fraction, Fraction] | None]:
        for cell in self.program.inputs:
            yield cell.domain.bounds if isinstance(cell.domain, AllReals) else None

    def _width(self) -> Fraction | None:
        """Return the most that any input can change by between its bounds; None for no limit."""
        bounds = list(self._bounds())
        known = [each for each in bounds if each is not None]
        if len(known) < len(bounds):
            return None
        low_high = (
            (ceil(low), floor(high)) if self.integers else (low, high) for low, high in known
        )
        return max((Fraction(b - a) for a, b in low_high), default=_ZERO)

    def _changes(self) -> tuple[list[Box], Fraction, bool]:
        """Return boxes whose convex hull are all changes of adjacent inputs, and their unit.

        And whether these are all; else their multiples are changes, too.
        """
        adjacency, count, width = self.program.adjacency, len(self.program.inputs), self._width()
        one = [
            tuple((sign, sign) if k == cell else (0, 0) for k in range(count))
            for cell in range(count)
            for sign in (1, -1)
        ]
        every: list[Box] = [((-1, 1),) * count]
        match adjacency:
            case core.Everyone():
                return (one, Fraction(1), False) if width is None else (every, width, True)
            case core.Within(norm=core.Norm.L0, radius=radius):
                if width is None:
                    return one, Fraction(min(floor(radius), 1)), False
                most = min(floor(radius), count)
                return _of_some(count, most), width if most else _ZERO, True
            case core.Within(norm=norm, radius=radius):
                if self.integers:
                    radius = Fraction(floor(radius))
                if width is not None and norm is core.Norm.L1 and 0 < width < radius:
                    # Several inputs may change by w: no more than r / w of them, rounded up.
                    return _of_some(count, min(ceil(radius / width), count)), width, True
                if width is not None:
                    radius = min(radius, width)
                ends = {core.Norm.INCREASING: (0, 1), core.Norm.DECREASING: (-1, 0)}
                if norm is core.Norm.L1:
                    return one, radius, True
                return [(ends.get(norm, (-1, 1)),) * count], radius, True
            case _:
                raise Stuck("adjacent inputs are listed")

    # --- at least ---------------------------------------------------------------------------------

    def _lost(self, known: Sequence[PartCheck]) -> Fraction | None:
        """Return what the rays of all parts prove together, in units; None for no budget."""
        rays = [(each, *found) for each in known for found in each.rays()]
        if not rays:
            return _ZERO
        if any(each is not None for each in self._bounds()):
            raise Untrue("evidence", "inputs lie between bounds, which a ray leaves")
        if len({id(each) for each, _, _ in rays}) < len(rays):
            raise Untrue("evidence", "a part has several rays")
        start, step = dict[int, Fraction](), dict[int, tuple[int, int]]()
        for each, _, ray in rays:
            columns = zip(each.inputs, ray.start, ray.origin, ray.target, strict=True)
            for k, value, origin, target in columns:
                if start.setdefault(k, value) != value or (
                    step.setdefault(k, (origin, target)) != (origin, target)
                ):
                    raise Untrue("evidence", "two rays do not walk together")
        count = len(self.program.inputs)
        change = [b - a for a, b in (step.get(k, (0, 0)) for k in range(count))]
        if not any(contains(box, change) for box in self.changes):
            raise Untrue("evidence", "inputs do not change so from origin to target")
        losses = [each.loss(output, ray) for each, output, ray in rays]
        if any(loss is None for loss in losses):
            if len(losses) > 1:
                raise Untrue("evidence", "one ray without bound is enough")
            return None
        return sum((loss for loss in losses if loss is not None), _ZERO)

    def _lost_between(self, places: RecordedPlaces, known: Sequence[PartCheck]) -> Fraction | None:
        """Return what two adjacent inputs prove, in multiples of eps; None for no budget."""
        points = self._adjacent(places.first, places.second, "places")
        total, seen = _ZERO, set[int]()
        for each in places.losses:
            if each.part in seen or each.part >= len(known):
                raise Untrue("places", "a part comes twice, or there is no such part")
            seen.add(each.part)
            part = known[each.part]
            first, second = ([point[k] for k in part.inputs] for point in points)
            loss = part.place_loss(each, first, second)
            if loss is None:
                if len(places.losses) > 1:
                    raise Untrue("places", "one loss without bound is enough")
                return None
            total += loss
        return total

    def _lost_as_eps_vanishes(
        self, vanishing: RecordedVanishing, parts: Sequence[Part]
    ) -> Fraction | None:
        """Return what two adjacent inputs prove for small eps; None for no budget."""
        points = self._adjacent(vanishing.first, vanishing.second, "vanishing")
        total, seen = _ZERO, set[int]()
        for each in vanishing.losses:
            if each.part in seen or each.part >= len(parts):
                raise Untrue("vanishing", "a part comes twice, or there is no such part")
            seen.add(each.part)
            part = parts[each.part]
            first, second = (tuple([point[k] for k in part.inputs]) for point in points)
            loss = vanishing_loss(part.program, each.output, first, second, self.limits)
            if loss != each.loss:
                found = "no budget" if loss is None else brief_text(loss)
                raise Untrue("vanishing", f"what is lost proves {found}")
            if loss is None:
                if len(vanishing.losses) > 1:
                    raise Untrue("vanishing", "one loss without bound is enough")
                return None
            total += loss
        return total

    def _adjacent(
        self, first: Sequence[Fraction], second: Sequence[Fraction], where: str
    ) -> tuple[Sequence[Fraction], Sequence[Fraction]]:
        """Return two inputs, if they are inputs and adjacent."""
        bounds = list(self._bounds())
        for point in (first, second):
            if len(point) != len(bounds):
                raise Untrue(where, "an input is missing, or there are too many")
            for value, ends in zip(point, bounds, strict=True):
                if ends is not None and not ends[0] <= value <= ends[1]:
                    raise Untrue(where, "an input lies outside its bounds")
                if self.integers and value.denominator != 1:
                    raise Untrue(where, "inputs are integers")
        change = [b - a for a, b in zip(first, second, strict=True)]
        if not allowed(self.program.adjacency, change):
            raise Untrue(where, "the inputs are not adjacent")
        return first, second


def _of_some(count: int, most: int) -> list[Box]:
    """Return changes of so many inputs at a time; of all, where these are too many boxes."""
    if comb(count, most) > _MOST_BOXES:
        most = count
    return [
        tuple((-1, 1) if k in chosen else (0, 0) for k in range(count))
        for chosen in map(frozenset, combinations(range(count), most))
    ]
