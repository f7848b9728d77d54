"""An event as it was or would be published, judged against what is known as a worker would, without applying it."""

from collections.abc import Mapping
from typing import Any

import orjson

from worker.cli.explain.judged import Judged, Known
from worker.cli.explain.told import Published, Told
from worker.cli.explain.verdicts import tell
from worker.cli.reading import OpenPool
from worker.cli.words import moment, shown_id
from worker.ratings.delivery import Delivery, Source
from worker.ratings.instants import format_instant
from worker.ratings.refusal import Reason
from worker.stream.apply import Progress, Target, decide_all, load
from worker.stream.decode import Decoder

NOT_FROM_KAFKA = Source("?", 0, 0)
"""No topic has this name, so no marker and no outbox entry is ever found for it."""

_FIELDS: Mapping[str, frozenset[str]] = {
    "match-finished": frozenset(("winner", "loser", "finished_at")),
    "match-analyzed": frozenset(("players", "revision", "analyzed_at")),
    "tournament-prize-awarded": frozenset(("tournament_id", "place", "amount", "awarded_at")),
    "identity-linked": frozenset(("anonymous_id", "account_id", "linked_at")),
}
"""What tells the kinds of events apart, by the name of their topic."""
_IDS: Mapping[str, tuple[str, ...]] = {
    "tournament-prize-awarded": ("tournament_id",),
    "identity-linked": ("anonymous_id", "account_id"),
}
"""Fields by which an event can be asked for, where that is not the match_id."""
_BEFORE_ITS_TIME = (Reason.NOT_JSON, Reason.SCHEMA, Reason.UNKNOWN_POOL, Reason.WRONG_RULESET, Reason.SELF_MATCH)
"""Reasons that are looked for before any that goes by the record's timestamp."""


def kind_of(value: bytes) -> str:
    """Return the topic without prefix that an event is most likely for, by its fields; without any, match-finished."""
    fields = _object(value).keys()
    return max(_FIELDS, key=lambda kind: len(_FIELDS[kind] & fields))


async def judge(opened: OpenPool, identifier: str, value: bytes, published: Published) -> Told | str:
    """Return what an event is to what is known; as text, why it is not for this pool and id."""
    kind = kind_of(value)
    topic = opened.settings.topic(kind)
    raw = _object(value)
    if raw.get("pool") != opened.pool.name and raw.get("pool") in list(opened.pools):
        return f"The event is for the pool {raw['pool']}, not {opened.pool.name}: ask for that one."
    names = _IDS.get(kind, ("match_id",))
    found = [raw[name] for name in names if isinstance(raw.get(name), str)]
    if found and identifier not in found:
        return f"The event has the {names[0]} {shown_id(found[0])}, not {shown_id(identifier)}: ask for that one."
    decoded = Decoder(kind, opened.pools).decode(Delivery(NOT_FROM_KAFKA, published.at_ms, None, value))
    target = Target(opened.pool.name, opened.pool, opened.tables, opened.settings.topic_prefix)
    loaded = await load(target, [decoded], Progress(0, {}))
    known = Known(  # deciding puts others in their place
        loaded.records.get(identifier),
        loaded.parked.get(identifier),
        next(iter(loaded.prizes.values()), None),
        dict(loaded.links),
    )
    [cause] = (await decide_all(target, [decoded], loaded, None)).commit.causes
    told = tell(Judged(opened.pool, topic, decoded.event, cause.outcome, known))
    return _with_its_time(told, kind, published)


def _with_its_time(told: Told, kind: str, published: Published) -> Told:
    says = told.says
    if not published.given and told.facts["reason"] not in _BEFORE_ITS_TIME:
        says += (
            f"This goes by now, {moment(published.at_ms)}, as the record's timestamp: with --published-at it is judged "
            "as of when it was published.",
        )
    facts = {"kind": kind, "published_at": format_instant(published.at_ms), "published_at_given": published.given}
    return Told(says, {**facts, **told.facts})


def _object(value: bytes) -> dict[str, Any]:
    try:
        raw = orjson.loads(value)
    except orjson.JSONDecodeError:
        return {}
    return raw if isinstance(raw, dict) else {}
