"""Random questions about real inputs."""

from random import Random

from tests.random_questions import Question


def draw(random: Random) -> Question:
    """Draw one question."""
    raise NotImplementedError
