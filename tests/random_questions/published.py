"""Random questions about published numbers."""

from random import Random

from tests.random_questions import Question


def draw(random: Random) -> Question:
    """Draw one question."""
    raise NotImplementedError
