"""Numbers and inputs from the command line; files of all sorts."""

from __future__ import annotations

from pathlib import Path

import pytest

from dipapprox.errors import UserError
from dipapprox.language.load import LARGEST_FILE, load
from dipapprox.language.values import parse_rational


@pytest.mark.parametrize(
    "text",
    ["", "nan", "inf", "-inf", "1e999999999", "1/0", "1//2", "1/2/3", "--1", "0x10", "1_000", "٣",
     "9" * 5000, "1 2", "1e", "."],
)  # fmt: skip
def test_what_is_no_number_is_refused_by_name(text: str) -> None:
    with pytest.raises(UserError, match=r"^delta "):
        parse_rational(text, "delta")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b" \n\t", "is empty"),
        (b"\x80\xff", "is not a text file"),
        (b"param\0", "is not a text file"),
        (b" " * (LARGEST_FILE + 1), "is larger than 5 MiB"),
    ],
)
def test_files_that_are_no_programs(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "bad.dpg"
    path.write_bytes(data)
    with pytest.raises(UserError, match=message):
        load(path, {})


def test_missing_files_and_directories(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no file"):
        load(tmp_path / "none.dpg", {})
    with pytest.raises(UserError, match="is a directory"):
        load(tmp_path, {})
    with pytest.raises(UserError, match="cannot read"):
        load(Path("a\0b"), {})
