"""Golden text that is written anew keeps its refusals, but for those that are named."""

import pytest

from tests import cases as asked
from tests.cases import cases, check_answers


@cases(
    "before, now, kept",
    ("Refuted: no", "Refused: too long", False),
    ("a.dpg:1:1: syntax error: x", "accepted", True),
    ("a.dpg:1:1: limit: 100", "accepted", True),
    ("│ Unknown │", "│ DP │", True),
    ("refuted; scope: x", "confirmed", True),
    ("BadProof: x", "OK: each of all", True),
    ("OK: each of all", "2", False),
    ("None", "1/2", True),
    ("a: Unknown\nb: Unknown", "a: DP\nb: Unknown", True),
    ("Not_DP: violated", "DP: holds", True),
    ("  false the least budget", "holds", True),
)
@pytest.mark.parametrize("named", [None, "", "other", "wha"])
def test_what_was_refused_is_not_accepted_in_silence(
    tmp_path, monkeypatch, before, now, kept, named
) -> None:
    monkeypatch.setattr(asked, "GOLDEN", tmp_path)
    monkeypatch.setenv("DIPAPPROX_GOLDEN", "write")
    if named is not None:
        monkeypatch.setenv("DIPAPPROX_ACCEPTED", named)
    file = tmp_path / "some.txt"
    text = f"what\n-----\n{before}\n=====\n"
    file.write_text(text, encoding="utf-8")
    if kept and named != "wha":
        with pytest.raises(AssertionError, match="refused before"):
            check_answers("some", lambda what: f"{now}\n")
        assert file.read_text(encoding="utf-8") == text
    else:
        check_answers("some", lambda what: f"{now}\n")
        assert file.read_text(encoding="utf-8") == text.replace(before, now)
