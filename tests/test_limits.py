"""Limits, bounded memories, numbers of any length, and work that grows as programs do."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import count
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import (
    Answer,
    Claim,
    Enclosure,
    LimitReached,
    Limits,
    Options,
    Outcome,
    UserError,
    check,
    limits,
)
from dipapprox.arithmetic.enclosure import outward, rational
from dipapprox.cache import Cache
from dipapprox.digits import brief_text, exact_text, read_digits
from dipapprox.errors import INTERRUPTED, NO_MEMORY, EarlyEnd
from dipapprox.exponentials import ExponentialPolynomial, power
from dipapprox.language.domains import parse_rational
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import read_source
from dipapprox.language.parser import parse
from dipapprox.limits import ask, asking, at_most, check_limits, check_pieces, limited
from dipapprox.pairs.selections import AllPairs, OrderedPairs
from dipapprox.privacy.run import Setting
from dipapprox.privacy.verifier import verify
from dipapprox.semantics.execution import execute
from tests.cases import cases, check_answers, evaluated, refuses, text_of, texts_in
from tests.cli.running import run, run_json
from tests.replays.certified import certificate
from tests.work import calls


def test_the_memory_is_looked_at_as_time_goes_by(monkeypatch) -> None:
    """Asking the system takes longer than most of what is done between two questions."""
    looks = []
    now = 5.0
    monkeypatch.setattr(limits.time, "monotonic", lambda: now)
    monkeypatch.setattr(limits, "peak_memory", lambda: looks.append(now) or 100 * len(looks))
    asked = limits.Limits(memory=150)
    for _ in range(100):
        asked.check()
    assert looks == [5.0]
    now = 5.01
    for _ in range(3):
        refuses(LimitReached, "memory limit", asked.check)
    assert looks == [5.0, 5.01, 5.01, 5.01]


@pytest.mark.skipif(sys.platform != "linux", reason="counts so")
def test_a_peak_is_not_that_of_who_started_the_process() -> None:
    own = "from dipapprox.limits import peak_memory; print(peak_memory())"
    start = f"import subprocess; subprocess.run([{sys.executable!r}, '-c', {own!r}])"
    large = f"x = b'x' * (300 << 20); {start}"
    done = subprocess.run([sys.executable, "-c", large], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 200


def test_long_loops_ask_the_limits_of_the_run(work_clock) -> None:
    """Every look at the clock is a thousandth of a second."""
    assert len(list(asking(range(10**5)))) == 10**5, "outside of a run there is nothing to ask"
    with limited(Limits(seconds=0.01, started=0)), pytest.raises(LimitReached, match="time limit"):
        for _ in asking(range(10**5)):
            pass
    assert work_clock() < 0.02
    with limited(Limits(seconds=0.01, started=0)), limited(Limits()):
        assert len(list(asking(range(10**5)))) == 10**5
    ask()


def test_steps_of_work_count_inside_and_around() -> None:
    around = Limits().within(10)
    inside = around.within(4)
    for _ in range(4):
        inside.check()
    refuses(LimitReached, "work limit: more than 4 steps", inside.check)
    for _ in range(5):
        around.check()
    for each in (around, around.within(4)):
        refuses(LimitReached, "work limit: more than 10 steps", each.check)


def test_blocks_use_no_more_than_blocks_around_them() -> None:
    with at_most(10, pieces=5):
        with at_most(4, pieces=7):
            check_pieces(5)
            refuses(LimitReached, "more than 5 pieces", check_pieces, 6)
            for _ in range(4):
                check_limits()
            ask()
            refuses(LimitReached, "work limit: more than 4 steps", check_limits)
        for _ in range(5):
            check_limits()
        refuses(LimitReached, "work limit: more than 10 steps", check_limits)
    check_pieces(6)
    check_limits()


def test_limits_are_those_of_the_thread() -> None:
    found: list[bool] = []

    def elsewhere() -> None:
        ask()
        found.append(True)

    with limited(Limits(seconds=0)):
        thread = Thread(target=elsewhere)
        thread.start()
        thread.join()
        refuses(LimitReached, None, ask)
    assert found == [True]


def test_products_of_long_sums_ask(work_clock) -> None:
    terms = {(n, Fraction(0)): Fraction(1) for n in range(2000)}
    function = ExponentialPolynomial.of(terms)
    with limited(Limits(seconds=0.01, started=0)), pytest.raises(LimitReached, match="time limit"):
        function * function
    assert work_clock() < 0.02


def interrupt_in_an_extension() -> SystemError:
    """What an extension module makes of Ctrl-C."""
    error = SystemError("returned a result with an exception set")
    error.__cause__ = KeyboardInterrupt()
    return error


# --- Bounded memories -----------------------------------------------------------------------------

keys = st.integers(0, 12)


@given(st.lists(keys, max_size=60), st.integers(1, 12))
def test_values_are_those_of_their_keys_and_within_bounds(asked, capacity) -> None:
    cache: Cache[int, int] = Cache(capacity)
    for key in asked:
        known = cache.get(key)
        assert known in {None, 7 * key + 1}
        assert cache.find(key, lambda key=key: 7 * key + 1) == 7 * key + 1
        assert len(cache) <= capacity + 1


@given(st.lists(keys, min_size=1, max_size=60), st.integers(1, 8))
def test_half_of_what_was_used_last_is_known(asked, most) -> None:
    cache: Cache[int, int] = Cache(2 * most)
    for key in asked:
        cache.find(key, lambda key=key: key + 1)
    last = list(dict.fromkeys(reversed(asked)))[:most]
    assert all(cache.get(key) == key + 1 for key in last)


@given(st.lists(st.tuples(keys, st.integers(1, 9)), max_size=60), st.integers(1, 4))
def test_costs_are_bounded_and_the_last_values_stay(put, least) -> None:
    cache: Cache[int, str] = Cache(10, len, least=least)
    sizes: dict[int, int] = {}
    for key, size in put:
        sizes.setdefault(key, size)
        cache.put(key, "x" * sizes[key])
        kept = [value for each in sizes if (value := Cache.get(cache, each)) is not None]
        assert len(kept) >= min(least, len(sizes))
        assert len(cache) <= 2 * max(least, 10)


def test_an_expensive_value_is_kept_alone() -> None:
    cache: Cache[str, str] = Cache(4, len)
    cache.put("a", "xx")
    cache.put("b", "x" * 100)
    assert cache.get("b") == "x" * 100
    cache.put("c", "x" * 100)
    cache.put("d", "x" * 100)
    assert cache.get("b") is None
    cache.clear()
    assert cache.get("d") is None and len(cache) == 0


@pytest.mark.usefixtures("eager")
def test_threads_share_one() -> None:
    cache: Cache[int, int] = Cache(8)
    made = count()

    def make(key: int) -> int:
        next(made)
        return key + 1

    def use(start: int) -> bool:
        wanted = ((start * k) % 11 for k in range(500))
        return all(cache.find(key, lambda key=key: make(key)) == key + 1 for key in wanted)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(1, 9)))
    assert len(cache) <= 9
    assert next(made) < 8 * 500


# --- Numbers of any length become text, and back, without Python's limit and without changing it --

Q = Fraction
LARGE, LARGER = 10**990 + 7, 10**998 + 9


@given(st.integers(0, 12_000), st.integers(-2, 2), st.booleans())
def test_digits_are_those_of_python(bits, near, decimal) -> None:
    value = (10 ** (bits * 3 // 10) if decimal else 1 << bits) + near
    text = exact_text(value)
    assert ("-" if value < 0 else "") + text.lstrip("-") == text
    assert read_digits(text.lstrip("-")) == abs(value)
    if len(text) < 4000:
        assert text == str(value)
    assert exact_text(Q(value, 2)) == exact_text(Q(value, 2).numerator) + (
        "" if value % 2 == 0 else "/2"
    )


SUMS = f"""
input q in {{0, 1}}
output out in {{0, 1, 2}}
adjacent all
x <- Lap(q * {LARGE}/{LARGER}, {LARGE}/({LARGER}*eps))
y <- Lap(q, {LARGER}/({LARGE}*eps))
w <- LapPlus(q, {LARGE + 2}/({LARGER - 2}*eps))
out <- 0
if x + y >= {LARGER}/{LARGE}*q then out <- 1 elif x >= w then out <- 2 end
"""


@pytest.fixture(name="path")
def sums(tmp_path: Path) -> Path:
    path = tmp_path / "sums.dpg"
    path.write_text(SUMS, encoding="utf-8")
    return path


def test_answers_about_huge_numbers_are_written(path) -> None:
    program = dipapprox.parse(SUMS)
    for eps in (Q(1), Q(1, LARGE)):
        verdict = dipapprox.verify(program, eps=eps, delta=Q(1, 10))
        assert json.loads(verdict.to_json())["eps"] == exact_text(eps)
        assert "Verdict(" in repr(verdict)
    status, fields = run_json("explain", str(path), "--closed-form")
    assert status in (0, 3)
    terms = [t for each in fields["closed_forms"] for o in each["outputs"] for t in o["terms"]]
    assert max(len(c) for _, _, c in terms) > 4300
    for words in (("--closed-form", "--format", "latex"), ("--eps", "1/9")):
        status, text = run("explain", str(path), *words)
        assert status in (0, 3) and text


def test_certificates_about_tiny_probabilities_are_read(tmp_path) -> None:
    """The ends of their enclosures have thousands of places."""
    path = tmp_path / "tail.dpg"
    path.write_text(TAIL, encoding="utf-8")
    fields = certificate(path, {}, Claim(Q(1), Q(0)))
    assert check(json.dumps(fields)).outcome is Outcome.CONFIRMED


TAIL = text_of("tests/limits-tail")
"""Pr[out = 1] is about e^-8000, or above 1/2."""


# --- The work of a whole verification grows as its program does, counted in calls of functions ----

PROGRAMS = Path(__file__).parent.parent / "programs"


def work(name: str, size: int) -> int:
    """Count the calls of one pair's verification."""
    text = read_source(PROGRAMS / f"{name}.dpg", {}).program

    def run() -> None:
        program = elaborate(text, {"N": Fraction(size)}, name)
        zeros = (program.inputs[0].domain[0],) * size
        ones = (program.inputs[0].domain[-1],) * size
        claim = Claim(Fraction(1, 2), delta=Fraction(1, 100))
        verdict = verify(Setting(program, OrderedPairs(((zeros, ones),)), Options()), claim)
        assert verdict.answer is Answer.DP
        assert verdict.final_states in (size, size + 1)

    return calls(run)


@cases("name, sizes, most", ("svt_gauss", (20, 60), 2.3), ("noisy_max_gauss", (12, 24), 2.0))
def test_work_grows_as_the_guards_do(name, sizes, most) -> None:
    """Sparse vectors have linearly many guards, argmax has quadratically many."""
    work(name, sizes[0])  # what is imported and remembered at the first use
    first, second = (work(name, size) for size in sizes)
    assert second < most * first


CHANCES = texts_in("chances")
"""Loops with random choices, whose paths double with every round."""


@pytest.mark.parametrize("name", CHANCES)
def test_work_grows_as_the_rounds_do(name) -> None:
    text = parse(CHANCES[name], "chances")

    def work(rounds: int) -> int:
        def run() -> None:
            program = elaborate(text, {"N": Fraction(rounds)}, "chances")
            claim = Claim(Fraction(1, 2), delta=Fraction(1, 2))
            verify(Setting(program, AllPairs(), Options()), claim)

        return calls(run)

    work(3)
    assert work(12) < 3.3 * work(4)


def test_a_walk_takes_the_same_work_for_every_place_and_round() -> None:
    """N rounds have N² / 2 places: calls for one of them, with the union of half of all ends."""
    text = parse(text_of("tests/growth_of_work-walk"), "walk")

    def work(rounds: int) -> float:
        program = elaborate(text, {"N": Fraction(rounds)}, "walk")
        return calls(lambda: execute(program, True, compared=True)) / rounds**2

    work(3)
    assert work(60) < 150


# --- Long numbers, and ends: expressions, and what is said of each --------------------------------

HUGE = Q(10**9000 + 1, 3**9000)


def ended(*errors: BaseException) -> tuple[str | None, bool]:
    """Why a block ended early, and whether somebody interrupted it; errors are no early end."""
    end = EarlyEnd()
    with end:
        for error in errors:
            raise error
    return end.reason, end.interrupted


def test_long_numbers_and_ends_are_said() -> None:
    """Without Python's limit of digits, and without changing it."""
    limit, refused = (
        sys.get_int_max_str_digits(),
        (LimitReached, UserError, SystemError, ValueError),
    )
    asked = {
        "Enclosure": Enclosure,
        "INTERRUPTED": INTERRUPTED,
        "NO_MEMORY": NO_MEMORY,
        "brief_text": brief_text,
        "outward": outward,
        "parse_rational": parse_rational,
        "power": power,
        "rational": rational,
    }
    check_answers("limits", evaluated(globals() | asked, *refused))
    assert sys.get_int_max_str_digits() == limit
