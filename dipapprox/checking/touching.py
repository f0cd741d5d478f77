"""Outputs whose bounds touch, compared in closed form: where no number of bits tells.

In: pairs of inputs at one ε, and the outputs whose bounds leave open whether p > e^eps_prv p'. Out:
whether there is such an output. With closed forms p(ε) of all outputs (`decisions.forms`) that is
the sign of p - e^(tε) p' at one rational ε, t = eps_prv / ε: a sum of c e^q with rational c and q,
which is 0 exactly if nothing is left of it (Lindemann and Weierstrass), and has a sign that balls
tell if something is.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from dipapprox.checking.decisions.forms import Forms
from dipapprox.checking.decisions.quotients import Quotient, constant
from dipapprox.checking.decisions.signs import sign_at
from dipapprox.checking.pairs import Pair
from dipapprox.checking.values import Stuck
from dipapprox.digits import brief_text
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.language.core import Input, Program, Value
from dipapprox.limits import Limits

Touching = tuple[Input, Input, tuple[Value, ...]]
"""An input, an adjacent one, and an output."""


def exceeding(
    program: Program,
    eps: Fraction,
    eps_prv: Fraction,
    touching: Iterable[Touching],
    limits: Limits,
) -> Pair | None:
    """Return a pair with p > e^eps_prv p' for one of the outputs; None if there is none.

    Raises:
        Stuck: If some probability has no closed form that the check can derive.
        LimitReached: If `limits` run out.
    """
    listed = list(touching)
    inputs = list(dict.fromkeys(input for u, v, _ in listed for input in (u, v)))
    forms = Forms(program, inputs, limits)
    found = {input: forms.for_input(input) for input in inputs}
    factor = ExponentialPolynomial.monomial(1, rate=eps_prv / eps)
    nothing = constant(0)
    known: set[tuple[Quotient, Quotient]] = set()
    for first, second, output in listed:
        limits.check()
        terms = found[first].get(output, nothing), found[second].get(output, nothing)
        if terms in known:
            continue
        known.add(terms)
        p, q = terms
        # Not in lowest terms: the factor may have any rate.
        sign = sign_at(p.top * q.bottom - factor * q.top * p.bottom, eps, limits)
        for bottom in (p.bottom, q.bottom):
            below = sign_at(bottom, eps, limits)
            if not below:
                raise Stuck(f"a division by 0 at eps = {brief_text(eps)}")
            sign *= below
        if sign > 0:
            return first, second
    return None
