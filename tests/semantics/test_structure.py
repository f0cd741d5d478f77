"""The structural columns of the paper's Tables 6 and 7 (DiPApprox, CCS 2025).

The readings under which the published numbers follow are those of the specification, section 9.
Not compared: the depth of m-Range, which follows from no natural reading (section 9.3).
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction

import pytest

from dipapprox.language import core
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
from dipapprox.semantics.structure import Structure, measure_structure
from tests.semantics.examples import min_max, noisy_extreme, range_monitor, sparse_vector
from tests.thorough import part


def structure(program: core.Program) -> Structure:
    return measure_structure(execute(program, False, Limits()))


def rounded(value: Fraction, digits: int) -> str:
    """Decimal text, exact halves to even, as the tables print them."""
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return str(exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN))


def build(name: str, size: int) -> core.Program:
    """The program of a table row. Noise families and scales do not change its structure."""
    test = "<=" if "-Ge" in name else ">="
    match name.split("-"):
        case ["SVT", *_]:
            return sparse_vector(size, test, "Leaky-1" not in name, "Leaky-2" not in name)
        case ["Noisy", extreme, _]:
            return noisy_extreme(size, ">" if extreme == "Max" else "<")
        case ["k", *_]:
            return min_max(size)
        case _:
            return range_monitor(size)


# Columns of Table 7: size, final states, average |G|, average depth.
_SVT = {
    2: (3, "1.7", "2.3"),
    5: (6, "3.3", "2.7"),
    10: (11, "5.9", "2.8"),
    11: (12, "6.4", "2.8"),
    17: (18, "9.4", "2.9"),
    25: (26, "13.5", "2.9"),
}
_LEAKY = {3: (4, "2.2", "1.5"), 5: (6, "3.3", "1.7"), 6: (7, "3.9", "1.7")}
_NOISY = {2: (2, "1.0", "2.0"), 3: (4, "2.0", "2.5"), 4: (8, "3.0", "3.0")}
_ROWS = {
    **{f"SVT-{noise}{ge}": (_SVT, sizes) for ge in ("", "-Ge") for noise, sizes in (
        ("Gauss", (2, 5, 25)), ("Laplace", (2, 5, 11)), ("Mix1", (2, 5, 17)), ("Mix2", (2, 5, 10))
    )},
    **{f"SVT-Gauss{ge}-Leaky-1": (_LEAKY, (5, 6)) for ge in ("", "-Ge")},
    **{f"SVT-Gauss{ge}-Leaky-2": (_LEAKY, (3, 6)) for ge in ("", "-Ge")},
    **{f"Noisy-{extreme}-Gauss": (_NOISY, (2, 3, 4)) for extreme in ("Max", "Min")},
    **{f"Noisy-{extreme}-Laplace": (_NOISY, (3, 4)) for extreme in ("Max", "Min")},
    "k-Min-Max-Gauss": ({3: (16, "4.0", "3.0"), 4: (28, "5.1", "3.4")}, (3, 4)),
    "m-Range-Gauss": ({1: (7, "3.0", None), 2: (13, "4.2", None), 3: (19, "5.2", None)}, (1, 2, 3)),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "size"), part([(k, n) for k, (_, sizes) in _ROWS.items() for n in sizes], 3)
)
def test_published_columns_of_table_7(name: str, size: int) -> None:
    states, guards, depth = _ROWS[name][0][size]
    result = structure(build(name, size))
    assert result.final_states == states
    assert rounded(result.average_guards, 1) == guards
    if depth is not None:
        assert rounded(result.average_depth, 1) == depth


# Columns of Table 6: depth without optimisation (maximum, average), and with.
_SVT_6 = {
    1: (2, "2.00", 2, "2.0"),
    2: (3, "2.67", 3, "2.3"),
    3: (4, "3.25", 3, "2.5"),
    4: (5, "3.80", 3, "2.6"),
    5: (6, "4.33", 3, "2.7"),
}
_NOISY_6 = {
    2: (2, "2.00", 2, "2.0"),
    3: (3, "3.00", 3, "2.5"),
    4: (4, "4.00", 4, "3.0"),
    5: (5, "5.00", 5, "3.5"),
}


@pytest.mark.parametrize(
    ("name", "size"),
    [(f"SVT-{noise}", size) for noise in ("Gauss", "Laplace", "Mix1") for size in _SVT_6]
    + [("Noisy-Max-Gauss", size) for size in _NOISY_6],
)
def test_published_columns_of_table_6(name: str, size: int) -> None:
    row = (_SVT_6 if name.startswith("SVT") else _NOISY_6)[size]
    result = structure(build(name, size))
    assert result.maximum_variables == row[0]
    assert rounded(result.average_variables, 2) == row[1]
    assert result.maximum_depth == row[2]
    assert rounded(result.average_depth, 1) == row[3]


def test_merged_states_have_no_structure() -> None:
    with pytest.raises(ValueError, match="not merged"):
        measure_structure(execute(sparse_vector(2), True, Limits()))
