"""What tests do not depend on: how busy and how large the machine is, and chance.

Hypothesis tries the same examples every time. `pytest --hypothesis-profile=explore` tries others,
a thousand where a test does not say how many; what fails is printed as a blob for
`@reproduce_failure`.
"""

import contextlib
import gc
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, settings

from tests.cases import EXAMPLES, THOROUGH

# Compiling the package anew takes longer than most of the commands that tests start: compiled
# modules are kept, also where the environment asks for none. Plugins are imported after this.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
pytest_plugins = ["replaying"]

MEMORY = 6 * 2**30
"""Bytes that a process of tests, or one that it starts, may ask for: then it is a MemoryError."""

with contextlib.suppress(ImportError):  # Windows has no such limits
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or hard > MEMORY:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, hard))

gc.disable()
"""While tests are collected: what they import stays."""

settings.register_profile(
    "repeatable",
    derandomize=True,
    max_examples=EXAMPLES,
    deadline=None,
    # Being slow is what other processes do to a test.
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile(
    "explore", settings.get_profile("repeatable"), derandomize=False, max_examples=1000
)
settings.load_profile("repeatable")

collect_ignore = [] if THOROUGH else ["test_packaging.py", "experiments/sweep/test_cluster.py"]
"""What `make thorough` alone tests. The site is built, and warnings are errors, by `make docs`."""


@pytest.fixture
def work_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[], float]:
    """Limits that began at 0 measure work: every look at the clock is a thousandth of a second."""
    looks = itertools.count()

    def now() -> float:
        return next(looks) / 1000

    monkeypatch.setattr("dipapprox.limits.time", SimpleNamespace(monotonic=now))
    return now


@pytest.fixture
def eager() -> Iterator[None]:
    """Threads take turns after every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


LONG = """
    known documents like_python compositions answers real_inputs stated_runs habits accountant
    tables published noise sweep certificates start starting programs potentials analysis
    execution losses kills rounds half_answers algebra composed_numbers bare_systems charts
    throughout methods forgeries review bounds weaker_claims renyi work functions decisions
    dearest prove_real limits parser questions elimination panels parts maxima interrupts
"""
"""Files of tests that take longest, the longest first: the processors end together."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest; what is dear is asked where everything is."""
    items[:] = [item for item in items if THOROUGH or not item.get_closest_marker("thorough")]
    place = {f"test_{name}": number for number, name in enumerate(LONG.split())}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


def pytest_collection_finish() -> None:
    """What is imported lives as long as the process: no search for garbage passes it again.

    Nor is garbage looked for as often: most of what tests make is of no cycle.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(30_000, 20, 50)
    gc.enable()
