"""An answer as a page to hand to a reviewer: one HTML file that needs nothing else.

description, pictures, program texts, certificate  →  `page`  →  HTML

The answer is the description that terminals show (`description`); nothing is derived again. The
page fetches nothing, runs nothing, follows the reader's light or dark setting, fits a telephone,
and prints in black on white.

From Python, `answer.report("out.html")` writes it to a file that was not there before. A
certificate brings the text of the program along, and `certify` has made sure that it is the text of
what the answer is about; without one the page has the answer and its pictures alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from html import escape as escaped
from pathlib import Path

from dipapprox.data_classes import Record
from dipapprox.errors import UserError, shorten
from dipapprox.highlighting import highlighted
from dipapprox.language.load import DPG
from dipapprox.privacy.charts import STYLE, Chart, figure, file_to_write
from dipapprox.privacy.description import Certificate, Description, ProgramText, Table, html
from dipapprox.version import VERSION

_STYLE = """
:root{color-scheme:light dark;--ink:#1b1b1b;--paper:#fff;--soft:#f4f4f2;--line:#ccc;--tone:#555;
--word:#0550ae;--note:#5f6b66;--number:#953800;--name:#6639ba}
@media(prefers-color-scheme:dark){:root{--ink:#e8e8e8;--paper:#16181a;--soft:#202326;--line:#444;
--word:#79c0ff;--note:#9aa5a0;--number:#ffa657;--name:#d2a8ff}}
body{max-width:58rem;margin:0 auto;padding:1.2rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}
.answer{border-left:.4rem solid var(--tone);padding-left:1rem;overflow-x:auto}
.holds{--tone:#009e73}.fails{--tone:#d55e00}.open{--tone:#e69f00}
.answer b{color:var(--tone)}
table{border-collapse:collapse;margin:.6rem 0}caption{text-align:left;font-weight:600}
th,td{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0;
border-bottom:1px solid var(--line)}
td{white-space:pre-line;overflow-wrap:break-word}
th{font-weight:600;white-space:nowrap}
pre{background:var(--soft);padding:.8rem;overflow-x:auto;font:14px/1.45 ui-monospace,monospace}
code{font-family:ui-monospace,monospace;overflow-wrap:anywhere}
.k,.kd,.kc,.kp,.ow{color:var(--word)}.c1{color:var(--note);font-style:italic}.m{color:var(--number)}
.nb,.vm{color:var(--name)}
figure{margin:1.5rem 0}figure svg{width:100%;max-width:36rem;height:auto;display:block}
figcaption{font-weight:600;margin-bottom:.4rem}figcaption small{font-weight:400}
@media(max-width:36rem){body{padding:.7rem}.answer{padding-left:.6rem}th{white-space:normal}}
@media print{:root{--ink:#000;--paper:#fff;--soft:#fff;--line:#999;--word:#000;--note:#444;
--number:#000;--name:#000}body{max-width:none;padding:0;font-size:11pt}
pre{white-space:pre-wrap;border:1px solid var(--line)}figure,tr{break-inside:avoid}
.answer{overflow:visible}}
"""


class WrittenCertificate(Record):
    """A certificate that was written: the name of its file, if it is known, and its digest."""

    file: str | None
    digest: str


def page(
    description: Description,
    charts: Sequence[Chart],
    listings: Sequence[ProgramText],
    certificate: WrittenCertificate | None,
    version: str,
) -> Iterator[str]:
    """Yield an answer as an HTML page, piece by piece; `listings` are texts that it is about."""
    title = escaped(_title(description))
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f'<meta name="generator" content="dipapprox {escaped(version)}">'
    yield f"<title>{title}</title><style>{_STYLE}{STYLE}</style></head>\n<body><main>"
    yield f"<h1>{title}</h1>\n"
    yield f'<section class="answer {description.tone.value}">{html(description)}</section>\n'
    for chart in charts:
        yield f"{figure(chart)}\n"
    for listing in listings:
        shown = highlighted(listing.text) if listing.language == DPG else escaped(listing.text)
        yield f"<h2>{escaped(listing.name)}</h2>\n<pre><code>{shown}</code></pre>\n"
    if certificate is not None:
        file = escaped(certificate.file or "FILE")
        named = "" if certificate.file is None else f"<code>{file}</code>, "
        yield f"<h2>Certificate</h2>\n<p>{named}digest "
        yield f"<code>{escaped(certificate.digest)}</code>.</p>\n<p>To have its proof replayed, "
        yield "compare the digest with the one in the file, then run</p>\n"
        yield f"<pre><code>dipapprox check {file}</code></pre>\n"
    yield f"<p><small>Written by dipapprox {escaped(version)}. DP and Not_DP are proved; what is "
    yield "not decided is Unknown, with the reason. Pictures are rounded.</small></p>"
    yield "</main></body></html>\n"


def _title(description: Description) -> str:
    """Return what an answer is called: its headline, or the title of its first table."""
    titles = (each.title for each in description.below if isinstance(each, Table))
    return description.headline or next(filter(None, titles), description.label)


SUFFIX = ".html"
_WORDS = ("verdict", "params")
_NUMBERS = ("eps", "eps_prv", "delta", "budget")
"""What a certificate and its answer both say; the latter are in the claim."""


def write_report(
    description: Description,
    charts: Sequence[Chart],
    said: Mapping[str, object],
    path: str | Path,
    certificate: Certificate | None,
) -> None:
    """Write an answer, whose JSON object has the fields `said`, as a page; see `Result.report`."""
    file = file_to_write(path, SUFFIX)
    listings, signed = _of_certificate(said, certificate)
    text = "".join(page(description, charts, listings, signed, VERSION))
    write_new(file, text)


def write_new(path: Path, text: str) -> None:
    """Write a text file; a `UserError` if it is there already, or cannot be written."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UserError(f"'{path}' exists already", "choose another name") from None
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror}") from None


def _of_certificate(
    said: Mapping[str, object], certificate: Certificate | None
) -> tuple[tuple[ProgramText, ...], WrittenCertificate | None]:
    if certificate is None:
        return (), None
    if not isinstance(getattr(certificate, "fields", None), Mapping):
        given = shorten(repr(certificate))
        hint = "dipapprox.certify(program, text, verdict) makes one"
        raise UserError(f"certificate must be a Certificate, got {given}", hint)
    fields = certificate.fields
    program, claim = fields.get("program"), fields.get("claim")
    if not isinstance(program, Mapping):
        raise UserError("certificate: it is about several programs", "leave it out")
    numbers = claim if isinstance(claim, Mapping) else {}
    stated = {"program": program["name"], **{name: fields.get(name) for name in _WORDS}}
    same = all(value in (None, said.get(name, value)) for name, value in stated.items())
    if not same or any(_differ(numbers.get(name), said.get(name)) for name in _NUMBERS):
        raise UserError("certificate: it is the certificate of another answer")
    language = str(program.get("language", DPG))
    listing = ProgramText(str(program["name"]), language, str(program["text"]))
    return (listing,), WrittenCertificate(None, str(fields["digest"]))


def _differ(one: object, other: object) -> bool:
    """Whether two texts are different numbers; formulas may be written in several ways."""
    try:
        return Fraction(str(one)) != Fraction(str(other))
    except ValueError:
        return False
