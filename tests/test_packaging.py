"""What users install and read: the wheel and the source distribution, and the site."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import dipapprox
from tests.cases import HOPELESS

ROOT = Path(__file__).parent.parent
PROGRAMS = sorted(p.relative_to(ROOT / "programs") for p in (ROOT / "programs").rglob("*.d*p*"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A wheel and a source distribution, built from a copy of the tracked files."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    archive = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    for name in archive.stdout.split("\0"):
        if name and (ROOT / name).exists():
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_symlink():
                target.symlink_to((ROOT / name).readlink())
            else:
                target.write_bytes((ROOT / name).read_bytes())
    words = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(source)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=HOPELESS)
    assert done.returncode == 0, done.stderr
    (wheel,) = out.glob("*.whl")
    (sdist,) = out.glob("*.tar.gz")
    return wheel, sdist


def test_the_wheel_has_everything(built) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        names = set(wheel.namelist())
    for path in PROGRAMS:
        assert f"dipapprox/programs/{path.as_posix()}" in names
    for path in (ROOT / "dipapprox").glob("schemas/*.json"):
        assert f"dipapprox/schemas/{path.name}" in names
    for path in (ROOT / "dipapprox").glob("language/tables/*.json"):
        assert f"dipapprox/language/tables/{path.name}" in names
    assert {
        "dipapprox/py.typed",
        "dipapprox/__init__.pyi",
        "dipapprox/templates/svt.dpg",
        "dipapprox/templates/function.py",
    } <= names
    assert {"dipapprox/cli/words.json", "dipapprox/cli/help/verify.txt"} <= names
    assert not any(name.startswith(("tests/", "results/", "programs/")) for name in names)


def test_the_source_distribution_builds_the_same(built) -> None:
    with tarfile.open(built[1]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    for path in PROGRAMS:
        assert f"dipapprox/programs/{path.as_posix()}" in names
    assert {"LICENSE", "README.md", "pyproject.toml", "dipapprox/__main__.py"} <= names
    # Needed by its tests, and by whoever has nothing but the archive.
    for path in ("CHANGELOG.md", "CITATION.cff", "docs/language.md", "tests/cli/running.py"):
        assert path in names
    assert "programs/svt_gauss.dpg" in names


def test_the_installed_wheel_works_alone(built, tmp_path) -> None:
    target = tmp_path / "site"
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    words.append("--no-compile")  # most of it is never used here
    subprocess.run([*words, "--target", str(target), str(built[0])], check=True, timeout=HOPELESS)
    environment = {**os.environ, "PYTHONPATH": str(target)}

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "dipapprox", *more],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=HOPELESS,
        )

    where = subprocess.run(
        [sys.executable, "-c", "import dipapprox; print(dipapprox.__file__)"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert where.stdout.startswith(str(target))
    assert run("examples", "svt_gauss", "--copy", ".").returncode == 0
    verified = run(
        "verify", "svt_gauss.dpg", "--eps", "0.5", "--eps-prv", "1.24", "--delta", "0.01"
    )
    assert verified.returncode == 0, verified.stderr
    assert run("new", "mine").returncode == 0
    assert run("verify", "mine.dpg", "--eps", "1", "--delta", "0.001").returncode == 0


_LOADED = re.compile(
    r'<(?:script|img|iframe)\b[^>]* src="([^"]*)"|<link rel="(?:stylesheet|icon)" href="([^"]*)"'
)


def _loaded(page: str) -> list[str]:
    """The addresses that a page loads scripts, styles and pictures from."""
    return [each[1] or each[2] for each in _LOADED.finditer(page)]


def test_the_site_builds_without_warnings(tmp_path) -> None:
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
