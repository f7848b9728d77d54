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
    for rewrite in (_reordered, _other_offset, _with_unknown_fields, _with_defaults, _without_prs, _zero_fraction):
        if random.random() < 0.4:
            event = rewrite(random, played, event)
    return event


def other_content(random: Random, played: Played) -> Event:
    """Return an event of the same match_id that says something else, and is valid by itself."""
    event = dict(played.event)
    change = pick(random, (_swapped, _earlier, _other_end, _other_win, *_STAKES.get(played.ruleset, ())))
    return change(random, played, event)


Rewrite = Callable[[Random, Played, Event], Event]


def _reordered(random: Random, _: Played, event: Event) -> Event:
    return dict(shuffled(random, event.items()))


def _other_offset(random: Random, played: Played, event: Event) -> Event:
    offset = timezone(timedelta(minutes=pick(random, _OFFSETS_MINUTES)))
    there = (_EPOCH + timedelta(milliseconds=played.finished_at_ms)).astimezone(offset)
    text = there.isoformat(timespec="milliseconds")
    cut_off = f"{random.getrandbits(16):05d}" if random.random() < 0.3 else ""
    return {**event, "finished_at": f"{text[:-6]}{cut_off}{text[-6:]}"}


def _with_unknown_fields(random: Random, _: Played, event: Event) -> Event:
    return {**event, "server": f"eu-{int(random.random() * 9)}", "trace": {"attempt": 2, "queue": None}}


def _with_defaults(_: Random, __: Played, event: Event) -> Event:
    return {**_DEFAULTS, **event}


def _without_prs(_: Random, __: Played, event: Event) -> Event:
    return {**event, **{side: _without_pr(event[side]) for side in ("winner", "loser")}}


def _without_pr(side: object) -> object:
    return {name: value for name, value in side.items() if name != "pr"} if isinstance(side, dict) else side


def _zero_fraction(_: Random, __: Played, event: Event) -> Event:
    return {name: float(value) if type(value) is int else value for name, value in event.items()}


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


_STAKES: dict[str, tuple[Rewrite, ...]] = {
    "gammon42": (_other_cube,),
    "blitzgammon": (_other_length,),
    "nardeon": (_other_length,),
}
