"""What an output loses between two inputs as eps goes to 0, from its closed forms.

Series of p and p' in eps begin alike where p / p' tends to 1; then ln(p / p') / eps tends to the
difference of their next coefficients over the common first one.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial

from dipapprox.certificates.statement import PlainValues
from dipapprox.checking.decisions.forms import Forms
from dipapprox.checking.decisions.quotients import constant
from dipapprox.checking.inputs import values_of
from dipapprox.checking.real_inputs.parts import Untrue
from dipapprox.checking.values import Stuck
from dipapprox.errors import UserError
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.language.core import Program
from dipapprox.limits import Limits

_MOST_COEFFICIENTS = 1_000


def vanishing_loss(
    program: Program,
    output: PlainValues,
    first: tuple[Fraction, ...],
    second: tuple[Fraction, ...],
    limits: Limits,
) -> Fraction | None:
    """Return the limit of ln(Pr[output | first] / Pr[output | second]) / eps.

    Args:
        program: A part, without real outputs.
        output: A value of every output cell.
        first, second: A value of every input cell.
        limits: Asked throughout.

    Returns:
        None if the quotient of the probabilities tends to more than 1, or has no bound.

    Raises:
        Untrue: If the output is none of the program's, or loses nothing.
        Stuck: If no closed forms are derived.
        LimitReached: If `limits` run out.
    """
    try:
        values = values_of(output, program.outputs)
    except UserError as error:
        raise Untrue("vanishing", error.message) from None
    forms = Forms(program, list(dict.fromkeys((first, second))), limits)
    p, q = (forms.for_input(each).get(values, constant(0)) for each in (first, second))
    above, below = p.top * q.bottom, q.top * p.bottom
    if not above:
        raise Untrue("vanishing", "the output is impossible at the first input")
    if not below:
        return None
    for order in range(_MOST_COEFFICIENTS):
        start, other = _coefficient(below, order), _coefficient(above, order)
        if start == other == 0:
            continue
        if start == 0 or other / start > 1:
            return None  # both functions have one sign each, that of p and q
        if other != start:
            raise Untrue("vanishing", "the output becomes likelier at the second input")
        return (_coefficient(above, order + 1) - _coefficient(below, order + 1)) / start
    raise Stuck(f"all of {_MOST_COEFFICIENTS} coefficients of a series are 0")


def _coefficient(function: ExponentialPolynomial, order: int) -> Fraction:
    """Return the coefficient of eps^order in the power series of a function."""
    return sum(
        (c * q ** (order - n) / factorial(order - n) for (n, q), c in function.terms if n <= order),
        Fraction(0),
    )
