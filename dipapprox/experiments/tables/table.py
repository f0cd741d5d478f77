"""A reproduced table: cells as text, and numbered notes for all that differs."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from dipapprox.data_classes import dataclass, field


@dataclass(frozen=True, slots=True)
class Table:
    """A table to print or to write.

    Attributes:
        name: "1" … "8", "dipc-1" … "dipc-8".
        columns: Headings.
        rows: As wide as `columns`; a cell ends in " [k]" where note k explains a difference.
        notes: By their numbers.
        unexplained: Differences from the published table without a note; there should be none.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: Mapping[int, str]
    unexplained: tuple[str, ...]

    def as_markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [f"## {self.title}", ""]
        lines.append(_line(self.columns))
        lines.append("|" + "---|" * len(self.columns))
        lines += map(_line, self.rows)
        if self.notes:
            lines.append("")
            lines += [f"{number}. {text}" for number, text in self.notes.items()]
        return "\n".join(lines) + "\n"

    def as_csv(self) -> str:
        """Return the rows as comma-separated values, headings first."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows((self.columns, *self.rows))
        return text.getvalue()


def _line(cells: Sequence[str]) -> str:
    """A row of Markdown; bars inside cells are escaped."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


@dataclass(slots=True)
class Notes:
    """Collects the notes of one table; each text gets one number."""

    numbers: dict[str, int] = field(default_factory=dict)
    unexplained: list[str] = field(default_factory=list)

    def mark(self, cell: str, note: str | None) -> str:
        """Return the cell with the number of a note, or as it is without one."""
        if note is None:
            return cell
        number = self.numbers.setdefault(note, len(self.numbers) + 1)
        return f"{cell} [{number}]"

    def compare(self, ours: str, published: str, note: str | None, where: str) -> str:
        """Return our cell; where the published one differs it needs a note."""
        if ours == published or published in ("", "T.O", "O.M"):
            return self.mark(ours, note) if note is not None and ours == published else ours
        if note is None or ours == "Unknown":
            self.unexplained.append(f"{where}: {ours}, published {published}")
            return f"{ours} (published {published}, unexplained)"
        return self.mark(ours, note)

    def table(
        self, name: str, title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]
    ) -> Table:
        """Return the finished table."""
        texts = {number: text for text, number in self.numbers.items()}
        return Table(name, title, columns, tuple(rows), texts, tuple(self.unexplained))
