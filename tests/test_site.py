"""The documentation builds as a site, without warnings."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import dipapprox
from tests.waiting import HOPELESS

ROOT = Path(__file__).parent.parent


_LOADED = re.compile(
    r'<(?:script|img|iframe)\b[^>]* src="([^"]*)"|<link rel="(?:stylesheet|icon)" href="([^"]*)"'
)


def _loaded(page: str) -> list[str]:
    """The addresses that a page loads scripts, styles and pictures from."""
    return [each[1] or each[2] for each in _LOADED.finditer(page)]


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
    for name in ("verify", "profile", "prove"):  # which are overloaded
        section = reference.partition(f'id="dipapprox.{name}"')[2].partition("<h3")[0]
        assert section.count(f'<span class="nf">{name}</span>') == 1
    assert "search_index.js" in {path.name for path in (site / "search").iterdir()}, "offline"
    for page in set(site.rglob("*.html")) - {site / "404.html"}:  # that is for servers
        for source in _loaded(page.read_text(encoding="utf-8")):
            assert "//" not in source, f"{page.name} asks another host: {source}"
            assert (page.parent / source.split("?")[0]).exists(), f"{page.name}: no {source}"
    assert "assets/iframe-worker.js" in _loaded(first), "search runs in a page from a file"
    program = (site / "programs" / "svt_gauss.html").read_text(encoding="utf-8")
    assert '<span class="kd">input' in program, "the cookbook leads to programs"
    session = (site / "certificates.html").read_text(encoding="utf-8")
    assert re.search(r'<span id="__line-\d+-1"><span class="gp">\$ </span>', session)
    assert re.search(r'<span id="__line-\d+-2"><span class="go">', session), (
        "a copy can leave it out"
    )
