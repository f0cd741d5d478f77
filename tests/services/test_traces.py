"""What single courses of calls show: densities of different orders, replies that lead elsewhere."""

from fractions import Fraction

import pytest

from dipapprox.exponentials import ONE, ExponentialPolynomial, ExponentialRatio
from dipapprox.limits import Limits
from dipapprox.services.model import AskedService, Call, CallOutcome, Inexpressible
from dipapprox.services.pairs import RunPairs
from dipapprox.services.ratios import gain_of
from dipapprox.services.system import System
from dipapprox.services.traces import Runs, SeenCall
from tests.services.examples import service_of

REAL = """
state n in 0..1 <- 0
state c in 0..1 <- 0
state left in 0..1 <- 1
output reply in real
output over in bool
on data d in {0, 1} do n <- d end
on query mix seen by bob do
    over <- false
    c <- choose {0 : 1/2, 1 : 1/2}
end
on query ask seen by alice do
    over <- left = 0
    if over then exit end
    left <- 0
    if c = 0 then reply <- ONE else reply <- OTHER end
end
"""
TRACED, MIX = Call(0, "data", (Fraction(1),)), Call(1, "mix", ())
ASK = Call(2, "ask", ())


def shown(one: str, other: str, number: Fraction) -> Runs:
    text = REAL.replace("ONE", one).replace("OTHER", other)
    runs = Runs(System(AskedService(service_of(text), Limits())))
    runs.go(SeenCall(TRACED, None, None))
    runs.go(SeenCall(MIX, MIX, None))
    runs.go(SeenCall(ASK, ASK, (number, "false")))
    return runs


def test_densities_of_several_scales_are_those_of_the_mixture() -> None:
    """(e^-eps|1 - n| + e^(-4 eps|1 - n|) 4) / ... : the slope at 0 is (1 + 16) / (1 + 4)."""
    gain = shown("Lap(n, 1 / eps)", "Lap(n, 1/4 / eps)", Fraction(1)).gain()
    assert gain.lower == Fraction(17, 5)


def test_whole_noise_shows_no_fractions() -> None:
    text = REAL.replace("ONE", "DLap(n, 1 / eps)").replace("OTHER", "1/2")
    runs = Runs(System(AskedService(service_of(text), Limits())))
    runs.go(SeenCall(ASK, ASK, (Fraction(1, 2), "false")))
    assert not runs.first


def test_a_reply_without_a_match_bounds_nothing() -> None:
    text = REAL.replace("ONE", "Lap(n, 1 / eps)").replace("OTHER", "0")
    service = service_of(text)
    system = System(AskedService(service, Limits()))
    exploration = RunPairs(system)
    one, other = (
        CallOutcome(
            system.step(system.initial, TRACED)[0].probability, (Fraction(k), "false"), (), ()
        )
        for k in (0, 1)
    )
    with pytest.raises(Inexpressible, match="one run may give and the other cannot"):
        list(exploration.grouped((one,), (other,)))


E = ExponentialPolynomial.monomial(1, 0, 1)
HALF = ExponentialPolynomial.constant(Fraction(1, 2))


def ratio(numerator: ExponentialPolynomial, *below: ExponentialPolynomial) -> ExponentialRatio:
    return ExponentialRatio(numerator, tuple((factor, 1) for factor in below))


def test_powers_are_exact() -> None:
    gain = gain_of(ratio(E, ONE + E), ratio(ONE, ONE + E), Limits())
    assert (gain.exact, gain.upper, gain.lower) == (1, 1, 1)
    gain = gain_of(ratio(ONE, ONE + E), ratio(E, ONE + E), Limits())
    assert (gain.exact, gain.upper, gain.lower) == (-1, -1, -1)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_signs_of_denominators_do_not_matter(sign: int) -> None:
    """(1 + e^ε) / 2 over 1: less than e^ε, and that is the least such power."""
    below = (E - ONE).scaled(sign)
    p = ratio(((ONE + E) * HALF * (E - ONE)).scaled(sign), below)
    q = ratio((E - ONE).scaled(sign), below)
    gain = gain_of(p, q, Limits())
    assert (gain.exact, gain.upper, gain.lower) == (None, 1, 1)
    back = gain_of(q, p, Limits())
    assert back.upper <= 0
    assert back.lower == Fraction(-1, 2)
