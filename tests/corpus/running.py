"""Questions, each answered in a process of its own: none finds what another has left in a memory.

    modules loaded once  ->  a fork for each question, as many at a time as there are processors

Seconds are of processor time, of a machine on which `calibrate` takes `CALIBRATED`: so two
machines, or one on two days, can be compared roughly. Time by the clock plays no part.
"""

import gc
import multiprocessing
import pkgutil
import resource
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from math import ceil
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import process_time
from typing import Generic, TypeVar

import dipapprox

Question = TypeVar("Question")
Answer = TypeVar("Answer")

CALIBRATED = 0.04
"""What `calibrate` takes on the machine of whose seconds all seconds are."""


@dataclass(frozen=True)
class Run(Generic[Question, Answer]):
    """A question that was asked.

    Attributes:
        question: It.
        answer: None if it crashed, or took more than the time it was given.
        seconds: Processor time, in calibrated seconds.
    """

    question: Question
    answer: Answer | None
    seconds: float


def calibrate() -> float:
    """Return the processor time of a fixed piece of exact arithmetic, the least of five."""
    return min(_calibration() for _ in range(5))


def _calibration() -> float:
    start = process_time()
    total = Fraction(0)
    for k in range(1, 900):
        total += Fraction(1, k)
    table = {k: k * k % 1009 for k in range(200_000)}
    sum(sorted(table.values()))
    return process_time() - start


_NEVER_RUN = ("dipapprox.templates", "dipapprox.__main__", "dipapprox.language.functions.prelude")


def load_modules() -> None:
    """Load every module of the package: a question's time is not that of finding its modules."""
    for module in pkgutil.walk_packages(dipapprox.__path__, "dipapprox."):
        if not module.name.startswith(_NEVER_RUN):
            import_module(module.name)


def run_all(
    ask: Callable[[Question], Answer],
    questions: Sequence[Question],
    jobs: int,
    patience: Callable[[Question], float],
) -> Iterator[Run[Question, Answer]]:
    """Answer questions in processes of their own, in whatever order they end.

    Args:
        ask: Answers one.
        questions: All of them.
        jobs: How many processes run at a time.
        patience: After how many calibrated seconds a question is given up.
    """
    load_modules()
    unit = CALIBRATED / calibrate()
    gc.collect()
    gc.freeze()  # what is shared with the forks is not written to
    context = multiprocessing.get_context("fork")
    waiting = list(reversed(questions))
    running: dict[Connection, tuple[Question, BaseProcess]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            question = waiting.pop()
            receiver, sender = context.Pipe(duplex=False)
            most = ceil(patience(question) / unit)
            process = context.Process(target=_answer, args=(ask, question, sender, most))
            process.start()
            sender.close()
            running[receiver] = question, process
        for receiver in wait(list(running)):
            assert isinstance(receiver, Connection)
            question, process = running.pop(receiver)
            try:
                answer, seconds = receiver.recv()
            except EOFError:
                answer, seconds = None, patience(question) / unit
            process.join()
            receiver.close()
            yield Run(question, answer, seconds * unit)


def _answer(
    ask: Callable[[Question], Answer], question: Question, sender: Connection, most: int
) -> None:
    start = process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (ceil(start) + most, ceil(start) + most))
    answer = ask(question)
    sender.send((answer, process_time() - start))
