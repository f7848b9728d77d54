"""What an analysis is to what is known, in words, where it is not refused."""

from worker.cli.explain.exclusions import why_excluded
from worker.cli.explain.judged import NOTHING, Judged
from worker.cli.words import moment, shown_id
from worker.ratings.events import MatchAnalyzed
from worker.ratings.outcome import Kind


def says(judged: Judged, analysis: MatchAnalyzed) -> list[str]:
    """Return what an analysis would do to its match, or that it would wait for it."""
    name, kind, record = shown_id(analysis.match_id), judged.outcome.kind, judged.known.record
    about = f"Revision {analysis.revision} of the analysis of {name}"
    if record is None or record.rated is None or kind is Kind.IGNORED:
        return _without_rated_match(judged, about, name)
    rated = record.rated
    stands = "the PRs that came with the match" if rated.revision == 0 else f"revision {rated.revision}"
    if kind is Kind.DUPLICATE:
        return [
            f"{about} is a duplicate: the match stands by {stands}, which is not lower. {NOTHING}",
            f"A correction needs a revision higher than {rated.revision}.",
        ]
    written = judged.outcome.record
    halves = written is not None and written.record.rated is not None and written.record.rated.halved
    settles = f"take the place of {stands}" if rated.revision is not None else "be the first to settle the match"
    return [
        f"{about} would {settles}: by its PRs the change counts {_counted(halves)}, and now it counts "
        f"{_counted(rated.halved)}.",
        f"The difference would go to the ratings that both have when a worker applies it. That counts for what is "
        f"published by {moment(rated.settles_by_ms)} (by the record's timestamp) and is too late for what is not.",
    ]


def _without_rated_match(judged: Judged, about: str, name: str) -> list[str]:
    kind, record, pool = judged.outcome.kind, judged.known.record, judged.pool
    if kind is Kind.IGNORED and record is not None and record.excluded_reason:
        return [f"{about} does nothing: the match does not count, because {why_excluded(record.excluded_reason)}."]
    if kind is Kind.IGNORED:
        return [f"{about} does nothing: PRs change no rating in {pool.name}, a {pool.rules.name} pool."]
    if kind is Kind.DUPLICATE:
        return [f"{about}, of these two players, waits for the match already: this is a duplicate. {NOTHING}"]
    if kind is Kind.PUSHED_OUT:
        return [f"{about} would not be kept: as many analyses of {name} as are kept wait for the match already."]
    return [
        f"The match {name} has not come to {pool.name} yet. {about} would wait for it, and change nothing until then."
    ]


def _counted(halved: bool) -> str:
    return "half" if halved else "in full"
