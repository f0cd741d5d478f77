"""Three small programs in the current directory."""

from pathlib import Path

import pytest

SVT = """
param N = 2
input q[N] in {0, 1}
output out[N] in {0, 1}
adjacent linf 1
for i in 1..N do
    out[i] <- 0
end
rT <- Gauss(0, 2 / eps)
for i in 1..N do
    r <- Gauss(q[i], 4 / eps)
    if r >= rT then
        out[i] <- 1
        exit
    end
end
"""

SIGNED = """
input q[2] in {-1, 0}
output out in {bot, top}
adjacent all
x <- Lap(q[1], 1 / eps)
y <- Lap(q[2], 1 / eps)
out <- bot
if x < y then out <- top end
"""

COIN = """
input q in {0, 1}
output out in {0, 1}
adjacent all
out <- 0
x <- Gauss(0, 1 / eps)
y <- Gauss(0, 1 / eps)
if q = 1 and x < y then out <- 1 end
"""
"""At budget 0 both deltas are exactly 1/2."""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write svt.dpg, signed.dpg and coin.dpg into an empty current directory."""
    (tmp_path / "svt.dpg").write_text(SVT)
    (tmp_path / "signed.dpg").write_text(SIGNED)
    (tmp_path / "coin.dpg").write_text(COIN)
    monkeypatch.chdir(tmp_path)
    return tmp_path
