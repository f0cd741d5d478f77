"""`dipapprox compose`: what a pipeline of runs costs, and whether it keeps a claim."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from dipapprox.cli import asking, review
from dipapprox.cli.asking import add_parameters, parameters_of
from dipapprox.cli.output import Output, certified, reporting
from dipapprox.errors import UserError
from dipapprox.experiments import pictures
from dipapprox.language.load import read_source, read_text
from dipapprox.privacy.compositions.pipeline import Pipeline, ProgramAt
from dipapprox.privacy.description import ProgramText, text_of
from dipapprox.proof_steps import composed_ends
from dipapprox.questions.pipelines import Compose, composed_program, read_pipeline
from dipapprox.replays import files

_OF_PROGRAMS = ("eps", "times", "subsample")


def add_words(parser: argparse.ArgumentParser) -> None:
    help = "programs (.dpg, .dip, module.py:name, names of examples), or one pipeline (.toml)"
    parser.add_argument("files", nargs="+", type=asking.file, metavar="FILE", help=help)
    add_parameters(parser)
    asking.add_question(parser, Compose, certificate=True, plot="the curve")


def run(words: argparse.Namespace, out: Output) -> int:
    asked = asking.asking_of(words, Compose)
    if asked.plot is not None and asked.question.curve is None:
        raise UserError("--plot draws a curve", "add --curve LO:HI:COUNT")
    described = [] if asked.report is None else _described(words.files)
    pipeline = _pipeline(words.files, parameters_of(words), asked.question)
    with reporting("grids") as reporter:
        found = asked.question.answer(pipeline, asked.options, reporter)
    if asked.plot is not None:
        for chart in found.charts():
            pictures.draw(chart, asked.plot)
    digest = None
    if asked.certificate is not None:
        answer, options = found, asked.options
        found, digest = certified(
            answer,
            asked.certificate,
            lambda: composed_ends.with_proofs(answer, options),
            lambda proved: files.certify_composition(proved, options),
        )
    out.show_answer(found, json=asked.json, why=words.why)
    if asked.report is not None:
        review.refuse_changes(described, _described(words.files))
        listings = [*described, *_programs(pipeline)]
        review.write(asked.report, found, listings, asked.certificate, digest)
    return asking.status_of(found)


def _pipeline(
    files: Sequence[Path], parameters: Mapping[str, Fraction], question: Compose
) -> Pipeline:
    """Read programs, or one file that describes a pipeline."""
    first = files[0]
    if first.suffix.lower() != ".toml":
        sources = [read_source(path, parameters) for path in files]
        return question.pipeline(list(map(composed_program, sources)), list(map(text_of, sources)))
    if len(files) > 1:
        raise UserError("a pipeline is one file", "put all runs into it")
    for name in _OF_PROGRAMS:
        if getattr(question, name) is not None:
            raise UserError(f"--{name} is of programs", f"say it in the runs of '{first}'")
    if parameters:
        raise UserError("-p is of programs", f"say params in the runs of '{first}'")
    return read_pipeline(first, question.adjacency)


def _described(files: Sequence[Path]) -> list[ProgramText]:
    described = [path for path in files if path.suffix.lower() == ".toml"]
    return [ProgramText(path.name, "toml", read_text(path)) for path in described]


def _programs(pipeline: Pipeline) -> list[ProgramText]:
    """Return the texts of the programs of a pipeline, each once."""
    texts = [run.what.text for run in pipeline.runs if isinstance(run.what, ProgramAt)]
    return [*dict.fromkeys(text for text in texts if text is not None)]
