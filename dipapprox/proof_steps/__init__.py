"""Proofs written: what the kernel reads, made of what the verifier found.

In: programs, claims and answers. Out: the JSON of machines and of proof steps (`kernel`). Nothing
here is believed. Read `machines` first.

What cannot be written, or has no rules, raises `NoCertificate` with what is missing; what the
kernel does not follow raises its `NotProved`, a limit that is reached `LimitReached`.
"""
