"""Where guards were written: the lines of the comparisons that they come from, for messages.

In: every comparison of samples that a run splits a state on, with its place in the text. Out: the
lines of a guard, of merged states as well, whose guards are guards of the states before.

Guards about one or two samples are told apart by the lines on which the samples are drawn: a loop
over thousands of samples has a few such pairs. Those about more are told apart by their forms.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations_with_replacement

from dipapprox.linear.form import LinearForm
from dipapprox.source import Span


class GuardLines:
    """The places of the guards of one run.

    Args:
        drawn: The line that each sample is drawn on; may grow.
    """

    __slots__ = ("_drawn", "_places")

    def __init__(self, drawn: Sequence[int | None] = ()) -> None:
        self._drawn = drawn
        self._places: dict[Hashable, dict[int, Span]] = {}

    def note(self, form: LinearForm, span: Span | None) -> None:
        """Remember that the text compares a form of some samples with 0 at `span`."""
        if span is not None:
            self._add(self._key(form), span)

    def note_pair(self, first: int, second: int, span: Span | None) -> None:
        """Remember that the text compares two samples at `span`."""
        if span is not None:
            self._add(_pair(self._drawn[first], self._drawn[second]), span)

    def note_group(self, group: Iterable[int], span: Span | None) -> None:
        """Remember that the text compares all samples of a group at `span`."""
        if span is not None:
            lines = {self._drawn[sample] for sample in group}
            for pair in combinations_with_replacement(lines, 2):
                self._add(_pair(*pair), span)

    def note_alike(self, form: LinearForm, other: LinearForm) -> None:
        """Remember that a form is compared with 0 wherever another one is: in another turn."""
        places = self._places.get(self._key(form))
        if places is not None:
            self._places.setdefault(self._key(other), places)

    def of(self, form: LinearForm) -> list[int]:
        """Return the lines of a guard, ascending; none if it was not noted."""
        return sorted({span.line for span in self._places.get(self._key(form), {}).values()})

    def _add(self, key: Hashable, span: Span) -> None:
        known = self._places.get(key)
        if known is None:
            self._places[key] = {span.start: span}
        elif span.start not in known:
            known[span.start] = span

    def _key(self, form: LinearForm) -> Hashable:
        samples = form.samples()
        if len(samples) <= 2:
            return _pair(self._drawn[samples[0]], self._drawn[samples[-1]])
        return form if form.terms[0][1] > 0 else -form


def _pair(first: int | None, second: int | None) -> tuple[int, int]:
    a, b = first or 0, second or 0
    return (a, b) if a <= b else (b, a)
