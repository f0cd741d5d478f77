"""Files of proofs: written for verdicts that the kernel has replayed, replayed again by `check`.

In: a program, its text and a verdict; or the JSON of a file. Out: the file; or what the kernel says
of it. Read `files` first. What is trusted: the kernel, json, and that the elaborator says which
machine a text means.

A text that is not that of a program, and an answer without a proof, are a `UserError`; so are files
that are malformed, which the readers of fields tell by the kernel's `BadProof`.
"""
