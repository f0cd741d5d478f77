"""An answer as a page to hand to a reviewer: one HTML file that needs nothing else.

description, pictures, program texts, certificate  →  `page`  →  HTML

The answer is the description that terminals show (`description`); nothing is derived again. The
page fetches nothing, runs nothing, follows the reader's light or dark setting, fits a telephone,
and prints in black on white.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape as escaped

from dipapprox.data_classes import dataclass
from dipapprox.highlighting import highlighted
from dipapprox.language.load import DPG
from dipapprox.privacy.charts import STYLE, Chart, figure
from dipapprox.privacy.description import Description, Table
from dipapprox.privacy.layouts import html

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


@dataclass(frozen=True, slots=True)
class Listing:
    """A text that the answer is about.

    Attributes:
        name: Of the program or pipeline.
        language: "dpg", or another, which is shown without colours.
    """

    name: str
    language: str
    text: str


@dataclass(frozen=True, slots=True)
class WrittenCertificate:
    """A certificate that was written: the name of its file, if it is known, and its digest."""

    file: str | None
    digest: str


def page(
    description: Description,
    charts: Sequence[Chart],
    listings: Sequence[Listing],
    certificate: WrittenCertificate | None,
    version: str,
) -> str:
    """Write an answer as an HTML page.

    Args:
        listings: The programs as they were read.
        certificate: The one that was written with it; None for none.
    """
    return "".join(_page(description, charts, listings, certificate, version))


def _page(
    description: Description,
    charts: Sequence[Chart],
    listings: Sequence[Listing],
    certificate: WrittenCertificate | None,
    version: str,
) -> Iterator[str]:
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
