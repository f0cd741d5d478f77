"""Claims that stand with programs: how they are read, and what becomes of them."""

from pathlib import Path

import pytest

import dipapprox
from dipapprox.errors import SourceError
from dipapprox.privacy.options import Options
from dipapprox.questions.claims import ClaimOutcome, claims_in, read_claims, try_claim

PROGRAMS = Path(__file__).parents[2] / "programs"
EXAMPLES = PROGRAMS.parent / "examples" / "mechanisms.py"

NOISY = """
param b = 1
input q in {0, 1}
output out in {0, 1}
adjacent linf 1
out <- Lap(q, b / eps) > 0
"""


def tried(line: str, folder: Path) -> tuple[ClaimOutcome, str]:
    file = folder / "noisy.dpg"
    file.write_text(f"# {line}\n{NOISY}")
    (found,) = claims_in(file)[file]
    tested = try_claim(found, file, Options())
    return tested.outcome, tested.message


def test_what_follows_a_statement_is_shown() -> None:
    with pytest.raises(SourceError, match="would not be read") as error:
        read_claims("input q in bool\nparam N = 3 # claim: DP at eps = 1", "noisy.dpg")
    assert error.value.render().startswith("noisy.dpg:2:13:")


@pytest.mark.parametrize(
    "line",
    ["The claim: none", "Claims of the paper", "clamp: q", "decode: q", "prove DP in steps", "—:"],
)
def test_prose_is_no_claim(line: str) -> None:
    assert read_claims(f"# {line}", "noisy.dpg") == ()
    assert read_claims(line, "noisy.py", docstring=True) == ()


@pytest.mark.parametrize(
    ("line", "outcome", "message"),
    [
        ("claim: DP at eps = 1, delta = 0", ClaimOutcome.HOLDS, ""),
        ("claim: Not_DP at eps = 1, delta = 0", ClaimOutcome.FALSE, "DP: noisy: the claim holds"),
        ("claim: DP at eps = 1, delta = 0, b = 1/2", ClaimOutcome.FALSE, "Witness"),
        ("claim: DP at eps = 1, delta = 0, N = 1", ClaimOutcome.ERROR, "no parameter 'N'"),
        ("claim: refused at eps = 1, delta = 0, N = 1", ClaimOutcome.ERROR, "no parameter 'N'"),
        ("claim: refused at eps = 1, delta = 0, pairs = 5~6", ClaimOutcome.HOLDS, ""),
        ("claim: least budget 2 for real inputs at b = 1/2", ClaimOutcome.HOLDS, ""),
        ("claim: least budget 1 for real inputs at b = 1/2", ClaimOutcome.FALSE, "at least 2"),
        ("claim: least budget 3 for real inputs at b = 1/2", ClaimOutcome.FALSE, "at most 2"),
        ("claim: Not_DP for all eps at budget = 1/2", ClaimOutcome.HOLDS, ""),
    ],
)
def test_outcomes(line: str, outcome: ClaimOutcome, message: str, tmp_path: Path) -> None:
    found, said = tried(line, tmp_path)
    assert (found, bool(said)) == (outcome, bool(message))
    assert message in said


def test_what_is_not_decided_does_not_hold() -> None:
    (asked,) = read_claims("claim: least budget 3/4 for real inputs", "count_above")
    tested = try_claim(asked, Path(f"{EXAMPLES}:count_above"), Options())
    assert tested.outcome is ClaimOutcome.UNKNOWN
    assert tested.message.startswith("the least budget is at least 1/2, at most 3/4")


def test_every_line_of_the_programs_is_a_claim() -> None:
    found = claims_in(PROGRAMS)
    assert len(found) > 100
    assert sum(map(len, found.values())) > 400
    words = ("# expected:", "# decide:", "# prove:", "# claim:")
    for path, claims in found.items():
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(claims) == sum(line.startswith(words) for line in lines), path


def test_an_assertion_shows_the_witness() -> None:
    program = dipapprox.parse(NOISY)
    assert dipapprox.assert_private(program, eps=1).answer is dipapprox.Answer.DP
    with pytest.raises(AssertionError, match="Witness: these outputs are too likely"):
        dipapprox.assert_private(program, eps=1, eps_prv="1/2")


PYTHON = """\
from typing import Annotated
from dipapprox import Condition, Quantity, Weight, laplace, mechanism
from scale import SCALE

@mechanism(adjacent="linf 1")
def noisy(q: Annotated[Quantity, "in {0, 1}"], eps: Weight) -> Annotated[Condition, "in bool"]:
    \"\"\"Is it more?

    claim: DP at eps = 1, delta = 0
    \"\"\"
    return laplace(q, SCALE / eps) > 0
"""


@pytest.fixture
def python(tmp_path: Path) -> Path:
    (tmp_path / "scale.py").write_text("SCALE = 1")
    return tmp_path / "noisy.py"


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        ("@mechanism", "# claim: DP for all eps\n@mechanism", "5:1:"),
        ("    return", "    # Claim: DP for all eps\n    return", "11:5:"),
        ("from typing", '"""claim: DP for all eps"""\nfrom typing', "1:1:"),
        ("@mechanism", "def f():\n    'f'\n    \n@mechanism", ""),
        ("@mechanism", "def f():\n    '''\n    claim: DP\n    '''\n@mechanism", "7:5:"),
        ("    claim:", "    claims:", "docstring:3:1:"),
    ],
)
def test_claims_of_python_that_are_elsewhere(
    before: str, after: str, place: str, python: Path
) -> None:
    python.write_text(PYTHON.replace(before, after))
    if not place:
        assert [len(claims) for claims in claims_in(python).values()] == [1]
        return
    with pytest.raises(SourceError, match="would not be read") as error:
        claims_in(python)
    assert place in error.value.render().splitlines()[0]


INSIDE = PYTHON.replace("from scale import SCALE\n", "").replace(
    "    return", "    from scale import SCALE\n    return"
)


@pytest.mark.parametrize("program", [PYTHON, INSIDE])
def test_files_have_the_modules_beside_them(program: str, tmp_path: Path) -> None:
    outcomes = []
    for folder, scale in (("a", "1"), ("b", "Fraction(1, 2)"), ("c", None), ("d", "2")):
        file = tmp_path / folder / "noisy.py"
        file.parent.mkdir()
        file.write_text(program)
        if scale is not None:
            text = f"from fractions import Fraction\nSCALE = {scale}"
            (file.parent / "scale.py").write_text(text)
        ((path, (asked,)),) = claims_in(file).items()
        outcomes.append(try_claim(asked, path, Options()).outcome)
    assert outcomes == [
        ClaimOutcome.HOLDS,
        ClaimOutcome.FALSE,
        ClaimOutcome.ERROR,
        ClaimOutcome.HOLDS,
    ]
