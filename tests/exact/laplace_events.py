"""Events of Laplace-type samples and their closed forms, for tests."""

from fractions import Fraction

from dipapprox.events.event import Event, Star, spelled_out
from dipapprox.exact.laplace.engine import LaplaceIntegrals
from dipapprox.exact.laplace.polyhedra import integrate
from dipapprox.exponentials import ExponentialPolynomial, exponential_sum
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import EXPONENTIAL, LAPLACE, REFLECTED_EXPONENTIAL
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm

Q = Fraction
ENGINE = LaplaceIntegrals()  # shared on purpose: what it remembers must not matter
FAMILIES = (LAPLACE, EXPONENTIAL, REFLECTED_EXPONENTIAL)


def lap(mean: Fraction | int, scale: Fraction | int) -> Distribution:
    return Distribution(LAPLACE, Q(mean), Q(scale))


def below(i: int, j: int, shift: Fraction | int = 0) -> LinearForm:
    """x_i + shift <= x_j."""
    return LinearForm.of({i: Q(1), j: Q(-1)}, Q(shift))


def form(*terms: tuple[Fraction | int, int, Fraction | int]) -> ExponentialPolynomial:
    """Σ c ε^n e^{qε} from (c, n, q)."""
    return exponential_sum(ExponentialPolynomial.monomial(c, n, q) for c, n, q in terms)


def closed_form(event: Event | Star) -> ExponentialPolynomial:
    """By elimination if it applies, and by the general recursion: they agree exactly."""
    found = ENGINE.closed_form(event, Limits())
    assert isinstance(found, ExponentialPolynomial), found
    assert integrate(spelled_out(event), Limits()) == found
    return found
