"""Pages from Python: the answer, and with its own certificate the program."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import dipapprox
from dipapprox.errors import UserError

ROOT = Path(__file__).parent.parent.parent
SVT = ROOT / "programs" / "svt_gauss.dpg"
TEXT = SVT.read_text(encoding="utf-8")


def test_an_answer_writes_its_page(tmp_path: Path) -> None:
    program = dipapprox.parse(SVT)
    verdict = dipapprox.verify(program, eps=Fraction(1, 2), eps_prv="1/10", delta="1/100")
    certificate = dipapprox.certify(program, TEXT, verdict)
    out = tmp_path / "svt.html"
    verdict.report(out, certificate)
    shown = out.read_text(encoding="utf-8")
    assert "the claim is violated" in shown and str(certificate.fields["digest"]) in shown
    assert "rT" in shown and "dipapprox check FILE" in shown and "<figure>" in shown
    before = out.read_bytes()
    with pytest.raises(UserError, match="exists already"):
        verdict.report(out)
    assert out.read_bytes() == before
    verdict.report(str(tmp_path / "alone.html"))
    assert "digest" not in (tmp_path / "alone.html").read_text(encoding="utf-8")


def test_only_its_own_certificate_goes_with_an_answer(tmp_path: Path) -> None:
    program = dipapprox.parse(SVT)
    asked = {"eps": Fraction(1, 2), "delta": "1/100"}
    verdict = dipapprox.verify(program, eps_prv="1/10", **asked)  # type: ignore[arg-type]
    certificate = dipapprox.certify(program, TEXT, verdict)
    larger = dipapprox.parse(SVT, {"N": 3})
    for other in (
        dipapprox.verify(program, eps_prv="1/11", **asked),  # type: ignore[arg-type]
        dipapprox.verify(larger, eps_prv="1/10", **asked),  # type: ignore[arg-type]
        dipapprox.verify(program, eps_prv="2", **asked),  # type: ignore[arg-type]
    ):
        with pytest.raises(UserError, match="certificate of another answer"):
            other.report(tmp_path / "x.html", certificate)
    with pytest.raises(UserError, match="must be a Certificate"):
        verdict.report(tmp_path / "x.html", "svt.json")  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"cannot write 'x\.pdf'"):
        verdict.report(tmp_path / "x.pdf")
    assert not list(tmp_path.iterdir())


def test_decisions_and_profiles_have_pages(tmp_path: Path) -> None:
    path = ROOT / "programs" / "dipc" / "svt1.dpg"
    program, text = dipapprox.parse(path), path.read_text(encoding="utf-8")
    decision = dipapprox.decide(program)
    decision.report(tmp_path / "decision.html", dipapprox.certify(program, text, decision))
    least = dipapprox.profile(program, eps=1, eps_prv="1/2")
    least.report(tmp_path / "least.html")
    assert "least δ for ε_prv = 1/2" in (tmp_path / "least.html").read_text(encoding="utf-8")
