"""Whatever the workers make of a mixed stream is what a naive replay in the order of `position` makes of it."""

import asyncio

from tests.integration.support.promises import audit
from tests.integration.support.publishing import analyses_elsewhere, by_key, publish
from tests.integration.support.reading import until_published, wait_answered
from tests.integration.support.scenarios import records
from tests.integration.support.site import Site
from worker.cli.simulation import Published


def test_twenty_thousand_mixed_matches_through_two_workers_equal_a_replay_by_position(site: Site) -> None:
    site.apply_topics(8)
    workers = site.start_workers(2)
    sent = asyncio.run(publish(site, records(20_000), analyses_elsewhere(8)))
    wait_answered(site)
    answers = audit(site, sent)
    assert [worker.terminate() for worker in workers] == [0, 0]
    causes = {(change.value["pool"], change.value["cause"]["type"]) for change in answers.changes}
    assert len(causes) == 5
    assert any(change.value["late"] for change in answers.changes)


def test_everything_delivered_twice_to_different_workers_is_applied_once(site: Site) -> None:
    site.apply_topics(8)
    workers = site.start_workers(2)
    twice = [record for record in records(4_000, seed=2, conflict=0) for _ in range(2)]
    seen: set[Published] = set()
    choose = by_key(8)

    def elsewhere_the_second_time(record: Published) -> int:
        again = record in seen
        (seen.discard if again else seen.add)(record)
        return (choose(record) + again) % 8

    sent = asyncio.run(publish(site, twice, elsewhere_the_second_time))
    wait_answered(site)
    audit(site, sent, first_comes_first=False)
    assert [worker.terminate() for worker in workers] == [0, 0]


def test_partitions_raised_from_8_to_16_while_workers_run_lose_and_double_nothing(site: Site) -> None:
    site.apply_topics(8)
    workers = site.start_workers(2, batch_max="100")
    mixed = records(5_000, seed=3, conflict=0)
    half = len(mixed) // 2

    sent = asyncio.run(publish(site, mixed[:half], by_key(8)))
    asyncio.run(until_published(site, 500))
    site.apply_topics(16)
    sent += asyncio.run(publish(site, mixed[half:], by_key(16)))
    wait_answered(site)
    audit(site, sent, first_comes_first=False)
    assert {item.source.partition for item in sent} == set(range(16))
    assert [worker.terminate() for worker in workers] == [0, 0]


def test_few_players_shared_by_two_workers_have_streams_in_order_and_without_a_gap(site: Site) -> None:
    site.apply_topics(8)
    workers = site.start_workers(2, batch_max="50")
    sent = asyncio.run(publish(site, records(3_000, seed=4, players=8, late=0.05), analyses_elsewhere(8)))
    wait_answered(site)
    audit(site, sent)
    assert [worker.terminate() for worker in workers] == [0, 0]
