"""False certificates written by hand, digests fitting: none is confirmed."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dipapprox
from dipapprox.certificates import verdicts
from dipapprox.certificates.digest import text_hash
from dipapprox.checking.check import check
from dipapprox.checking.pairs import adjacent_indices, all_inputs, are_adjacent
from dipapprox.language.core import Norm, Within
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.scope import scope_of
from dipapprox.replays.result import Outcome
from tests.checking.certified import Fields, replaced, signed

PUBLISHED = """
input q in {DOMAIN}
output out in {0, 1}
adjacent ADJACENCY
out <- 0
if q = FIRST then out <- 1 end
"""
"""Whether the input is the first value: δ = 1 for every pair."""


COMPUTED = dict.fromkeys(("engine", "python", "dipapprox", "python-flint", "numpy"), "none")


def _about(text: str) -> Fields:
    """The fields that say what is claimed to be private."""
    source = {"name": "forged", "language": "dpg", "text": text, "sha256": text_hash(text)}
    scope = scope_of(dipapprox.parse(text), AllPairs())
    return {
        "program": source,
        "params": {},
        "widened": {},
        "scope": scope.text,
        "caveat": scope.caveat,
    }


def private(text: str, inputs: int, pairs: int) -> Fields:
    """A summary that says DP with δ = 0 at ε = 1."""
    return signed(
        {
            "format": verdicts.FORMAT,
            "version": verdicts.VERSION,
            **_about(text),
            "claim": {"eps": "1", "eps_prv": "1", "delta": "0"},
            "pairs": {"selection": "adjacent", "count": pairs, "list": None},
            "verdict": "DP",
            "delta_enclosure": ["0", "0"],
            "evidence": {"kind": "summary", "inputs": inputs},
            "computed": {**COMPUTED, "precision": 40},
            "digest": "",
        }
    )


HUGE = [
    ([0, 2**62 + 1], "linf", 2**62 + 1),
    ([0, 2**62 + 1], "l1", 2**62 + 1),
    ([-(2**62), 2**62], "linf", 2**63),
    ([-(2**63), 2**63 - 1], "linf", 2**64),
    ([0, 2**64], "linf", 2**64),
    ([2**63, 2**63 + 1], "linf", 1),
    ([2**63, -1], "l1", 2**63 + 1),
    ([2**63 + 1, 2**63], "l1", 1),
    ([0, 10**40], "linf", 10**40),
    ([Fraction(1, 2**61 - 1), Fraction(1, 2**60 - 1)], "l1", 1),
    ([2**64 + 1, 2**64], "l0", 1),
]


@pytest.mark.parametrize(("domain", "norm", "radius"), HUGE)
def test_no_pair_of_huge_values_is_lost(domain: list[Fraction], norm: str, radius: int) -> None:
    text = PUBLISHED.replace("DOMAIN", ", ".join(map(str, domain)))
    text = text.replace("ADJACENCY", f"{norm} {radius}").replace("FIRST", str(domain[0]))
    for count in (0, 2):
        result = check(private(text, 2, count))
        assert result.outcome is Outcome.REFUTED, result
        assert result.pairs == 2


values = st.one_of(
    st.integers(-3, 3).map(Fraction),
    st.builds(
        lambda power, sign, shift, parts: Fraction(sign * 2**power + shift, parts),
        st.integers(58, 70), st.sampled_from([-1, 1]), st.integers(-2, 2), st.integers(1, 3),
    ),
)  # fmt: skip


@settings(deadline=None, max_examples=36)
@given(
    st.lists(values, min_size=2, max_size=4, unique=True),
    st.sampled_from(list(Norm)),
    st.one_of(st.integers(0, 3), st.sampled_from([2**62, 2**63 - 1, 2**64 + 1])),
)
def test_adjacency_is_that_of_fractions(domain: list[Fraction], norm: Norm, radius: int) -> None:
    """Against the definition, written down with Python's fractions."""
    listed = ", ".join(map(str, domain))
    program = dipapprox.parse(
        f"input q[2] in {{{listed}}}\noutput out in {{0}}\n"
        f"adjacent {norm.value} {radius}\nout <- 0\n"
    )
    assert program.adjacency == Within(norm, Fraction(radius))
    inputs = all_inputs(program)
    numbers = [tuple(Fraction(str(value)) for value in input) for input in inputs]
    adjacent = adjacent_indices(program, inputs)
    found = {(k, int(v)) for k, mask in adjacent for v in mask.nonzero()[0]}
    for u, v in product(range(len(inputs)), repeat=2):
        steps = [b - a for a, b in zip(numbers[u], numbers[v], strict=True)]
        changes = [abs(step) for step in steps if step]
        largest = max(changes, default=Fraction(0))
        size = {
            Norm.LINF: largest,
            Norm.L1: sum(changes),
            Norm.L0: len(changes),
            Norm.INCREASING: largest if min(steps) >= 0 else radius + 1,
            Norm.DECREASING: largest if max(steps) <= 0 else radius + 1,
        }
        assert ((u, v) in found) == (u != v and size[norm] <= radius)
        assert are_adjacent(program, inputs[u], inputs[v]) == ((u, v) in found)


def test_no_input_is_its_own_neighbour_but_listed_pairs_count_as_they_are() -> None:
    text = PUBLISHED.replace("DOMAIN", "0, 1").replace("FIRST", "0")
    listed = dipapprox.parse(text.replace("ADJACENCY", "{ 0 ~ 1; 1 ~ 1 }"))
    near = dipapprox.parse(text.replace("ADJACENCY", "linf 0"))
    for program, count in ((listed, 3), (near, 0)):
        inputs = all_inputs(program)
        assert not are_adjacent(program, inputs[1], inputs[1])
        assert sum(int(mask.sum()) for _, mask in adjacent_indices(program, inputs)) == count


# --- choices that are none ------------------------------------------------------------------------

CHOICE = """
input q in {0, 1}
output out in {0, 1}
adjacent all
out <- choose {WEIGHTS}
"""

TWICE = """
input q in {0, 1}
output out in {0, 1}
adjacent all
a <- choose {0 : 1, 1 : 1}
out <- choose {0 : 1/4, 1 : 1/4}
"""


TINY = "1/1" + "0" * 300

WEIGHTS = [
    f"0 : 1/2, 1 : 1/2 + {TINY}",
    f"0 : 1/2, 1 : 1/2 - {TINY}",
    f"0 : 1 + {TINY}, 1 : -{TINY}",
    "0 : 1/2 * (eps - 1) / (eps - 1), 1 : 1/2",
    "0 : 1/2 + 0 / (eps - 1), 1 : 1/2",
    "0 : 1/2 + (eps - 1) / 10 ^ 100, 1 : 1/2",
]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_what_is_no_distribution_is_not_confirmed(weights: str) -> None:
    text = CHOICE.replace("WEIGHTS", weights)
    fields = private(text, 2, 2)
    at_one = check(fields)
    assert "10 ^" in weights or at_one.outcome is Outcome.NOT_CONFIRMED, at_one
    elsewhere = check(signed(replaced(fields, ("claim", "eps"), "1/3")))
    assert "(eps - 1)" in weights or elsewhere.outcome is Outcome.NOT_CONFIRMED


def test_two_choices_that_make_up_for_each_other_are_not_confirmed() -> None:
    result = check(private(TWICE, 2, 2))
    assert result.outcome is Outcome.NOT_CONFIRMED
    assert "add up" in str(result.reason)
