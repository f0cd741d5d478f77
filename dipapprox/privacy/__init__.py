"""Answers: a program and a claim in, what is proved of it out.

In: core programs, claims, options. Out: verdicts, profiles, decisions, compositions as frozen data,
with what people and JSON are told. What may take long raises `LimitReached` where limits end. Read
`verifier` first, then `run`, `verdict`, `result` and `description`; other questions have folders:
`profiles`, `decisions`, `intervals`, `compositions`.
"""
