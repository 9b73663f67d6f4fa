"""Long conversations of developers with agents in which facts are planted, and the judge of what is left of them."""

from tests.planted.conversation import Conversation, Half, conversation
from tests.planted.facts import KINDS, Distractor, Fact, Kind
from tests.planted.scoring import Score, score

__all__ = ["KINDS", "Conversation", "Distractor", "Fact", "Half", "Kind", "Score", "conversation", "score"]
