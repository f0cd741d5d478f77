"""The answer for all real inputs at a fixed number of them, as JSON and for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from dipapprox.data_classes import dataclass, field
from dipapprox.digits import exact_text
from dipapprox.language import core
from dipapprox.language.cells import statements_in
from dipapprox.language.domains import AllReals, domain_text
from dipapprox.privacy.description import Table, count
from dipapprox.privacy.verdict import Answer
from dipapprox.proofs.budget_answer import BudgetAnswer, budget_text, optional_text, plain_value
from dipapprox.proofs.proof import Proof
from dipapprox.proofs.rays import total_loss
from dipapprox.proofs.two_inputs import TwoInputs, is_open

_MOST_ROWS = 20  # samples of a coupling, in its table


@dataclass(frozen=True, slots=True)
class RealProof(BudgetAnswer):
    """The answer about a program, for all real inputs.

    Attributes:
        proof: What is proved, without a claim.
    """

    proof: Proof = field(repr=False)

    @property
    def program(self) -> str:
        """The name of the program."""
        return self.proof.program.name

    @property
    def parameters(self) -> Mapping[str, Fraction]:
        """Its parameters."""
        return self.proof.program.parameters

    @property
    def lower(self) -> Fraction:
        """No smaller budget serves every eps."""
        return self.proof.lower

    @property
    def upper(self) -> Fraction | None:
        """A budget that serves every eps; None if none is known, or there is none."""
        return self.proof.upper

    @property
    def reason(self) -> str | None:
        """Why the least budget is not known, or that there is none; None if it is known."""
        return self.proof.reason or None

    @property
    def has_none(self) -> bool:
        """Whether it is proved that there is no budget at all."""
        return self.proof.answer is Answer.NOT_DP

    @property
    def states(self) -> int:
        """The final states behind the bounds."""
        return sum(len(output.states) for part in self.proof.parts for output in part.outputs)

    @property
    def given_by(self) -> tuple[str, str]:
        """See `BudgetAnswer`."""
        between = self.proof.between
        lower = "rays" if between is None and self.proof.losses else "two inputs"
        if between is not None and between.eps is not None:
            lower = f"two inputs, {_where_lost(between)}"
        return lower, "couplings"

    def _witness(self) -> dict[str, object] | None:
        family, between = family_of(self.proof), self.proof.between
        if between is not None:
            grows = "places" if between.eps is None else "vanishing"
            at = {"eps": exact_text(between.eps)} if between.eps else {}
            points = {"first": between.first, "second": between.second}
            found = {"kind": "one eps" if between.eps else grows, **at}
            output, loss = output_of(self.proof, between), between.loss
        elif family is not None:
            origin = (Fraction(0),) * len(family.target)
            points = {"start": family.start, "origin": origin, "target": family.target}
            found, output, loss = {"kind": "ray"}, iter(family.output), family.loss
        else:
            return None
        return {
            **found,
            **{name: [exact_text(value) for value in point] for name, point in points.items()},
            "output": {cell: plain_value(value) for cell, value in output},
            "budget": optional_text(loss),
        }

    # --- for people -----------------------------------------------------------------------------

    def _scope(self) -> str:
        program = self.proof.program
        names = [f"{name} = {exact_text(value)}" for name, value in program.parameters.items()]
        domains = dict[str, str]()
        for cell in program.inputs:
            numbers = "any integer" if self.proof.integers else "any real number"
            bounded = isinstance(cell.domain, AllReals) and cell.domain.bounds is not None
            domains[cell.variable] = domain_text(cell.domain) if bounded else numbers
        inputs = (f"{name}: {domain}" for name, domain in domains.items())
        return "; ".join([", ".join(inputs), *([", ".join(names)] if names else [])])

    def _where(self) -> str:
        return f"every ε > 0 and all {'integer' if self.proof.integers else 'real'} inputs"

    def _facts(self) -> Iterable[tuple[str, str | None]]:
        return [("proof", self._proof())]

    def _proof(self) -> str | None:
        parts = []
        if self.upper is not None:
            states = count(self.states, "final state")
            parts.append(f"at most: a shift of the noise for each of {states}")
        if self.lower:
            how = "inputs further and further apart" if self.proof.losses else self.given_by[0]
            parts.append(f"at least: {how}")
        return "; ".join(parts)

    def _below(self) -> Iterator[Table | str]:
        table = self._coupling()
        if table is not None and self.upper:
            yield table
        family = family_of(self.proof)
        if family is not None:
            yield _impossible_text(self.proof, family) or family.text()
        if self.proof.between is not None:
            yield _between_text(self.proof, self.proof.between)

    def _coupling(self) -> Table | None:
        proof = self.proof
        names = [cell.name for cell in proof.program.inputs]
        texts = _draws(proof.program)
        rows = []
        for sample in proof.coupling:
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


def _moved(mean: str, shift: Fraction) -> str:
    """Write by how much a sample is moved: its mean's part, and the shift that is paid."""
    if not mean or not shift:
        return mean or exact_text(shift)
    return f"{mean} {'+' if shift > 0 else '-'} {exact_text(abs(shift))}"


def _draws(program: core.Program) -> dict[int, str]:
    """Return the text of the draw in each line that has one only."""
    found = dict[int, set[str]]()
    for each in statements_in(program.body):
        if isinstance(each, core.Draw) and each.span is not None:
            found.setdefault(each.span.line, set()).add(each.span.text)
    return {line: text for line, (text, *others) in found.items() if not others}


# --- the inputs behind the lower bound ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class InputFamily:
    """Adjacent inputs start + s·target, s and s + 1, for s >= 0.

    Attributes:
        start, target: Vectors of all inputs.
        output: The output that loses on the way: cells with their values.
        loss: What is lost as s grows, in multiples of eps; None for more than any number.
        integers: Whether inputs are integers.
    """

    start: tuple[Fraction, ...]
    target: tuple[Fraction, ...]
    output: tuple[tuple[str, core.Value], ...]
    loss: Fraction | None

    def text(self) -> str:
        """Say it in a line."""
        step, fixed = _vector(self.target), f"{_vector(self.start)} + " if any(self.start) else ""
        inputs = f"inputs {fixed}s·{step} against {fixed}(s + 1)·{step}"
        shown = _output_text(self.output)
        shown = f"output {shown}" if shown else "number published"
        loses = "loses more than any number" if self.loss is None else "loses the most"
        return f"Tight as s grows: {inputs}; the {shown} {loses}"


def family_of(proof: Proof) -> InputFamily | None:
    """Return the inputs on which the lower bound of a proof is lost; None if nothing is."""
    changes, program = proof.changes, proof.program
    if not proof.losses or changes is None:
        return None
    size = len(program.inputs)
    start, target = ([Fraction(0)] * size for _ in range(2))
    output: list[tuple[str, core.Value]] = []
    for each in proof.losses:
        part, ray = proof.parts[each.part], each.ray
        shown = part.outputs[each.output]
        possible = shown.states[0].cone.start
        for place, k in enumerate(part.inputs):
            start[k] = possible[place]
            target[k] = ray.target[place] * changes.unit
        cells = (program.outputs[cell].name for cell in part.cells)
        output += zip(cells, shown.output, strict=True)
    lost = total_loss(each.ray.loss for each in proof.losses)
    loss = None if lost is None else lost * changes.unit
    return InputFamily(tuple(start), tuple(target), tuple(output), loss)


MOST_STEPS = 64  # along a ray, to where its output becomes impossible


def _impossible_text(proof: Proof, family: InputFamily) -> str | None:
    """Say between which inputs of a ray from 0 its output becomes impossible, if that is found."""
    if family.loss is not None or proof.integers:
        return None
    ((part, output),) = ((each.part, each.output) for each in proof.losses)
    cones = [state.cone for state in proof.parts[part].outputs[output].states]
    chooses = any(isinstance(each, core.Choose) for each in statements_in(proof.program.body))
    if chooses or any(cone.shown for cone in cones):
        return None  # an outcome of a choice may be impossible at some eps

    def along(steps: int) -> tuple[Fraction, ...]:
        return tuple(a + steps * b for a, b in zip(family.start, family.target, strict=True))

    for steps in range(1, MOST_STEPS + 1):
        point = tuple([along(steps)[k] for k in proof.parts[part].inputs])
        if not any(is_open(cone, point) for cone in cones):
            return _alone_text(family.output, along(steps - 1), along(steps))
    return None


def _alone_text(
    output: Iterable[tuple[str, core.Value]], first: Sequence[Fraction], second: Sequence[Fraction]
) -> str:
    """Say that an output becomes impossible."""
    inputs = f"inputs {_vector(first)} against {_vector(second)}"
    return f"For every ε: {inputs}; the output {_output_text(output)} is possible at the first only"


def output_of(proof: Proof, between: TwoInputs) -> Iterator[tuple[str, core.Value]]:
    """Yield the cells that lose between two inputs, with their values; reals are close to them."""
    for each in between.losses:
        part = proof.parts[each.part]
        cells = (proof.program.outputs[cell].name for cell in part.cells)
        yield from zip(cells, each.output, strict=True)
        yield from zip(part.real_cells if each.shown else (), each.shown, strict=True)


def _where_lost(between: TwoInputs) -> str:
    if between.eps is None:
        return "as ε grows"
    return f"at ε = {exact_text(between.eps)}" if between.eps else "as ε goes to 0"


def _between_text(proof: Proof, between: TwoInputs) -> str:
    """Say in a line where a bound is lost."""
    if between.is_impossible:
        return _alone_text(output_of(proof, between), between.first, between.second)
    shown, where = _output_text(output_of(proof, between)), _where_lost(between)
    near = "near " if any(each.shown for each in between.losses) else ""
    inputs = f"inputs {_vector(between.first)} against {_vector(between.second)}"
    endless = "more than any multiple of ε" if between.eps is None else "a factor"
    loss = endless if between.loss is None else budget_text(between.loss)
    return f"{where[0].upper()}{where[1:]}: {inputs}; the output {near}{shown} loses {loss}"


def _output_text(output: Iterable[tuple[str, core.Value]]) -> str:
    arrays = dict[str, list[str]]()
    for cell, value in output:
        arrays.setdefault(cell.partition("[")[0], []).append(str(plain_value(value)))
    return ", ".join(f"{name} = {_list(values)}" for name, values in arrays.items())


def _vector(values: Sequence[Fraction]) -> str:
    return _list([exact_text(value) for value in values])


def _list(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
