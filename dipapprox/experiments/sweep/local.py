"""Running cases on this machine: a few workers, each with a fork server of its own."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Iterator

from dipapprox.experiments.sweep.case import Case, Outcome
from dipapprox.experiments.sweep.worker import Worker, WorkerLost

Answered = tuple[Case, Outcome]

_DONE = None


def run_locally(cases: Iterator[Case], jobs: int) -> Iterator[Answered]:
    """Yield cases with their outcomes, in the order in which they finish.

    Args:
        cases: Taken from one at a time: not more than needed are ever made.
        jobs: How many run at the same time.

    Raises:
        WorkerLost: If processes keep dying; the other cases in progress are given up.
    """
    first = list(itertools.islice(cases, jobs))  # never more workers than cases
    source: Iterator[Case] = itertools.chain(first, cases)
    lock = threading.Lock()
    answers: queue.Queue[Answered | WorkerLost | None] = queue.Queue()
    workers = [Worker() for _ in first]

    def work(worker: Worker) -> None:
        try:
            while True:
                with lock:
                    case = next(source, None)
                if case is None:
                    break
                answers.put((case, worker.run(case)))
        except WorkerLost as lost:
            answers.put(lost)
        finally:
            answers.put(_DONE)

    threads = [threading.Thread(target=work, args=(w,), daemon=True) for w in workers]
    for thread in threads:
        thread.start()
    running = len(threads)
    try:
        while running:
            found = answers.get()
            match found:
                case None:
                    running -= 1
                case WorkerLost():
                    raise found
                case _:
                    yield found
    finally:
        with lock:
            source = iter(())
        for worker in workers:
            worker.close()
        for thread in threads:
            thread.join()
