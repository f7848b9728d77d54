"""A match published again: as a duplicate with the same content, or in conflict with what it said before."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from random import Random

from worker.cli.simulation.chance import pick, shuffled
from worker.cli.simulation.platforms import Event, Played
from worker.cli.simulation.scenario import MINUTE_MS
from worker.ratings.instants import format_instant

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSETS_MINUTES = (0, 60, 180, 210, 330, 345, -180, -300, -570, 840)
_DEFAULTS: Event = {"elo_enabled": False, "same_network": False, "end_reason": "completed"}


def same_content(random: Random, played: Played) -> Event:
    """Return the event as another publisher would write the same content: what differs is no part of it."""
    event = dict(played.event)
    elsewhere = _in_another_zone(played)
    for rewrite in (_reordered, elsewhere, _with_unknown_fields, _with_defaults, _without_prs, _zero_fraction):
        if random.random() < 0.4:
            event = rewrite(random, event)
    return event


def same_fact(random: Random, event: Event, instant_field: str, instant_ms: int) -> Event:
    """Return a prize or link as another publisher would write it: its instant is no part of it either."""
    event = dict(event)
    if random.random() < 0.3:
        event[instant_field] = format_instant(instant_ms + int(random.random() * MINUTE_MS))
    elif random.random() < 0.5:
        event[instant_field] = _elsewhere(random, instant_ms)
    for rewrite in _OF_ANY_EVENT:
        if random.random() < 0.4:
            event = rewrite(random, event)
    return event


def other_content(random: Random, played: Played) -> Event:
    """Return an event of the same match_id that says something else, and is valid by itself."""
    event = dict(played.event)
    change = pick(random, (_swapped, _earlier, _other_end, _other_win, *_STAKES.get(played.ruleset, ())))
    return change(random, played, event)


Rewrite = Callable[[Random, Event], Event]
Change = Callable[[Random, Played, Event], Event]


def _in_another_zone(played: Played) -> Rewrite:
    return lambda random, event: {**event, "finished_at": _elsewhere(random, played.finished_at_ms)}


def _reordered(random: Random, event: Event) -> Event:
    return dict(shuffled(random, event.items()))


def _elsewhere(random: Random, instant_ms: int) -> str:
    """Return an instant as a server in another time zone writes it, perhaps finer than a millisecond."""
    offset = timezone(timedelta(minutes=pick(random, _OFFSETS_MINUTES)))
    there = (_EPOCH + timedelta(milliseconds=instant_ms)).astimezone(offset)
    text = there.isoformat(timespec="milliseconds")
    cut_off = f"{random.getrandbits(16):05d}" if random.random() < 0.3 else ""
    return f"{text[:-6]}{cut_off}{text[-6:]}"


def _with_unknown_fields(random: Random, event: Event) -> Event:
    return {**event, "server": f"eu-{int(random.random() * 9)}", "trace": {"attempt": 2, "queue": None}}


def _with_defaults(_: Random, event: Event) -> Event:
    return {**_DEFAULTS, **event}


def _without_prs(_: Random, event: Event) -> Event:
    return {**event, **{side: _without_pr(event[side]) for side in ("winner", "loser")}}


def _without_pr(side: object) -> object:
    return {name: value for name, value in side.items() if name != "pr"} if isinstance(side, dict) else side


def _zero_fraction(_: Random, event: Event) -> Event:
    return {name: float(value) if type(value) is int else value for name, value in event.items()}


_OF_ANY_EVENT: tuple[Rewrite, ...] = (_reordered, _with_unknown_fields, _zero_fraction)


def _swapped(_: Random, __: Played, event: Event) -> Event:
    return {**event, "winner": event["loser"], "loser": event["winner"]}


def _earlier(random: Random, played: Played, event: Event) -> Event:
    return {**event, "finished_at": format_instant(played.finished_at_ms - 1 - int(random.random() * 30 * MINUTE_MS))}


def _other_end(_: Random, __: Played, event: Event) -> Event:
    return {**event, "end_reason": "timed_out" if event.get("end_reason") != "timed_out" else "left"}


def _other_win(_: Random, __: Played, event: Event) -> Event:
    return {**event, "win_type": "gammon" if event.get("win_type") != "gammon" else "single"}


def _other_cube(_: Random, __: Played, event: Event) -> Event:
    return {**event, "cube": 2 if event.get("cube") != 2 else 4}


def _other_length(_: Random, __: Played, event: Event) -> Event:
    return {**event, "length": 5 if event.get("length") != 5 else 7}


_STAKES: dict[str, tuple[Change, ...]] = {
    "gammon42": (_other_cube,),
    "blitzgammon": (_other_length,),
    "nardeon": (_other_length,),
}
