"""The programs are asked about by the corpus: the claims in them are no tests of their own."""

collect_ignore = ["programs"]
