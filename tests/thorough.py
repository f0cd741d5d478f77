"""What `make test` asks a part of, and `make thorough` all of: long tables, and many examples."""

import os
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

Each = TypeVar("Each")

THOROUGH = os.environ.get("DIPAPPROX_TESTS") == "thorough"
"""Whether everything is asked."""

EXAMPLES = 200 if THOROUGH else 10
"""Of each law of Hypothesis that does not say how many it needs."""


def examples(few: int) -> settings:
    """Return settings of a law whose examples are dear: few, or ten times as many."""
    return settings(max_examples=10 * few if THOROUGH else few)


def part(table: Sequence[Each], every: int) -> Sequence[Each]:
    """Return the rows 0, every, 2 · every, … of a table; all of them where everything is asked."""
    return table if THOROUGH else table[::every]
