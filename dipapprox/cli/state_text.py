"""Guards, conditions on inputs and samples as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from dipapprox.distributions import FiniteLaw, Scale
from dipapprox.integrals.plan import form_text
from dipapprox.privacy.notation import values_text
from dipapprox.semantics.linear import LinearForm
from dipapprox.semantics.state import Choice, Guard, InputCondition, Sample


def sample_names(samples: Sequence[Sample]) -> tuple[str, ...]:
    """Name samples after their variables; several of one variable are numbered: r[1], r[2]."""
    times = Counter(sample.label for sample in samples)
    seen: Counter[str] = Counter()
    names = []
    for label in (sample.label for sample in samples):
        seen[label] += 1
        if times[label] == 1:
            names.append(label)
        elif label.endswith("]"):
            names.append(f"{label[:-1]},{seen[label]}]")
        else:
            names.append(f"{label}[{seen[label]}]")
    return tuple(names)


def guard_text(guard: Guard, names: Sequence[str]) -> str:
    """Write a guard as a comparison without minus signs: "rT <= r#1"."""
    return comparison_text(guard.form, guard.strict, names)


def condition_text(condition: InputCondition) -> str:
    """Write a condition on the inputs."""
    if condition.values is not None:
        values = sorted(condition.values, key=lambda v: (isinstance(v, str), v))
        return f"{condition.cell} in {{{values_text(values)[1:-1]}}}"
    assert condition.form is not None
    return comparison_text(condition.form, condition.strict, ())


def choice_text(choice: Choice, outcomes: frozenset[int]) -> str:
    """Write which outcomes of a choice are meant: "out[1] outcome 1 of 3"."""
    law = choice.law
    count = len(law.weights if isinstance(law, FiniteLaw) else law.outcomes)
    numbers = ", ".join(str(outcome + 1) for outcome in sorted(outcomes))
    return f"{choice.label} outcome {numbers} of {count}"


def comparison_text(form: LinearForm, strict: bool, names: Sequence[str]) -> str:
    """Write form <= 0 (or < 0) with every term on the side where it is positive."""
    left = LinearForm(tuple(t for t in form.terms if t[1] > 0), max(form.constant, Fraction(0)))
    relation = "<" if strict else "<="
    return f"{form_text(left, names)} {relation} {form_text(left - form, names)}"


def sample_text(sample: Sample, name: str) -> str:
    """Write a draw: "rT ~ Gauss(0, 2/eps)"."""
    mean = form_text(sample.mean, ())
    return f"{name} ~ {sample.family.value}({mean}, {scale_text(sample.scale)})"


def scale_text(scale: Scale) -> str:
    """Write a scale: "2/eps", "3"."""
    match scale.power:
        case 0:
            return str(scale.coefficient)
        case -1:
            return f"{scale.coefficient}/eps"
        case power:
            return f"{scale.coefficient} * eps^{power}"
