"""The documentation builds as a site, without warnings."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import dipapprox
from tests.waiting import HOPELESS

ROOT = Path(__file__).parent.parent


def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    done = subprocess.run(
        [*words, "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HOPELESS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    site = tmp_path / "site"
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert pages <= {path.stem for path in site.glob("*.html")}
    first = (site / "index.html").read_text(encoding="utf-8")
    assert '<span class="kd">input' in first, "programs are highlighted"
    pictures = {path.name for path in (ROOT / "docs" / "pictures").iterdir()}
    assert pictures <= {path.name for path in (site / "pictures").iterdir()}
    theory = (site / "how-it-works.html").read_text(encoding="utf-8")
    assert theory.count("<math") >= 16, "formulas are drawn"
    assert "\\frac" not in theory, "none is left as LaTeX"
    reference = (site / "reference.html").read_text(encoding="utf-8")
    for name in dipapprox.__all__:
        assert f'id="dipapprox.{name}"' in reference
    assert "search_index.js" in {path.name for path in (site / "search").iterdir()}, "offline"
    session = (site / "certificates.html").read_text(encoding="utf-8")
    assert re.search(r'<span id="__line-\d+-1"><span class="gp">\$ </span>', session)
    assert re.search(r'<span id="__line-\d+-2"><span class="go">', session), (
        "a copy can leave it out"
    )
