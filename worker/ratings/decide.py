"""One event of a pool, decided on the state that earlier events left."""

from worker.ratings.analysis import decide_analysis
from worker.ratings.delivery import Delivery
from worker.ratings.events import Event, IdentityLinked, TournamentPrizeAwarded
from worker.ratings.link import decide_link
from worker.ratings.match import decide_match
from worker.ratings.outcome import Outcome
from worker.ratings.prize import decide_prize
from worker.ratings.state import State
from worker.rules.match import MatchFinished
from worker.rules.ruleset import Ruleset


def decide(rules: Ruleset, event: Event, delivery: Delivery, state: State) -> Outcome:
    """Return what the event does, and let later events of the batch see it."""
    if isinstance(event, MatchFinished):
        outcome = decide_match(rules, event, delivery, state)
    elif isinstance(event, TournamentPrizeAwarded):
        outcome = decide_prize(rules, event, delivery, state)
    elif isinstance(event, IdentityLinked):
        outcome = decide_link(rules, event, delivery, state)
    else:
        outcome = decide_analysis(rules, event, delivery, state)
    state.apply(outcome)
    return outcome
