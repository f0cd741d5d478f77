"""Three small programs in the current directory."""

from pathlib import Path

import pytest

from tests.cases import text_of

SVT = text_of("asked/svt-1")
SIGNED = text_of("asked/signed-1")
COIN = text_of("asked/coin-1")
"""At budget 0 both deltas are exactly 1/2."""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write svt.dpg, signed.dpg and coin.dpg into an empty current directory."""
    (tmp_path / "svt.dpg").write_text(SVT)
    (tmp_path / "signed.dpg").write_text(SIGNED)
    (tmp_path / "coin.dpg").write_text(COIN)
    monkeypatch.chdir(tmp_path)
    return tmp_path
