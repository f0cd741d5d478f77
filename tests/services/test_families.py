"""Given families and subroutines: those of the papers, and what is wrong with others."""

from collections.abc import Iterator
from fractions import Fraction

import pytest

from dipapprox import Answer, UserError
from dipapprox.language.core import Value
from dipapprox.services.families import Budgets, Families, check_pairs, prove_families
from dipapprox.services.model import AskedService, Call, State
from dipapprox.services.prove_service import find_loss
from dipapprox.services.system import System
from tests.cases import refuses, text_of
from tests.services.examples import proof_of, service_of

SLOTS = text_of("services/families-1")
"""The server of the paper for D = {-1, 1}: a slot is how many of each it holds."""


def paper_family(
    system: System, state: State, data: int, t: int, v: int, step: int, equal: bool
) -> Budgets:
    """The family of the specification, section 4.4, for one state and data point."""
    c = int(state[0] or 0)  # type: ignore[arg-type]

    def slot(u: State, place: int) -> tuple[int, int]:
        return int(u[place] or 0), int(u[t + place] or 0)  # type: ignore[arg-type]

    def changed(u: State, low: int, high: int) -> State:
        values = list(u)
        values[c], values[t + c] = Fraction(low), Fraction(high)
        return tuple(values)

    def partners(u: State) -> Iterator[State]:
        low, high = slot(u, c)
        if low + high < v:
            yield changed(u, low + (data < 0), high + (data > 0))
        else:
            yield u
        if data > 0 and low:
            yield changed(u, low - 1, high + 1)
        if data < 0 and high:
            yield changed(u, low + 1, high - 1)

    layers = [{state}]
    for answers in range(t + 1):
        waiting = list(layers[answers])
        for u in waiting:
            for call in system.calls:
                if call.is_data:
                    for outcome in system.step(u, call):
                        if outcome.state not in layers[answers]:
                            layers[answers].add(outcome.state)
                            waiting.append(outcome.state)
        layers.append(
            {
                o.state
                for u in layers[answers]
                for call in system.calls
                if not call.is_data
                for o in system.step(u, call)
            }
        )
    values: dict[tuple[State, State], Fraction] = {}
    for level in range(1, t + 1):
        for u in layers[t - level]:
            for w in partners(u):
                values.setdefault((u, w), Fraction(step * level))
    return Budgets(values, equal)


@pytest.mark.parametrize(("t", "v", "loose"), [(1, 1, 2), (1, 2, 2), (2, 1, 12)])
def test_the_families_of_the_paper(t, v, loose) -> None:
    service = service_of(SLOTS, {"t": t, "v": v})
    system = System(AskedService(service))
    states = list(system.reachable())

    def families(step: int, equal: bool) -> Families:
        named = {
            (state, Fraction(data)): paper_family(system, state, data, t, v, step, equal)
            for state in states
            for data in (-1, 1)
        }
        return Families(Fraction(step), t, None, named)

    accepted = prove_families(service, families(2, True), None, ())
    assert accepted.answer is Answer.DP
    assert accepted.upper == 2 * t
    assert accepted.describe()
    for step, equal in ((2, False), (1, True)):
        rejected = prove_families(service, families(step, equal), None, ())
        assert rejected.answer is Answer.UNKNOWN
        assert rejected.rejection is not None
        assert rejected.describe()
    loosely = families(1, True).named
    assert sum(passes(system, t, key, family) for key, family in loosely.items()) == loose


def passes(system: System, t: int, key: tuple[State, Value], family: Budgets) -> bool:
    """Whether the family of one state and data point covers it, with steps of ε."""
    state, data = key
    call = Call(0, "data", (data,))
    covered = all(
        family.covers(state, outcome.state, Fraction(t)) for outcome in system.step(state, call)
    )
    return covered and check_pairs(system, family) is None


# --- Idealised steps replaced by subroutines ------------------------------------------------------

PRINTED = text_of("literature/truncated_geometric_printed")

SERVICE = text_of("services/families-counts")


def with_sampler(sampler: str = text_of("literature/truncated_geometric")) -> str:
    """The service that answers by the sampler of the paper, a loop of coins."""
    body = sampler[sampler.index("negative <-") :].replace("\n", "\n        ")
    for name, other in (("count", "value"), ("n <-", "noise <-"), ("+ n", "+ noise")):
        body = body.replace(name, other)
    # State cells of the service have other names.
    body = body.replace("left", "rest")
    return SERVICE.replace("SAMPLE", "value <- n\n        " + body)


def with_clamp() -> str:
    """The service that answers by a clamped sample."""
    return SERVICE.replace("SAMPLE", "reply <- clamp(DLap(n, 1 / eps), 0, 2*m)")


def test_the_printed_sampler_is_refused_for_every_eps() -> None:
    """For large eps it is no probability; m = 2 runs its wrong line."""
    refuses(UserError, "probability", proof_of, with_sampler(PRINTED), m=2)


def test_the_printed_sampler_loses_too_much_at_one_eps() -> None:
    """Once asked, at eps = 1/4 and m = 2, it loses as much as its header says, 1.58 to 1.59."""
    text = with_sampler(PRINTED).replace("0..2 <- 2", "0..2 <- 1")
    service = service_of(text, {"m": 2})
    loss = find_loss(AskedService(service, Fraction(1, 4)))
    assert loss.is_known
    assert Fraction(158, 100) < loss.lower / 4 <= loss.upper / 4 < Fraction(159, 100)


def test_services_with_either_lose_the_same() -> None:
    for text in (with_sampler(), with_clamp()):
        proof = proof_of(text, m=1)
        assert proof.is_exact
        assert proof.upper == 2
