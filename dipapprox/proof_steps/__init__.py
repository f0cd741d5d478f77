"""Proofs written: what the kernel reads, made of what the verifier found.

In: programs, claims and answers. Out: the JSON of machines and of proof steps (`kernel`). Nothing
here is believed. Read `machines` first.
"""
