"""The public interface in eight threads at once: every answer is that of one thread."""

import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import pytest
from flint import ctx

import dipapprox
from dipapprox import Claim, Options, SourceError
from dipapprox.arithmetic import double_functions as elementary
from dipapprox.arithmetic import legendre
from dipapprox.arithmetic import precision as precisions
from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.errors import BrokenInvariant
from dipapprox.language.dip import parse_dip
from dipapprox.limits import rare_collections
from tests.cases import refuses, text_of

THREADS = 4

CHAIN = text_of("svt_gauss").replace("N = 2", "N = 4")

LAPLACE = text_of("tests/threads-laplace")
RESPONSE = text_of("tests/threads-response")

DIP = "INPUTSIZE 1; OUTPUT = [1]; x = gauss(eps, 0);;"


def without_seconds(answer: Any) -> Any:
    """What an answer says, but for the time that it took."""
    fields = answer.to_dict() if hasattr(answer, "to_dict") else answer
    if isinstance(fields, dict):
        return {key: without_seconds(v) for key, v in fields.items() if key != "seconds"}
    return [without_seconds(v) for v in fields] if isinstance(fields, list) else fields


def complaint(parse: Callable[[str], object], text: str) -> str:
    with pytest.raises(SourceError) as caught:
        parse(text)
    return str(caught.value)


def jobs() -> dict[str, Callable[[], Any]]:
    """What one thread does; every call reads its own program."""
    half = Claim(eps=Fraction(1, 2), delta=Fraction(1, 100))

    def read(text: str) -> dipapprox.Program:
        return dipapprox.parse(text)

    def probabilities(input: tuple[int, ...]) -> Any:
        return dipapprox.probability(read(CHAIN), eps=1, input=input)

    certificate = dipapprox.certify(
        read(RESPONSE),
        RESPONSE,
        dipapprox.verify(read(RESPONSE), eps=half.eps, eps_prv=half.eps_prv, delta=half.delta),
    ).to_json()
    return {
        "parse": lambda: repr(read(CHAIN)),
        "wrong": lambda: complaint(read, CHAIN.replace("then", "thn")),
        "wrong dip": lambda: complaint(parse_dip, DIP),
        **{str(u): partial(probabilities, u) for u in product((0, 1), (0, 1), (1,), (0,))},
        "verify": lambda: dipapprox.verify(
            read(CHAIN), eps=half.eps, eps_prv=half.eps_prv, delta=half.delta
        ),
        "mixed": lambda: dipapprox.verify(
            read(LAPLACE), eps=half.eps, eps_prv=half.eps_prv, delta=half.delta
        ),
        "nested": lambda: dipapprox.probability(
            read(LAPLACE), eps=1, input=[1], options=Options(engine=dipapprox.Engine.NESTED)
        ),
        "profile": lambda: dipapprox.profile(read(RESPONSE), eps=1, eps_prv=Fraction(1, 2)),
        "calibrate": lambda: dipapprox.calibrate(
            read(RESPONSE), eps_prv=1, delta=Fraction(1, 100), width=Fraction(1, 10)
        ),
        "decide": lambda: dipapprox.decide(read(RESPONSE)),
        "check": lambda: dipapprox.check(certificate),
    }


def test_answers_are_those_of_one_thread(eager) -> None:
    work = jobs()
    alone = {name: without_seconds(job()) for name, job in work.items()}
    start = threading.Barrier(THREADS)

    def all_jobs(shift: int) -> dict[str, Any]:
        names = list(work)
        names = names[shift:] + names[:shift]
        start.wait()
        return {name: without_seconds(work[name]()) for name in names}

    before = ctx.prec, gc.get_threshold()
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(all_jobs, range(0, 3 * THREADS, 3)))
    assert (ctx.prec, gc.get_threshold()) == before
    for answers in found:
        for name, answer in answers.items():
            assert answer == alone[name], name


def test_a_precision_is_that_of_the_block(eager) -> None:
    before = ctx.prec

    def bits_seen(bits: int) -> set[int]:
        seen = set()
        for _ in range(1500):
            with precision(bits):
                seen.add(ctx.prec)
                with precision(2 * bits):
                    to_ball(Fraction(1, 3))
                seen.add(ctx.prec)
        return seen

    asked = [50 + 10 * k for k in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(bits_seen, asked)) == [{bits} for bits in asked]
    assert ctx.prec == before


def test_long_blocks_give_way(monkeypatch) -> None:
    """A block that waits for nobody, until another thread has had a block of its own."""
    monkeypatch.setattr(precisions, "_LONG", 0.0)
    before, inside, done = ctx.prec, threading.Event(), threading.Event()
    seen = []

    def short() -> None:
        inside.wait()
        with precision(200):
            seen.append(ctx.prec)
        done.set()

    thread = threading.Thread(target=short)
    thread.start()
    with precision(100), precision(120):
        inside.set()
        for _ in range(20_000):  # 20 s, should nobody ever get a turn
            if done.is_set():
                break
            precisions.give_way()
        seen.append(ctx.prec)
    thread.join()
    assert seen == [200, 120]
    assert ctx.prec == before


def test_engines_may_change_turns_in_mid_integral(eager, monkeypatch) -> None:
    monkeypatch.setattr(precisions, "_LONG", 0.0)
    monkeypatch.setattr(precisions, "_PAUSE", 1e-6)
    program = dipapprox.parse(LAPLACE)
    before = ctx.prec

    def enclosed(bits: int) -> Any:
        options = Options(engine=dipapprox.Engine.NESTED, precision=bits)
        return without_seconds(dipapprox.probability(program, eps=1, input=[1], options=options))

    asked = [30, 60, 90, 120]
    alone = list(map(enclosed, asked))
    with ThreadPoolExecutor(len(asked)) as pool:
        assert list(pool.map(enclosed, asked)) == alone
    assert ctx.prec == before


def test_settings_come_back_when_the_last_block_ends() -> None:
    before = gc.get_threshold()
    first, second = rare_collections(), rare_collections()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold() != before
    second.__exit__(None, None, None)
    assert gc.get_threshold() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_does_not_wait_for_threads_that_it_has_not() -> None:
    """A fork while another thread is inside a block; the child opens blocks all the same."""
    inside, done, before = threading.Event(), threading.Event(), ctx.prec

    def hold() -> None:
        with precision(999):
            inside.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    child = os.fork()
    if not child:
        signal.alarm(30)  # a child that waits for ever is killed
        right = ctx.prec == before
        with precision(70):
            right = right and ctx.prec == 70
        os._exit(0 if right and ctx.prec == before else 1)
    _, status = os.waitpid(child, 0)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
    assert ctx.prec == before


def test_tables_are_not_made_with_fewer_bits_than_they_need(monkeypatch) -> None:
    """Nothing but width may rest on the precision: a library may change it in mid-block."""

    @contextmanager
    def few_bits(_: int) -> Iterator[None]:
        with precision(24):
            yield

    for module in (legendre, elementary):
        monkeypatch.setattr(module, "precision", few_bits)
    for make in (
        lambda: legendre.legendre_rule.__wrapped__(12, (2.0,)),
        elementary._logarithm_of_two.__wrapped__,
        lambda: elementary._mills_table.__wrapped__(4),
    ):
        refuses(BrokenInvariant, None, make)
