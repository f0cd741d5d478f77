"""Independent parts, and guards that compare sums, against the whole program; long products."""

from fractions import Fraction
from itertools import product
from math import comb, factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import Answer, Options, parse, verify
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.errors import LimitReached, UserError
from dipapprox.language.core import Program
from dipapprox.pairs.products import layout
from dipapprox.pairs.products import source as products
from dipapprox.pairs.products.measures import PairAtoms, ProductAtoms, atoms_of, envelope
from dipapprox.privacy.decisions import by_closed_forms
from dipapprox.privacy.run import Engine
from tests.cases import refuses, text_of
from tests.schemas import check_schema

HALF = Fraction(1, 2)

RESPONSES = text_of("privacy/products-1")
COMPARISONS = text_of("privacy/products-comparisons")
QUERIES = text_of("privacy/products-queries")
LISTED = text_of("privacy/products-listed")

ALL = [RESPONSES, text_of("privacy/products-2"), COMPARISONS, QUERIES, LISTED]


def read(text: str, **parameters: int) -> Program:
    return dipapprox.parse(text, parameters)


def take_apart(monkeypatch: pytest.MonkeyPatch, apart: bool) -> None:
    """Work with the parts of every program, or of none."""
    monkeypatch.setattr(products, "_FEW_STATES", 0 if apart else 10**9)
    monkeypatch.setattr(products, "_LITTLE_MORE", 0)


@pytest.mark.parametrize("text", ALL)
def test_parts_and_whole_agree(monkeypatch, text) -> None:
    """Verdicts, least budgets and deltas, curves, and distributions."""
    found = []
    for apart in (True, False):
        take_apart(monkeypatch, apart)
        program = read(text)
        input = tuple(cell.domain[-1] for cell in program.inputs)
        found.append(
            (
                [dipapprox.verify(program, eps=HALF, eps_prv=e, delta=1) for e in ("0", "1/5")],
                dipapprox.profile(program, eps=HALF, delta=Fraction(1, 50)).eps_prv_enclosure,
                dipapprox.profile(program, eps=HALF, eps_prv=Fraction(1, 10)).delta_enclosure,
                dipapprox.profile(program, eps=HALF, curve=(Fraction(0), HALF, 3)).envelope.points,
                dipapprox.probability(program, eps=HALF, input=input),
            )
        )
    (verdicts, budget, delta, curve, law), (wholes, one, two, three, four) = found
    for parts, whole in zip(verdicts, wholes, strict=True):
        assert parts.answer is whole.answer is Answer.DP
        assert parts.pairs == whole.pairs and parts.run.outputs == whole.run.outputs
        assert parts.delta_enclosure.meets(whole.delta_enclosure)
        assert parts.delta_enclosure.width < Fraction(1, 2**30)
    assert budget.infinite == one.infinite == (text == LISTED)
    assert budget.infinite or budget.enclosure().meets(one.enclosure())
    assert delta.meets(two) and delta.width < Fraction(1, 10**9)
    for point, own in zip(curve, three, strict=True):
        assert point.delta.meets(own.delta)
        assert point.line.at(point.factor.lower) <= point.delta.upper
    parts, whole = ({each.output: each for each in each.outputs} for each in (law, four))
    assert parts.keys() == whole.keys() and law.reason is None
    for output, each in parts.items():
        assert each.probability.meets(whole[output].probability)
        assert each.probability.width <= Fraction(1, 2**40)
        assert (each.final_states > 0) == (whole[output].final_states > 0)


def test_witnesses_of_huge_sets_say_how_many_outputs_there_are() -> None:
    found = dipapprox.profile(read(RESPONSES, N=16), eps=HALF, eps_prv=Fraction(0))
    # More than half of the answers are true: C(16, 9) + … + C(16, 16) outputs.
    assert found.witness.at_least == sum(comb(16, k) for k in range(9, 17))
    fields = found.to_dict()["witness"]
    assert fields["outputs_at_least"] == found.witness.at_least
    assert len(fields["outputs"]) == 1


def test_a_refutation_speaks_of_all_outputs_that_exceed() -> None:
    """Where they are too many to be listed, its delta is not that of the examples."""
    found = dipapprox.calibrate(
        read(RESPONSES, N=16), eps_prv=1, delta=Fraction(1, 100), width=Fraction(1, 9)
    )
    assert found.refuted.witness is not None
    witness = found.refuted.witness
    assert witness.at_least is not None and len(witness.rows) == 1
    assert witness.delta_enclosure.lower > Fraction(1, 100)
    own = witness.rows[0].probability.upper
    assert own < witness.delta_enclosure.lower


def test_parts_that_differ_are_bounded_together(monkeypatch) -> None:
    """Combinations of pairs are too many: examples from below, all choices at once from above."""
    take_apart(monkeypatch, True)
    monkeypatch.setattr(layout, "_MOST_MULTISETS", 20)
    text = COMPARISONS.replace("i / 3", "i / 7 - 1 / 3").replace("{0, 1, 2}", "{0, 1}")
    program = dipapprox.parse(text.replace("l1 3", "linf 1"), {"N": 6})
    found = dipapprox.profile(program, eps=HALF, eps_prv=Fraction(1, 2))
    assert found.delta_enclosure.lower * 2 > found.delta_enclosure.upper > 0
    assert "combinations" in found.reason
    monkeypatch.undo()
    exact = dipapprox.profile(program, eps=HALF, eps_prv=Fraction(1, 2)).delta_enclosure
    assert found.delta_enclosure.lower <= exact.lower <= exact.upper <= found.delta_enclosure.upper


def test_distributions_that_are_too_long_say_so() -> None:
    found = dipapprox.probability(read(RESPONSES, N=20), eps=HALF, input=(0,) * 20)
    assert found.outputs == ()
    assert found.reason == "more than 4096 outputs"


def test_a_violation_that_enclosures_do_not_show_has_no_named_outputs() -> None:
    claim = 6 - Fraction(1, 10**200)
    program = read(RESPONSES, N=6)
    found = dipapprox.decide(program, budget=claim, options=Options(engine=Engine.ELIMINATION))
    assert found.answer is Answer.NOT_DP
    violation = found.violation
    assert not violation.rows and violation.left is None and violation.not_enclosed is not None
    assert {abs(a - b) for a, b in zip(violation.input, violation.adjacent, strict=True)} == {1}
    assert found.to_dict()["witness"]["outputs"] == []
    with pytest.raises(UserError, match="no outputs of the violation are named"):
        dipapprox.certify(program, RESPONSES, found)
    assert dipapprox.decide(program, budget=claim).violation.rows


# --- measures -------------------------------------------------------------------------------------

WEIGHTS = st.lists(st.integers(0, 9), min_size=2, max_size=3).filter(any)
PARTS = st.lists(
    st.tuples(WEIGHTS, st.lists(st.integers(0, 9), min_size=3, max_size=3), st.integers(1, 3)),
    min_size=1,
    max_size=3,
)


@given(PARTS, st.fractions(0, 20), st.integers(0, 6))
def test_atoms_enclose_the_sum_over_all_outputs(parts, x, spread) -> None:
    """Whatever the ends of the enclosures: true values are drawn inside them."""
    pairs: list[tuple[list[Enclosure], list[Enclosure], int]] = []
    truth: list[list[tuple[Fraction, Fraction]]] = []
    for first, second, copies in parts:
        values = [(Fraction(p, 27), Fraction(q, 27)) for p, q in zip(first, second, strict=False)]
        wide = Fraction(spread, 10**4)
        p, q = (
            [Enclosure(v - wide / 3, v + wide) for v in side] for side in zip(*values, strict=True)
        )
        pairs.append(([_above_zero(e) for e in p], [_above_zero(e) for e in q], copies))
        truth += [values] * copies
    exact, number = Fraction(0), 0
    for chosen in product(*truth):
        p_all = q_all = Fraction(1)
        for p_one, q_one in chosen:
            p_all, q_all = p_all * p_one, q_all * q_one
        exact += max(p_all - x * q_all, Fraction(0))
        number += p_all > x * q_all
    for above in (True, False):
        atoms = ProductAtoms([atoms_of(p, q, above, 50).power(copies) for p, q, copies in pairs])
        bound = atoms.excess(x)
        assert bound.at(x) >= exact if above else bound.at(x) <= exact
        assert (bound.outputs >= number) if above else (bound.outputs <= number)
        if not spread:
            assert abs(bound.at(x) - exact) < Fraction(1, 2**30) * (1 + x)


def _above_zero(each: Enclosure) -> Enclosure:
    return Enclosure(max(each.lower, Fraction(0)), each.upper)


def test_too_many_losses_are_refused() -> None:
    atoms = PairAtoms(tuple((k + 1, 1, 1) for k in range(40)), True, 40)
    refuses(LimitReached, "loss limit", atoms.power, 20)


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=4),
        min_size=1,
        max_size=4,
    ),
    st.fractions(0, 20),
)
def test_an_envelope_is_the_largest_of_its_choices(choices, x) -> None:
    found = [
        atoms_of(
            [Enclosure.exact(Fraction(p, 16)) for p, _ in choice],
            [Enclosure.exact(Fraction(q, 16)) for _, q in choice],
            True,
            8,
        )
        for choice in choices
    ]

    def value(atoms: PairAtoms) -> Fraction:
        return sum((max(p - x * q, Fraction(0)) for p, q, _ in atoms.atoms), Fraction(0))

    assert value(envelope(found)) == max(map(value, found))


# --- Probabilities of guards that compare sums ----------------------------------------------------

Q = Fraction
SUMS = text_of("privacy/linear_guards-1")


def test_sums_in_three_directions_have_proofs() -> None:
    program = parse(SUMS.replace("a >= d and b <= c", "a >= d and b <= c + 1"))
    for eps_prv, answer in ((Q(2), Answer.DP), (Q(1, 2), Answer.NOT_DP)):
        own = {"eps": 1, "eps_prv": eps_prv, "delta": Q(1, 1000)}
        assert verify(program, options=Options(proved=True), **own).answer is answer


CHAIN = text_of("privacy/relative_width-1")
MILLIONTH = Fraction(1, 10**6)


def ascending(n: int, relative_width: Fraction | None, options: Options) -> dipapprox.Enclosure:
    """Pr[n equal samples come in ascending order]."""
    program = dipapprox.parse(CHAIN, {"N": n})
    found = dipapprox.probability(
        program, eps=1, input=(0,), options=options, relative_width=relative_width
    )
    assert found.reason is None
    by_output = {int(each.output[0]): each.probability for each in found.outputs}
    assert by_output.get(2, dipapprox.Enclosure.exact(0)) == dipapprox.Enclosure.exact(0)
    return by_output[1]


@pytest.mark.parametrize("n", [3, 9, 16])
def test_a_chain_has_six_digits(n) -> None:
    truth = Fraction(1, factorial(n))
    found = ascending(n, MILLIONTH, Options())
    assert truth in found
    assert found.width <= MILLIONTH * truth


def test_the_last_precision_ends_the_refinement_and_says_so() -> None:
    program = dipapprox.parse(CHAIN, {"N": 16})
    options = Options(precision=20, max_precision=30)
    found = dipapprox.probability(
        program, eps=1, input=(0,), options=options, relative_width=Fraction(1, 10**30)
    )
    assert "1e-30 times" in found.reason
    assert found.precision == 30
    assert all(each.probability.width <= Fraction(1, 2**30) for each in found.outputs)


def test_what_is_too_small_to_be_written_is_not_called_enclosed() -> None:
    program = dipapprox.parse(
        "output out in {0, 1}\nx <- Gauss(0, 1)\nif x >= 137 then out <- 1 else out <- 0 end\n"
    )
    found = dipapprox.probability(
        program, eps=1, input=(), options=Options(max_precision=20000), relative_width=MILLIONTH
    )
    assert found.reason == "1 of 2 probabilities are too small to be written"
    (tiny,) = [each.probability for each in found.outputs if each.output == (1,)]
    assert 0 < tiny.lower < Fraction(1, 10**4000)


def test_what_parts_violate_stays_so_where_a_limit_comes_next(monkeypatch) -> None:
    def limited(*_: object) -> None:
        raise LimitReached("no more time")

    take_apart(monkeypatch, True)
    monkeypatch.setattr(by_closed_forms, "violation_at", limited)
    found = dipapprox.decide(read(RESPONSES), budget="1/100", violations=True)
    assert found.answer is Answer.NOT_DP and found.reason is None
    assert found.violation.input != found.violation.adjacent
    assert found.violation.not_enclosed is not None and found.violated_on
    check_schema("decide", found.to_dict())
