"""What `~` is written before: conditions alone. Of Python's own truth values it makes -1 or -2.

In: the events of a run's frames. Out: the place of a `~` that no condition answered.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from types import CodeType, FrameType

from dipapprox.language.functions import places
from dipapprox.language.functions.run import PathRun
from dipapprox.source import Span

MESSAGE = "'~' of what is no condition: of Python's truth values it makes a number"
HINT = "write not"


class Inversions:
    """The `~` of a run."""

    def __init__(self, run: PathRun) -> None:
        """Begin with none."""
        self._run = run
        self._asked: dict[FrameType, tuple[int, int]] = {}
        self._seen: set[FrameType] = set()
        # Python 3.12 tells of instructions only if a frame asks for them before it is traced.
        sys._getframe().f_trace_opcodes = True

    def begin(self, frame: FrameType) -> None:
        """Watch a frame that begins, if there is a `~` in it."""
        if frame.f_code.co_name == "__invert__":
            self._run.inversions += 1  # a class of the user's answers
        if _offsets(frame.f_code):
            frame.f_trace_opcodes = True

    def unanswered(self, frame: FrameType, event: str) -> Iterator[Span | None]:
        """Yield the place of the last `~` of a frame, if no condition answered it."""
        if event == "call" or not _offsets(frame.f_code):
            return
        if event == "opcode":
            self._seen.add(frame)
        elif event == "line" and frame not in self._seen:
            frame.f_trace_opcodes = True  # Python 3.13 does not hear of it before
        elif event == "return" and frame not in self._seen:  # nobody tells what is executed
            yield places.span_of(frame.f_code, next(iter(_offsets(frame.f_code))))
        offset, before = self._asked.pop(frame, (-1, 0))
        if event == "opcode" and frame.f_lasti in _offsets(frame.f_code):
            self._asked[frame] = frame.f_lasti, self._run.inversions
        answered = offset < 0 or self._run.inversions > before
        if not answered and not _is_of_number(frame, offset):
            yield places.span_of(frame.f_code, offset)


@lru_cache(maxsize=1024)
def _offsets(code: CodeType) -> dict[int, dis.Instruction]:
    """Return the instructions that are `~`, each with the one before it."""
    steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
    return {
        after.offset: before for before, after in pairwise(steps) if after.opname == "UNARY_INVERT"
    }


def _is_of_number(frame: FrameType, offset: int) -> bool:
    """Whether a `~` is written before a name that holds a whole number."""
    name = str(_offsets(frame.f_code)[offset].argval)
    if not _offsets(frame.f_code)[offset].opname.startswith("LOAD_"):
        return False
    return type(frame.f_locals.get(name, frame.f_globals.get(name))) is int
