"""What PR analyses did to a BlitzGammon match, or may still do, in words."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from worker.cli.explain.blitzgammon import half, loss, not_owed, points, share
from worker.cli.words import count, moment, plus, shown_id, signed
from worker.ratings.instants import format_instant
from worker.ratings.rows import Exchange, Exchanged, Prs, RatedRecord
from worker.rules.blitzgammon import BlitzGammon


class Settlement(NamedTuple):
    """Sentences about what settled a match, one a line. `as_set_now` is false where other settings were in force."""

    says: tuple[str, ...]
    as_set_now: bool


class _Stood(NamedTuple):
    """What an exchange found: by which revision the match stood, halved or not, and what it had moved both by."""

    revision: int | None
    halved: bool
    winner: int
    loser: int


def settlement(rules: BlitzGammon, rated: RatedRecord, now_ms: int) -> Settlement:
    """Return what the analyses did to a match that have come, or that it awaits one at `now_ms`, and what stands."""
    exchanged = [_exchange(rules, rated, exchange, stood) for exchange, stood in _history(rated)]
    lines = [*_when_it_came(rules, rated, now_ms)]
    if rated.exchanges_left_out:
        lines.append(
            f"What came of {count(rated.exchanges_left_out, 'analysis', 'analyses')} before revision "
            f"{rated.exchanges[0].revision} is left out here: only the newest {len(rated.exchanges)} are kept."
        )
    lines += [line for exchange in exchanged for line in exchange.says]
    lines += [*_whether_final(rated, now_ms), _standing(rated)]
    return Settlement(tuple(lines), all(exchange.as_set_now for exchange in exchanged))


def as_json(rated: RatedRecord, now_ms: int) -> dict[str, Any]:
    """Return the same for programs; `prs` are the winner's and the loser's, `final` as of `now_ms`."""
    return {
        "revision": rated.revision,
        "halved": rated.halved,
        "final": rated.revision is not None or now_ms > rated.settles_by_ms,
        "settles_by": format_instant(rated.settles_by_ms),
        "came_with": {
            "revision": rated.winner.terms["revision"],
            "halved": rated.winner.terms["halved"],
            "prs": None if rated.prs is None else list(rated.prs),
        },
        "exchanges_left_out": rated.exchanges_left_out,
        "exchanges": [
            {
                "revision": exchange.revision,
                "halved": exchange.halved,
                "prs": list(exchange.prs),
                "analyzed_at": format_instant(exchange.analyzed_at_ms),
                "players": [
                    {
                        "player_id": side.player_id,
                        "before": moved.before,
                        "change": moved.after - moved.before,
                        "after": moved.after,
                        "floored_by": moved.floored_by,
                    }
                    for side, moved in ((rated.winner, exchange.winner), (rated.loser, exchange.loser))
                ],
            }
            for exchange in rated.exchanges
        ],
    }


def _when_it_came(rules: BlitzGammon, rated: RatedRecord, now_ms: int) -> Iterator[str]:
    winner = shown_id(rated.winner.player_id)
    if rated.revision is None:
        if now_ms <= rated.settles_by_ms:
            awaited = f"A PR analysis is awaited until {moment(rated.settles_by_ms)}"
            worse = f"if it says that {winner} played worse, the change counts {share(rules)}"
            yield f"{awaited}; {worse}. Until then it is not final."
        else:
            yield f"No PR analysis came by {moment(rated.settles_by_ms)}, so the full change stands and is final."
        return
    revision = rated.winner.terms["revision"]
    if revision is None:
        yield "When the match came, there was no PR analysis of it yet, so it was rated with the full change at first."
        return
    came = "The PRs came with the match" if revision == 0 else f"PR analysis revision {revision} was there before it"
    verdict = _verdict(rated, rated.prs, share(rules) if rated.winner.terms["halved"] else None)
    yield f"{came}: {verdict}."


def _history(rated: RatedRecord) -> Iterator[tuple[Exchange, _Stood]]:
    """Yield each exchange with what it found, oldest first: what stands now, less what was moved from there on."""
    winner, loser = int(rated.winner.standing), int(rated.loser.standing)
    for exchange in rated.exchanges:
        winner -= _moved(exchange.winner)
        loser -= _moved(exchange.loser)
    terms = rated.winner.terms
    revision = None if rated.exchanges_left_out else terms["revision"]
    stood = _Stood(revision if isinstance(revision, int) else None, bool(terms["halved"]), winner, loser)
    for exchange in rated.exchanges:
        yield exchange, stood
        stood = _Stood(
            exchange.revision,
            exchange.halved,
            stood.winner + _moved(exchange.winner),
            stood.loser + _moved(exchange.loser),
        )


def _exchange(rules: BlitzGammon, rated: RatedRecord, exchange: Exchange, stood: _Stood) -> Settlement:
    raw = rated.raw_change or 0.0
    won, lost = _target(exchange.winner, stood.winner), _target(exchange.loser, stood.loser)
    winner_before, loser_before = int(rated.winner.before), int(rated.loser.before)
    now = rules.settle(raw, winner_before, loser_before, halved=exchange.halved)
    as_set_now = (now.winner_after, now.loser_after) == (winner_before + won, loser_before + lost)
    if as_set_now:
        hundredths = rules.change_hundredths(raw, halved=exchange.halved)
        by_won = f"{winner_before} + {points(hundredths)}, rounded to {now.winner_after}, makes"
        by_lost = loss(rules, loser_before, hundredths, now.loser_after, now.loser_floored_by)
        by_lost += ", which makes" if now.loser_floored_by else ", makes"
    else:
        by_won = by_lost = "by the settings of then the match makes"
    counted = half(rules, raw) if as_set_now else share(rules)
    verdict = _verdict(rated, exchange.prs, counted if exchange.halved else None)
    analysis = f"PR analysis revision {exchange.revision}, made at {moment(exchange.analyzed_at_ms)},"
    winner, loser = shown_id(rated.winner.player_id), shown_id(rated.loser.player_id)
    says = (
        f"{analysis} settled it after it had been rated: {verdict}.{_replaced(rules, exchange, stood)}",
        _side(rules, winner, f"{winner}: {by_won} {signed(won)}", won, stood.winner, exchange.winner),
        _side(rules, loser, f"{loser}: {by_lost} {signed(lost)}", lost, stood.loser, exchange.loser),
    )
    return Settlement(says, as_set_now)


def _replaced(rules: BlitzGammon, exchange: Exchange, stood: _Stood) -> str:
    if stood.revision is None:
        return ""
    replaced = "the PRs that came with the match" if stood.revision == 0 else f"revision {stood.revision}"
    if exchange.halved == stood.halved:
        return f" It takes the place of {replaced}, which came to the same."
    return f" It overturns {replaced}, by which the change counted {share(rules) if stood.halved else 'in full'}."


def _side(rules: BlitzGammon, name: str, target_says: str, target: int, stood: int, moved: Exchanged) -> str:
    """Return what an exchange did to a player; in between the player may have played on."""
    before, after, floored_by = int(moved.before), int(moved.after), moved.floored_by
    if target == stood and not floored_by:
        return f"{target_says}, as before, so {name} stayed at {before}."
    wanted = f"{target_says} instead of {signed(stood)}, so {signed(target - stood)}"
    if not floored_by:
        return f"{wanted} went to the rating {name} had by then: {before} {plus(after - before)} = {after}."
    return (
        f"{wanted} was due on the rating {name} had by then, {before}, but nobody falls below {rules.floor}: "
        f"{before} {plus(after - before)} = {after}. {not_owed(floored_by)}"
    )


def _verdict(rated: RatedRecord, prs: Prs | None, counted: str | None) -> str:
    """Return what PRs say; `counted` is how much a halved change counts, None for a full one."""
    winner, loser = shown_id(rated.winner.player_id), shown_id(rated.loser.player_id)
    if prs is None:
        known = "played worse" if counted else "did not play worse"
        return f"{winner} won and {known} by PR, so {_counts(counted)}"
    if None in prs:
        missing = " and ".join(name for name, pr in zip((winner, loser), prs, strict=True) if pr is None)
        return f"it has no PR for {missing}, so {_counts(counted)}"
    won, lost = (shown_pr(pr) for pr in prs if pr is not None)
    if prs[0] == prs[1]:
        return f"{winner} and {loser} both played with a PR of {won}, and a tie keeps the full change"
    by = f"by PR ({won} against {lost}; lower is better)"
    played = f"{winner} won, but played worse" if counted else f"{winner} played better"
    return f"{played} than {loser} {by}, so {_counts(counted)}"


def _counts(counted: str | None) -> str:
    return f"the change counts {counted}" if counted else "the full change counts"


def shown_pr(pr: float) -> str:
    """Return a PR unrounded, for PRs are compared unrounded: `4`, `9.25`."""
    return repr(pr).removesuffix(".0")


def _whether_final(rated: RatedRecord, now_ms: int) -> Iterator[str]:
    until = moment(rated.settles_by_ms)
    if rated.revision is not None and now_ms <= rated.settles_by_ms:
        further = f"a higher revision than {rated.revision} of the analysis" if rated.revision else "a PR analysis"
        yield f"This is final, unless {further} is published by {until}."
    elif rated.revision is not None:
        yield f"This is final: analyses of it counted until {until}."


def _standing(rated: RatedRecord) -> str:
    winner, loser = rated.winner, rated.loser
    return (
        f"In all, this match has moved {shown_id(winner.player_id)} by {signed(winner.standing)} "
        f"and {shown_id(loser.player_id)} by {signed(loser.standing)}."
    )


def _moved(side: Exchanged) -> int:
    return int(side.after) - int(side.before)


def _target(side: Exchanged, stood: int) -> int:
    """Return what the match was to have moved a player by after an exchange that found it at `stood`."""
    return stood + _moved(side) - side.floored_by
