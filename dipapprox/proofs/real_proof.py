"""The answer for all real inputs at a fixed number of them, as JSON and for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from dipapprox.data_classes import Record, field
from dipapprox.digits import exact_text
from dipapprox.language import core
from dipapprox.language.cells import statements_in
from dipapprox.language.core import Program, Value
from dipapprox.language.domains import AllReals, domain_text
from dipapprox.privacy.description import Table, count
from dipapprox.privacy.notation import plain_value
from dipapprox.privacy.run import RAYS
from dipapprox.proofs.budget_answer import BudgetAnswer, budget_text, optional_text
from dipapprox.proofs.two_inputs import Point, TwoInputs, is_open
from dipapprox.proofs.worst_change import Box, StateProof

_MOST_ROWS = 20  # samples of a coupling, in its table


class OutputProof(Record):
    """The proof for one output. Costs are in multiples of unit · eps."""

    output: tuple[Value, ...]  # values of the output cells, in the order of the program
    # The final states with this output that some inputs make possible.
    states: tuple[StateProof, ...]
    # Whether it loses more than any number along some ray of inputs.
    is_endless: bool


class PartProof(Record):
    """The proofs for an independent part of the program."""

    inputs: tuple[int, ...]  # where its inputs stand among the program's; changes are of these
    cells: tuple[int, ...]  # where its outputs stand among the program's
    # The proof for each valuation of them, in the order of the execution.
    outputs: tuple[OutputProof, ...]
    real_cells: tuple[str, ...] = ()  # the names of its real outputs


class CoupledSample(Record):
    """One sample of a coupling: the second run's is the first run's, moved.

    It moves with its mean, by the change of the inputs there, and by `shift` besides: that is paid.
    """

    label: str  # the variable that the sample was first assigned to
    line: int | None  # of the draw; None for a program without text
    # The inputs in its mean, by number, with their coefficients.
    mean: tuple[tuple[int, Fraction], ...]
    shift: Fraction  # how far its noise is moved
    # How far the sample is moved by both; None where the change may be one of several.
    moved: Fraction | None
    cost: Fraction  # rate · |shift|, in multiples of eps


class RealProof(BudgetAnswer):
    """The answer about a program, for all real (or integer) inputs; budgets are multiples of eps.

    Attributes:
        subject: The program, with its declared domains.
        integers: Whether inputs range over the integers, not over the reals.
        parts: The proofs for the independent parts; their costs add up.
        between: Where `lower` is lost, or more than any number; None if nothing was found to be
            lost, or not as much.
        coupling: Of the dearest outcome of every part, for the changes in `coupled`; their costs
            add up to `upper`. Without samples that no guard mentions.
        coupled: For every part the least and the greatest change of each of its inputs for which
            the coupling serves, in multiples of the unit of changes.
    """

    subject: Program = field(repr=False)
    integers: bool
    parts: tuple[PartProof, ...] = field(default=(), repr=False)
    between: TwoInputs | None = field(default=None, repr=False)
    coupling: tuple[CoupledSample, ...] = field(default=(), repr=False)
    coupled: tuple[Box, ...] = field(default=(), repr=False)

    @property
    def given_by(self) -> tuple[str, str]:
        """See `BudgetAnswer`."""
        between = self.between
        lower = "two inputs" if between is None else RAYS
        if between is not None and not between.is_ray:
            lower = "two inputs" if between.eps is None else f"two inputs, {_where_lost(between)}"
        return lower, "couplings"

    def lost(self) -> Iterator[tuple[str, Value]]:
        """Yield the cells of the output that loses, with their values; reals are close to them."""
        for each in () if self.between is None else self.between.losses:
            part = self.parts[each.part]
            cells = (self.subject.outputs[cell].name for cell in part.cells)
            yield from zip(cells, each.output, strict=True)
            yield from zip(part.real_cells if each.shown else (), each.shown, strict=True)

    def _witness(self) -> dict[str, object] | None:
        between = self.between
        if between is None:
            return None
        points = {"first": between.first, "second": between.second}
        kind, at = "places", dict[str, object]()
        if between.is_ray:
            origin = (Fraction(0),) * len(between.first)
            points = {"start": between.first, "origin": origin, "target": between.change}
            kind = "ray"
        elif between.eps is not None:
            kind = "one eps" if between.eps else "vanishing"
            at = {"eps": exact_text(between.eps)} if between.eps else {}
        return {
            "kind": kind,
            **at,
            **{name: [exact_text(value) for value in point] for name, point in points.items()},
            "output": {cell: plain_value(value) for cell, value in self.lost()},
            "budget": optional_text(between.loss),
        }

    # --- for people -----------------------------------------------------------------------------

    def _scope(self) -> str:
        program = self.subject
        names = [f"{name} = {exact_text(value)}" for name, value in program.parameters.items()]
        domains = dict[str, str]()
        for cell in program.inputs:
            numbers = "any integer" if self.integers else "any real number"
            bounded = isinstance(cell.domain, AllReals) and cell.domain.bounds is not None
            domains[cell.variable] = domain_text(cell.domain) if bounded else numbers
        inputs = (f"{name}: {domain}" for name, domain in domains.items())
        return "; ".join([", ".join(inputs), *([", ".join(names)] if names else [])])

    def _where(self) -> str:
        return f"every ε > 0 and all {'integer' if self.integers else 'real'} inputs"

    def _facts(self) -> Iterable[tuple[str, str | None]]:
        parts = []
        if self.upper is not None:
            states = count(self.states, "final state")
            parts.append(f"at most: a shift of the noise for each of {states}")
        if self.lower:
            how = self.given_by[0]
            parts.append(f"at least: {'inputs further and further apart' if how == RAYS else how}")
        return [("proof", "; ".join(parts))]

    def _below(self) -> Iterator[Table | str]:
        table = self._coupling()
        if table is not None and self.upper:
            yield table
        if self.between is not None:
            yield self._impossible() or self._lost_text(self.between)

    def _coupling(self) -> Table | None:
        names = [cell.name for cell in self.subject.inputs]
        texts = _draws(self.subject)
        rows = []
        for sample in self.coupling:
            moved = " + ".join(
                (f"D({names[k]})" if c == 1 else f"{exact_text(c)} D({names[k]})")
                for k, c in sample.mean
            )
            text = texts.get(sample.line or 0, "")
            drawn = f"{sample.label} <- {text}" if text else sample.label
            both = None if sample.moved is None else exact_text(sample.moved)
            by, cost = both or _moved(moved, sample.shift), f"{exact_text(sample.cost)} ε"
            rows.append((str(sample.line or ""), drawn, by, cost))
        if not rows:
            return None
        if len(rows) > _MOST_ROWS:
            more = ("", f"… {len(rows) - _MOST_ROWS} more", "", "")
            rows = [*rows[:_MOST_ROWS], more]
        title = (
            "Coupling of the dearest outcome: the sample of the second run is that of the first, "
            "moved (D: the change of an input)"
        )
        return Table(title, ("line", "sample", "moved by", "cost"), tuple(rows), (0, 3))

    def _impossible(self) -> str | None:
        """Say between which inputs an output becomes impossible, if that is found."""
        between = self.between
        if between is not None and between.is_impossible:
            return self._alone_text(between.first, between.second)
        if between is None or not between.is_ray or between.loss is not None or self.integers:
            return None
        (lost,) = between.losses
        part = self.parts[lost.part]
        cones = [state.cone for state in part.outputs[lost.place].states]
        chooses = any(isinstance(each, core.Choose) for each in statements_in(self.subject.body))
        if chooses or any(cone.shown for cone in cones):
            return None  # an outcome of a choice may be impossible at some eps
        for steps in range(1, MOST_STEPS + 1):
            point = between.along(steps)
            if not any(is_open(cone, tuple([point[k] for k in part.inputs])) for cone in cones):
                return self._alone_text(between.along(steps - 1), point)
        return None

    def _alone_text(self, first: Point, second: Point) -> str:
        inputs = f"inputs {_vector(first)} against {_vector(second)}"
        shown = _output_text(self.lost())
        return f"For every ε: {inputs}; the output {shown} is possible at the first only"

    def _lost_text(self, between: TwoInputs) -> str:
        shown, first = _output_text(self.lost()), _vector(between.first)
        if between.is_ray:
            step, fixed = _vector(between.change), f"{first} + " if any(between.first) else ""
            inputs = f"inputs {fixed}s·{step} against {fixed}(s + 1)·{step}"
            shown = f"output {shown}" if shown else "number published"
            loses = "loses more than any number" if between.loss is None else "loses the most"
            return f"Tight as s grows: {inputs}; the {shown} {loses}"
        near = "near " if any(each.shown for each in between.losses) else ""
        where, inputs = _where_lost(between), f"inputs {first} against {_vector(between.second)}"
        endless = "more than any multiple of ε" if between.eps is None else "a factor"
        loss = endless if between.loss is None else budget_text(between.loss)
        return f"{where[0].upper()}{where[1:]}: {inputs}; the output {near}{shown} loses {loss}"


def _moved(mean: str, shift: Fraction) -> str:
    """Write by how much a sample is moved: its mean's part, and the shift that is paid."""
    if not mean or not shift:
        return mean or exact_text(shift)
    return f"{mean} {'+' if shift > 0 else '-'} {exact_text(abs(shift))}"


def _draws(program: core.Program) -> dict[int, str]:
    found = dict[int, set[str]]()
    for each in statements_in(program.body):
        if isinstance(each, core.Draw) and each.span is not None:
            found.setdefault(each.span.line, set()).add(each.span.text)
    return {line: text for line, (text, *others) in found.items() if not others}


MOST_STEPS = 64  # along a ray, to where its output becomes impossible


def _where_lost(between: TwoInputs) -> str:
    if between.eps is None:
        return "as ε grows"
    return f"at ε = {exact_text(between.eps)}" if between.eps else "as ε goes to 0"


def _output_text(output: Iterable[tuple[str, core.Value]]) -> str:
    arrays = dict[str, list[str]]()
    for cell, value in output:
        arrays.setdefault(cell.partition("[")[0], []).append(str(plain_value(value)))
    return ", ".join(f"{name} = {_list(values)}" for name, values in arrays.items())


def _vector(values: Sequence[Fraction]) -> str:
    return _list([exact_text(value) for value in values])


def _list(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
