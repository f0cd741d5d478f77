"""Normalised nested integrals and the plans that evaluate them.

The paper's normal form (DiPApprox section 6, equation 7) is a sequence of levels, a variable each,
outermost first, with at most one lower and one upper affine bound in the variables outside it. A
`Plan` is the same integral after Algorithm 5 or the least-nesting order has pulled it apart.
An infinite bound is None here; cut-offs are chosen by the numerical stage from the wanted
precision, because only there the exact tail masses are known.

Plans are shown to people as text and as LaTeX: samples under the names that the caller gives them,
one for each sample of the event, in its order.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import assert_never

from dipapprox.data_classes import Record
from dipapprox.digits import exact_text
from dipapprox.laws.distribution import Distribution
from dipapprox.linear.form import LinearForm


class Level(Record):
    """∫ from lower to upper of the density of a sample.

    All but Gaussian densities are analytic on either side of their mean only: the builder splits
    until each bound lies on a known side, and a level with others inside it lies on one side as a
    whole.
    """

    law: Distribution
    variable: int  # index into the event's samples
    # affine form in variables of outer levels, or a constant; None for -infinity
    lower: LinearForm | None
    upper: LinearForm | None  # the same; None for +infinity
    # on which side of the sample's mean `lower` lies throughout the domain: -1 (at or below), +1
    # (at or above); -infinity is below. 0 for families without a kink
    lower_side: int = 0
    # the same for `upper`; +infinity is above. Where the level has a body, both sides are equal and
    # name the branch of the density
    upper_side: int = 0

    @property
    def mentioned(self) -> frozenset[int]:
        return frozenset(sample for end in self.ends() for sample in end.samples())

    def ends(self) -> tuple[LinearForm, ...]:
        """The finite bounds."""
        return tuple(end for end in (self.lower, self.upper) if end is not None)


class Integral(Record):
    """A level and what stands under its integral sign."""

    level: Level
    body: Plan | None  # None: the density alone, a difference of two distribution functions
    breaks: tuple[Fraction, ...] = ()  # where quadrature is to begin new panels, ascending


class Multiply(Record):
    """A product of plans over disjoint variables."""

    factors: tuple[Plan, ...]


class Add(Record):
    """A sum of plans for disjoint pieces; empty: 0."""

    terms: tuple[Plan, ...]


Plan = Integral | Multiply | Add


def parts(plan: Plan) -> tuple[Plan, ...]:
    """Return the plans directly inside."""
    match plan:
        case Integral(_, body):
            return () if body is None else (body,)
        case Multiply(inside) | Add(inside):
            return inside


def nesting(plan: Plan) -> int:
    """Return the number of nested integral signs (the paper's depth, literally)."""
    return isinstance(plan, Integral) + max(map(nesting, parts(plan)), default=0)


_INDENT = "  "


def text(plan: Plan, labels: Sequence[str]) -> str:
    """Show a plan as an indented outline: one line for each integral, product or sum."""
    return "\n".join(_lines(plan, labels, 0))


def latex(plan: Plan, labels: Sequence[str]) -> str:
    r"""Show a plan as one LaTeX formula, with `h_x` for the density of x; no display signs."""
    match plan:
        case Integral(level, body):
            name = _latex_name(labels[level.variable])
            lower = "-\\infty" if level.lower is None else _latex_form(level.lower, labels)
            upper = "\\infty" if level.upper is None else _latex_form(level.upper, labels)
            inner = "" if body is None else f" {_latex_factor(body, labels)}"
            return f"\\int_{{{lower}}}^{{{upper}}} h_{{{name}}}({name}){inner} \\,d{name}"
        case Multiply(factors):
            return " ".join(_latex_factor(f, labels, product=True) for f in factors) or "1"
        case Add(terms):
            return " + ".join(latex(term, labels) for term in terms) or "0"
        case _:
            assert_never(plan)


def form_text(form: LinearForm, labels: Sequence[str]) -> str:
    """Show a linear form, e.g. "2*a - 1/2*b + 1"."""
    parts = [(c, labels[s] if isinstance(s, int) else s) for s, c in form.terms]
    if form.constant or not parts:
        parts.append((form.constant, ""))
    shown = ""
    for coefficient, name in parts:
        size = exact_text(abs(coefficient))
        word = name if name and size == "1" else f"{size}*{name}" if name else size
        if shown:
            shown += f" {'-' if coefficient < 0 else '+'} {word}"
        else:
            shown = f"-{word}" if coefficient < 0 else word
    return shown


def _lines(plan: Plan, labels: Sequence[str], depth: int) -> list[str]:
    indent = _INDENT * depth
    match plan:
        case Integral(level, None):
            return [f"{indent}Pr[{_range(level, labels)}]"]
        case Integral(level, body):
            assert body is not None
            return [
                f"{indent}integral over {_range(level, labels)} of",
                *_lines(body, labels, depth + 1),
            ]
        case Multiply(factors):
            return _listed(f"{indent}product of", factors, labels, depth, "1")
        case Add(terms):
            return _listed(f"{indent}sum of", terms, labels, depth, "0")
        case _:
            assert_never(plan)


def _listed(
    head: str, plans: tuple[Plan, ...], labels: Sequence[str], depth: int, empty: str
) -> list[str]:
    if not plans:
        return [f"{_INDENT * depth}{empty}"]
    return [head, *(line for each in plans for line in _lines(each, labels, depth + 1))]


def _range(level: Level, labels: Sequence[str]) -> str:
    """Show a level as a range: "a <= x <= b", "x <= b", "x"."""
    lower = "" if level.lower is None else f"{form_text(level.lower, labels)} <= "
    upper = "" if level.upper is None else f" <= {form_text(level.upper, labels)}"
    return f"{lower}{labels[level.variable]}{upper}"


def _latex_factor(plan: Plan, labels: Sequence[str], product: bool = False) -> str:
    """Show a plan under an integral sign or in a product, in brackets where needed."""
    shown = latex(plan, labels)
    brackets = isinstance(plan, Add) or (product and isinstance(plan, Integral))
    return f"\\left[ {shown} \\right]" if brackets else shown


def _latex_form(form: LinearForm, labels: Sequence[str]) -> str:
    return form_text(form, [_latex_name(label) for label in labels]).replace("*", " ")


def _latex_name(label: str) -> str:
    """Turn "q[1]" into q_{1}; other names are set upright if longer than one letter."""
    name, bracket, index = label.partition("[")
    name = name.replace("_", "\\_")
    shown = name if len(name) == 1 else f"\\mathrm{{{name}}}"
    return f"{shown}_{{{index.rstrip(']')}}}" if bracket else shown
