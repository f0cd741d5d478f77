"""Guards, conditions on inputs and samples as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

from dipapprox.errors import BrokenInvariant
from dipapprox.events.sums import law_of
from dipapprox.integrals.plan import form_text
from dipapprox.laws.choices import count_outcomes
from dipapprox.laws.distribution import Distribution, Scale
from dipapprox.linear.form import LinearForm
from dipapprox.privacy.description import values_text
from dipapprox.semantics.outcomes import (
    ALWAYS,
    NEVER,
    UNION,
    as_conjunction,
    largest_choices,
    reachable,
)
from dipapprox.semantics.state import Choice, FinalStates, Guard, InputCondition, Reading, Sample


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


def choices_text(states: FinalStates, chosen: int) -> tuple[str, ...]:
    """Write which outcomes of choices a state needs: "out[1] outcome 1 of 3", one by one; if more
    is needed to say it: "9 of 32 combinations of outcomes of 'coin'"."""
    single = as_conjunction(states.sets, chosen)
    if single is None:
        return (_combinations(states, chosen),)
    found = []
    for number, outcomes in reversed(single):
        choice = _choice(states, number)
        numbers = ", ".join(str(outcome + 1) for outcome in sorted(outcomes))
        found.append(f"{choice.label} outcome {numbers} of {count_outcomes(choice.law)}")
    return tuple(found)


def _combinations(states: FinalStates, chosen: int) -> str:
    """Count the combinations of outcomes in a set, of the choices that it mentions."""
    nodes = reachable(states.sets, (chosen,))
    mentioned = sorted({states.sets[k][0] for k in nodes} - {UNION, UNION - 1})
    before = {UNION: 1}  # combinations of the choices up to one
    for number, previous in zip(mentioned, (UNION, *mentioned), strict=False):
        before[number] = before[previous] * count_outcomes(_choice(states, number).law)
    largest = largest_choices(states.sets)
    known = {NEVER: 0, ALWAYS: 1}
    for node in nodes:
        head, _, children = states.sets[node]
        if head == UNION:
            own = before[largest[node]]
            known[node] = sum(known[k] * (own // before[largest[k]]) for k in children)
        elif head >= 0:
            own = before[head] // count_outcomes(_choice(states, head).law)
            known[node] = sum(known[k] * (own // before[largest[k]]) for k in children)
    labels = dict.fromkeys(_choice(states, number).label for number in mentioned)
    few = [f"'{label}'" for label in labels][:_SHOWN]
    more = [f"{len(labels) - _SHOWN} more"] if len(labels) > _SHOWN else []
    total = before[mentioned[-1]]
    return f"{known[chosen]} of {total} combinations of outcomes of {', '.join(few + more)}"


def _choice(states: FinalStates, number: int) -> Choice:
    found = states.choices[number]
    if isinstance(found, Reading):
        raise BrokenInvariant("final states whose choices depend on the input have no text")
    return found


_SHOWN = 6
"""Most variables in a text about choices."""


def comparison_text(form: LinearForm, strict: bool, names: Sequence[str]) -> str:
    """Write form <= 0 (or < 0) with every term on the side where it is positive."""
    left = LinearForm(tuple(t for t in form.terms if t[1] > 0), max(form.constant, Fraction(0)))
    relation = "<" if strict else "<="
    return f"{form_text(left, names)} {relation} {form_text(left - form, names)}"


def sample_text(sample: Sample, name: str) -> str:
    """Write a draw: "rT ~ Gauss(0, 2/eps)"."""
    mean = form_text(sample.mean, ())
    return f"{name} ~ {sample.family.name}({mean}, {scale_text(sample.scale)})"


def scale_text(scale: Scale) -> str:
    """Write a scale: "2/eps", "3"."""
    match scale.power:
        case 0:
            return str(scale.coefficient)
        case -1:
            return f"{scale.coefficient}/eps"
        case power:
            return f"{scale.coefficient} * eps^{power}"


def sum_text(form: LinearForm, laws: Sequence[Distribution], names: Sequence[str]) -> str:
    """Write a sum of samples with its law at one eps: "x + 2*y ~ Gauss(1, sqrt(5))".

    What has a closed form is one law (`events.sums`); other laws stand one by one, multiples of
    integer samples as multiples.
    """
    law = law_of(form, laws)
    terms = [f"Gauss({law.mean}, {_root_text(law.variance)})"] if law.variance else []
    for factor, term in law.terms:
        times = "" if factor == 1 else f"{factor}*"
        terms.append(f"{times}{term.family.name}({term.mean}, {term.scale})")
    return f"{form_text(form, names)} ~ {' + '.join(terms)}"


def _root_text(square: Fraction) -> str:
    above, below = isqrt(square.numerator), isqrt(square.denominator)
    root = Fraction(above, below)
    return str(root) if root * root == square else f"sqrt({square})"
