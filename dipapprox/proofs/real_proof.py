"""The answer for all real inputs at a fixed number of them, as JSON and for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import ClassVar

from dipapprox.data_classes import dataclass, field
from dipapprox.digits import exact_text
from dipapprox.errors import INTERRUPTED
from dipapprox.language import core
from dipapprox.language.domains import AllReals, domain_text
from dipapprox.privacy.description import Description, Table, count, known, seconds_text
from dipapprox.privacy.result import Result
from dipapprox.privacy.verdict import Answer
from dipapprox.proofs.budgets import budget_text, private_text
from dipapprox.proofs.proof import Loss, Proof
from dipapprox.semantics.cells import statements_in

_MOST_ROWS = 20
"""Samples of a coupling, in its table."""


@dataclass(frozen=True, slots=True)
class RealProof(Result):
    """The answer to: is the program (D·eps, 0)-private for every eps > 0 and all real inputs?

    Budgets are multiples of eps.

    Attributes:
        answer: DP: `upper` is a budget, and at most the claimed one. Not_DP: there is no budget, or
            the claimed one is less than `lower`.
        budget: The claimed one; None if none was.
        proof: What is proved, without a claim.
        seconds: From the program to the answer.
    """

    answer: Answer
    budget: Fraction | None
    proof: Proof = field(repr=False)
    seconds: float

    asked: ClassVar[str] = "compare its answer: proof.answer is Answer.DP"

    @property
    def lower(self) -> Fraction:
        """No smaller budget serves every eps."""
        return self.proof.lower

    @property
    def upper(self) -> Fraction | None:
        """A budget that serves every eps; None if none is known, or there is none."""
        return self.proof.upper

    @property
    def is_exact(self) -> bool:
        """Whether `upper` is the least budget."""
        return self.proof.is_exact

    @property
    def reason(self) -> str | None:
        """Why the least budget is not known, or that there is none; None if it is known."""
        return self.proof.reason or None

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the run before there was an answer."""
        return self.answer is Answer.UNKNOWN and self.reason == INTERRUPTED

    @property
    def has_none(self) -> bool:
        """Whether it is proved that there is no budget at all."""
        return self.proof.answer is Answer.NOT_DP

    def to_dict(self) -> dict[str, object]:
        """Return the fields of `prove --json`, a contract with other tools."""
        program = self.proof.program
        return {
            "program": program.name,
            "params": {name: exact_text(value) for name, value in program.parameters.items()},
            "verdict": self.answer.value,
            "reason": self.reason,
            "budget": None if self.budget is None else exact_text(self.budget),
            "least_budget": {
                "lower": exact_text(self.lower),
                "upper": None if self.upper is None else exact_text(self.upper),
                "exact": self.is_exact,
            },
            "structures": [],
            "published_weight": None,
            "states": self._states(),
            "quotient_states": None,
            "witness": self._witness(),
            "seconds": round(self.seconds, 6),
        }

    def _states(self) -> int:
        return sum(len(output.states) for part in self.proof.parts for output in part.outputs)

    def _witness(self) -> dict[str, object] | None:
        family = family_of(self.proof)
        if family is None:
            return None
        return {
            "kind": "ray",
            "start": [exact_text(value) for value in family.start],
            "origin": [exact_text(value) for value in family.origin],
            "target": [exact_text(value) for value in family.target],
            "output": {cell: _value(value) for cell, value in family.output},
            "budget": None if family.loss is None else exact_text(family.loss),
        }

    # --- for people -----------------------------------------------------------------------------

    def describe(self) -> Description:
        """Return what people see of it: the answer, the coupling, the inputs that lose most."""
        proof = self.proof
        claim = None if self.budget is None else f"{private_text(self.budget)} for every ε > 0"
        facts = known(
            ("claim", claim),
            ("scope", self._scope()),
            ("least budget", self._least_budget()),
            ("reason", self.reason),
            ("proof", self._proof()),
            ("computed", f"exact, {seconds_text(self.seconds)}"),
        )
        headline = f"{proof.program.name}: {self._sentence()}"
        return Description(
            headline, self.answer.value, self.answer.tone, facts, tuple(self._below())
        )

    def _sentence(self) -> str:
        numbers = "integer" if self.proof.integers else "real"
        match self.answer:
            case Answer.DP:
                budget = self.upper if self.budget is None else self.budget
                return f"{private_text(budget)} for every ε > 0 and all {numbers} inputs"
            case Answer.NOT_DP if self.has_none:
                return "no D makes it (D ε, 0)-DP for every ε > 0"
            case Answer.NOT_DP:
                return f"not {private_text(self.budget)} for every ε > 0"
            case Answer.UNKNOWN:
                return "not decided"

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

    def _least_budget(self) -> str:
        if self.has_none:
            return "none"
        if self.upper is None:
            return f"at least {budget_text(self.lower)}, if there is one"
        if self.is_exact:
            return f"{budget_text(self.upper)}, exact"
        if not self.lower:
            return f"at most {budget_text(self.upper)}"
        return f"at least {budget_text(self.lower)}, at most {budget_text(self.upper)}"

    def _proof(self) -> str | None:
        parts = []
        if self.upper is not None:
            states = count(self._states(), "final state")
            parts.append(f"at most: a shift of the noise for each of {states}")
        if self.lower:
            parts.append("at least: inputs further and further apart")
        return "; ".join(parts)

    def _below(self) -> Iterator[Table | str]:
        table = self._coupling()
        if table is not None and self.upper:
            yield table
        family = family_of(self.proof)
        if family is not None:
            yield family.text()

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
            rows.append(
                (
                    str(sample.line or ""),
                    f"{sample.label} <- {text}" if text else sample.label,
                    _moved(moved, sample.shift),
                    f"{exact_text(sample.cost)} ε",
                )
            )
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


def _value(value: core.Value) -> object:
    if isinstance(value, str):
        return value
    return int(value) if value.denominator == 1 else exact_text(value)


# --- the inputs behind the lower bound ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Family:
    """Adjacent inputs start + t·origin + s·(target - origin), s and s + 1, for 0 <= s < t.

    Attributes:
        start, origin, target: Vectors of all inputs.
        output: The output that loses on the way: cells with their values.
        loss: What is lost as t grows, in multiples of eps; None for more than any number.
        integers: Whether inputs are integers.
    """

    start: tuple[Fraction, ...]
    origin: tuple[Fraction, ...]
    target: tuple[Fraction, ...]
    output: tuple[tuple[str, core.Value], ...]
    loss: Fraction | None

    def text(self) -> str:
        """Say it in a line."""
        step = tuple(b - a for a, b in zip(self.origin, self.target, strict=True))
        fixed = "" if not any(self.start) else f"{_vector(self.start)} + "
        if any(self.origin):
            fixed += f"t·{_vector(self.origin)} + "
        inputs = f"inputs {fixed}s·{_vector(step)} against {fixed}(s + 1)·{_vector(step)}"
        if any(self.origin):
            inputs += " for 0 <= s < t"
        arrays = dict[str, list[str]]()
        for cell, value in self.output:
            arrays.setdefault(cell.partition("[")[0], []).append(str(_value(value)))
        shown = ", ".join(f"{name} = {_list(values)}" for name, values in arrays.items())
        loses = "loses more than any number" if self.loss is None else "loses the most"
        grows = "t" if any(self.origin) else "s"
        return f"Tight as {grows} grows: {inputs}; the output {shown} {loses}"


def family_of(proof: Proof) -> Family | None:
    """Return the inputs on which the lower bound of a proof is lost; None if nothing is."""
    changes, program = proof.changes, proof.program
    if not proof.losses or changes is None:
        return None
    size = len(program.inputs)
    start, origin, target = ([Fraction(0)] * size for _ in range(3))
    output: list[tuple[str, core.Value]] = []
    lost: Fraction | None = Fraction(0)
    for each in proof.losses:
        part, ray = proof.parts[each.part], each.ray
        shown = part.outputs[each.output]
        possible = shown.states[ray.state].cone.start
        for place, k in enumerate(part.inputs):
            start[k] = possible[place]
            origin[k] = ray.origin[place] * changes.radius
            target[k] = ray.target[place] * changes.radius
        cells = (program.outputs[cell].name for cell in part.cells)
        output += zip(cells, shown.output, strict=True)
        lost = _added(lost, each, changes.radius)
    return Family(tuple(start), tuple(origin), tuple(target), tuple(output), lost)


def _added(lost: Fraction | None, loss: Loss, radius: Fraction) -> Fraction | None:
    if lost is None or loss.ray.loss is None:
        return None
    return lost + loss.ray.loss * radius


def _vector(values: Sequence[Fraction]) -> str:
    return _list([exact_text(value) for value in values])


def _list(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
