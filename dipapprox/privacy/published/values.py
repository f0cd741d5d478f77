"""The values of real outputs in a set that is too likely, and how they depend on one another.

In: the set of an outcome, given by intervals of sums of coordinates. Out: the values of all output
cells, such that they describe this set:

    y[1] = x + 1, y[2] = x            y[2] = y[1] - 1
    y[1] = x, y[2] = x + z, z >= 3    y[2] with -y[1] + y[2] >= 3
    y[1] = x, y[2] = z, x + 2 z >= 3  y[2] with y[1] + 2 y[2] >= 3

Without the first an outcome that only one input has would look like one that both have.
"""

from __future__ import annotations

from collections.abc import Sequence

from dipapprox.digits import exact_text
from dipapprox.errors import BrokenInvariant
from dipapprox.events.intervals import EVERYWHERE
from dipapprox.events.sums import primitive
from dipapprox.linear.form import LinearForm
from dipapprox.linear.span import FormSpan
from dipapprox.pairs.published.divergences import OutcomeExcess
from dipapprox.privacy.notation import ANY_NUMBER, NumberSet, Published

LIKELIER = NumberSet(((None, None),), "of a likelihood ratio above e^ε_prv")
"""Where several numbers are published together."""


def published_values(excess: OutcomeExcess) -> tuple[Published, ...]:
    """Return what intervals tell of all output cells: finite values, then numbers and sets."""
    reals: list[Published] = []
    for form in excess.outcome.reals:
        own = form.samples()
        if not own:
            reals.append(form.constant)
        elif excess.where is None:
            reals.append(LIKELIER)
        elif len(own) > 1 or LinearForm.symbol(own[0]) not in excess.where:
            reals.append(ANY_NUMBER)
        else:
            known = NumberSet(excess.where[LinearForm.symbol(own[0])])
            reals.append(known.mapped(form.coefficient(own[0]), form.constant))
    return (*excess.outcome.outputs, *reals)


def related_values(excess: OutcomeExcess, names: Sequence[str]) -> tuple[Published, ...]:
    """Return values of all output cells that describe a set.

    Args:
        excess: The set; the probabilities of what is returned are those of it.
        names: Of the real outputs.
    """
    values = list(published_values(excess))
    if excess.where is None:
        return tuple(values)
    first = len(excess.outcome.outputs)
    span = FormSpan()
    for place, (real, name) in enumerate(zip(excess.outcome.reals, names, strict=True)):
        if real.is_constant:
            continue
        relation = span.put(real, name)
        if relation is not None and values[first + place] == ANY_NUMBER:
            values[first + place] = NumberSet((EVERYWHERE,), f"= {_text(relation)}")
    alone = [form for form in excess.outcome.reals if len(form.terms) == 1]
    shown = {LinearForm.symbol(k) for form in alone for k in form.samples()}
    said: dict[int, list[str]] = {}
    for coordinates, intervals in excess.where.items():
        if coordinates in shown or intervals == (EVERYWHERE,):
            continue
        form = span.combination(coordinates)
        if form is None:
            raise BrokenInvariant("a coordinate that no output shows")
        # It is said of the last output that it is a combination of.
        last = max(names.index(name) for name in form.inputs())
        scale = 1 / form.coefficient(names[last])
        if len(coordinates.terms) > 1:
            # Of a sum whose ends are short, these stay so: its coefficients become integers.
            scale = primitive(form).terms[0][1] / form.terms[0][1]
        combination = (form - LinearForm.constant_form(form.constant)).scaled(scale)
        known = NumberSet(intervals).mapped(scale, -form.constant * scale)
        said.setdefault(last, []).append(known.text(_text(combination)))
    for last, texts in said.items():
        own = values[first + last]
        assert isinstance(own, NumberSet)
        if own != ANY_NUMBER:
            texts.insert(0, own.text(names[last]))
        values[first + last] = NumberSet(own.intervals, f"with {' and '.join(texts)}")
    return tuple(values)


def _text(form: LinearForm) -> str:
    """Write a form over names: "2 y[1] - y[2] + 1/3"."""
    parts = [(c, name) for name, c in form.terms]
    text = ""
    for factor, name in [*parts, *([(form.constant, "")] if form.constant else [])]:
        size = "" if name and abs(factor) == 1 else exact_text(abs(factor))
        sign = "-" if factor < 0 else "+"
        if text:
            text += f" {sign} "
        elif factor < 0:
            text = "-"
        text += " ".join(part for part in (size, str(name)) if part)
    return text or "0"
