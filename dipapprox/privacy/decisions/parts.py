"""Independent parts: decided by the inequalities of outputs that are counted together.

The pairs of a product are few kinds (`products.layout`), and the outputs of each kind that have
equal probabilities are one output (`products`). What is decided about these is decided about
the program: for δ = 0 an inequality of n equal outputs is n times that of one, and for δ > 0 some
worst set of outputs holds all of n equal ones or none.
"""

from __future__ import annotations

from dipapprox.data_classes import replace
from dipapprox.errors import LimitReached
from dipapprox.limits import Limits, silent
from dipapprox.pairs.products.layout import Layout
from dipapprox.pairs.products.source import ProductProgram
from dipapprox.pairs.selections import Pair, PairSelection, one_by_one
from dipapprox.privacy.decisions.decision import Open, Violation
from dipapprox.privacy.decisions.divergences import Functions, exponential_factor
from dipapprox.privacy.decisions.outside import violation_at
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.decisions.search import Violated
from dipapprox.privacy.decisions.signs import check_program
from dipapprox.privacy.products import ExactProduct
from dipapprox.privacy.run import Setting


class CountedParts:
    """The pairs of a product for a decision, under names that are no inputs.

    Attributes:
        names: Pairs of names that stand for all selected pairs, whose numbers are not told.

    Raises:
        UserError: If a choice is no probability distribution somewhere on the interval.
    """

    def __init__(
        self,
        product: ProductProgram,
        question: DecisionQuestion,
        selection: PairSelection,
        limits: Limits,
    ) -> None:
        for states in product.states:
            check_program(states, question.epsilons, limits)
        self._question = question
        self._exact = ExactProduct(product, None, limits)
        candidates = Layout(product, selection, limits).candidates(self._exact.kind_of)
        if self._exact.obstacle is not None:
            raise LimitReached(self._exact.obstacle.reason)
        self.names = list(one_by_one(self._exact.name(each.pair) for each in candidates))
        self.functions = Functions(self._exact, exponential_factor(question.budget))

    def opened(self, inequality: Open) -> Open:
        """Return an open inequality with its inputs; its outputs are too many to be named."""
        return replace(inequality, pair=self.pair(inequality.pair), outputs=())

    def pair(self, names: Pair) -> Pair:
        """Return inputs behind a pair of names."""
        return self._exact.pair(names)

    def certified(self, found: Violated, setting: Setting) -> Violation:
        """Show a violation with outputs; without them where enclosures do not show it."""
        setting = replace(setting, progress=silent)
        violation = violation_at(setting, self._question, found.eps)
        if violation is not None:
            return violation
        pair = self.pair(found.divergence.pair)
        reason = (
            "by the sign of an exact form; of the outputs only the number of equal ones is known"
        )
        return Violation(*pair, (), found.eps, not_enclosed=reason)
