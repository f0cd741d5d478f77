"""Proved integrals over finite real intervals of entire functions: a wrapper of `acb.integral`.

flint's adaptive Gauss-Legendre rule asks for three things, and each has its own function here:

- the value at a node: a real ball a few ulps wide. `value` answers with an accurate enclosure;
- a first, crude estimate on a whole panel: a wide real ball;
- a bound of the modulus on a complex rectangle round a Bernstein ellipse, for the error term. It
  enters the number of nodes through its logarithm only, so `magnitude` may be generous.

The last two are answered by the disc of radius `magnitude` round 0.

    acb.integral(lambda z, _: f(z), a, b)   # wrong for pieces, abs, branches: a confident lie
    integrate(value, magnitude, a, b, …)    # right: f is entire, which the caller proves

With `analytic` set flint demands that the integrand is holomorphic on the ball or the answer not
finite. Integrands here are entire by contract, so the flag changes nothing.

References:
    F. Johansson, "Numerical integration in arbitrary-precision ball arithmetic", ICMS 2018.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import acb, arb

from dipapprox.data_classes import dataclass

_ZERO = arb(0)
_NOTHING = arb("nan")


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard to try; the result is proved in any case.

    Attributes:
        tolerance: Panels whose error is below 2**-tolerance are left alone.
        narrow: Real balls of at most this radius (exact, > 0) are nodes.
        evaluations: Most calls of the integrand.
    """

    tolerance: int
    narrow: arb
    evaluations: int


_MOST_NODES = 512
"""Most nodes of a quadrature rule. Flint would take half as many as there are bits, and finds them
in one call that nothing interrupts: 1024 of them take seconds, 512 do not even at 20000 bits."""


def integrate(
    value: Callable[[arb], arb],
    magnitude: Callable[[acb], arb],
    lower: arb,
    upper: arb,
    effort: Effort,
) -> arb:
    """Enclose the integral from `lower` to `upper` (either order) of a real entire function.

    Args:
        value: Encloses the function on a real ball.
        magnitude: Bounds its modulus on a complex ball; may be infinite or nan ("no idea").
        lower: Exact, finite.
        upper: Exact, finite.
        effort: Tolerance and limits.

    Returns:
        An enclosure, not finite if flint found none.

    Raises:
        BaseException: Whatever `value` or `magnitude` raise, as it was raised.
    """
    failures: list[BaseException] = []

    def integrand(z: acb, analytic: bool) -> acb:
        # An exception must not cross flint's C frames: it would arrive as SystemError, after many
        # more calls. The constant 0 satisfies flint at once, and the result is thrown away.
        if failures:
            return acb(0)
        try:
            is_real = z.imag.is_zero()
            if is_real and not analytic and z.real.rad() <= effort.narrow:
                return acb(value(z.real))
            bound = magnitude(z)
            if not bound.is_finite():
                return acb(_NOTHING)
            disc = arb(0, bound)
            # A real integrand is real on the real line, which tells flint that the integral is.
            return acb(disc) if is_real else acb(disc, disc)
        except BaseException as error:
            failures.append(error)
            return acb(0)

    if lower == upper:
        return _ZERO
    result = acb.integral(
        integrand,
        lower,
        upper,
        abs_tol=arb(2) ** -effort.tolerance,
        rel_tol=arb(2) ** -effort.tolerance,
        eval_limit=effort.evaluations,
        deg_limit=_MOST_NODES if effort.tolerance > 2 * _MOST_NODES else 0,  # 0: flint's choice
    )
    if failures:
        raise failures[0]
    # The integral of a real function along the real line is real: its real part is all of it.
    return result.real
