"""The documentation builds as a site, without warnings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.waiting import HOPELESS

ROOT = Path(__file__).parent.parent


def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(
        [*words, "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HOPELESS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    built = {p.name for p in (tmp_path / "site").iterdir() if p.is_dir()} | {"index"}
    assert pages <= built
    first = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert '<span class="kd">input' in first, "programs are highlighted"
    pictures = {path.name for path in (ROOT / "docs" / "pictures").iterdir()}
    assert pictures <= {path.name for path in (tmp_path / "site" / "pictures").iterdir()}
