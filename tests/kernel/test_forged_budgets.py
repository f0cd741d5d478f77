"""Proofs of budgets with one thing changed prove no less, and no more, than the least budget."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

import dipapprox
from dipapprox import Options
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.replay import replay
from kernel.machines import Json, Proof
from tests.kernel import served, test_quiet
from tests.kernel.edits import forged
from tests.kernel.test_potentials import file_of, proof_of
from tests.kernel.test_rays import BOUNDED, INTEGERS


def _of_reals(program: str) -> Proof:
    options = Options(proved=True)
    return file_of(dipapprox.prove(dipapprox.parse(program), reals=True, options=options))


PROOFS: dict[str, Callable[[], Proof]] = {
    **{
        name: lambda name=name: file_of(proof_of(name))
        for name in ("svt", "numeric_sparse_stream", "svt_geometric for all N")
    },
    **{
        f"quiet, {name}": lambda name=name: file_of(
            test_quiet.found(test_quiet.stream(name), proved=True)
        )
        for name in ("silent", "said", "counted")
    },
    "bounded": lambda: _of_reals(BOUNDED),
    "integers": lambda: _of_reals(INTEGERS),
    **{
        name: lambda text=text: served.written(served.found(text))
        for name, (text, least) in served.EXAMPLES.items()
        if least is not None
    },
}
"""Of least budgets: a potential or couplings for the upper end, a ray or a trace for the other."""

MOST = 10
"""Places where something is changed."""


def judged(machine: Json, claim: Json, steps: Json) -> Budgets | None:
    """What is proved; None for nothing."""
    try:
        found = replay(machine, claim, steps)
    except NotProved:
        return None
    assert isinstance(found, Budgets)
    return found


@pytest.mark.parametrize("name", PROOFS)
def test_no_forgery_proves_what_is_false(name: str) -> None:
    machine, claim, steps = PROOFS[name]()
    least = Fraction(claim["budget"])
    serves = {"verdict": "DP", "budget": 1000, "at least": None}
    fails = {"verdict": "Not_DP", "budget": 0}
    (upper,) = (step for step in steps if step["rule"] in ("potential", "couplings"))
    changed: list[tuple[Json, list[Json], Json]] = [(serves, [], upper)]
    if claim["at least"] is not None:
        assert least == Fraction(claim["at least"])
        *before, lower, _ = steps
        changed.append((fails, before if lower["from"] else [], lower))
    for said, known, step in changed:
        honest = judged(machine, said, [*known, step])
        assert honest is not None and least in (honest.budget, honest.below)
        refused = confirmed = 0
        for at, other in forged(step, name, MOST):
            found = judged(machine, said, [*known, other])
            if found is None:
                refused += 1
                continue
            confirmed += 1
            if said is serves:
                assert found.budget is not None and found.budget >= least, at
            else:
                assert found.below is not None and found.below <= least, at
        assert refused > confirmed
