from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.files import packaged
from worker.stream.topics import ActualTopic, DeclaredTopic, TopicsError, parse_topics, plan, with_overrides

CONFIG = {"cleanup.policy": "delete", "retention.ms": "-1", "min.insync.replicas": "2", "max.message.bytes": "2000"}
INPUT = DeclaredTopic("match-finished", "input", 8, 8, 3, CONFIG)
OUTPUT = replace(INPUT, name="rating-changed", role="output")
SHIPPED = parse_topics(packaged("deploy/kafka/topics.toml").read_text(encoding="utf-8"))
INPUTS = {"match-finished", "match-analyzed", "tournament-prize-awarded", "identity-linked"}


def as_declared(topic: DeclaredTopic, **changes) -> ActualTopic:
    return replace(ActualTopic(topic.partitions, topic.replication, topic.config_for(topic.replication)), **changes)


def differences(topic: DeclaredTopic, there: ActualTopic, **options):
    return plan([topic], {topic.name: there}, **options)


def test_the_shipped_file_declares_every_topic_of_the_contract():
    outputs = {"rating-changed", "match-excluded", *(f"{name}.dlt" for name in INPUTS)}
    assert {topic.name for topic in SHIPPED if topic.role == "input"} == INPUTS
    assert {topic.name for topic in SHIPPED if topic.role == "output"} == outputs


def test_what_recomputing_needs_is_kept_for_ever():
    for topic in SHIPPED:
        if not topic.name.endswith(".dlt"):
            assert topic.config["retention.ms"] == topic.config["retention.bytes"] == "-1"
        assert topic.config["cleanup.policy"] == "delete"


def test_topics_as_declared_have_no_difference():
    assert plan(SHIPPED, {topic.name: as_declared(topic) for topic in SHIPPED}) == []


def test_a_missing_topic_is_created_whatever_its_role():
    found = plan([INPUT, OUTPUT], {})
    assert [(difference.topic, difference.kind, difference.applicable) for difference in found] == [
        ("match-finished", "missing", True),
        ("rating-changed", "missing", True),
    ]


def test_an_input_may_get_more_partitions():
    (difference,) = differences(INPUT, as_declared(INPUT, partitions=4))
    assert (difference.wanted, difference.actual, difference.applicable) == ("8", "4", True)


def test_an_output_gets_more_partitions_only_on_demand():
    there = as_declared(OUTPUT, partitions=4)
    (kept,) = differences(OUTPUT, there)
    assert not kept.applicable
    assert "--outputs" in kept.sentence
    (raised,) = differences(OUTPUT, there, outputs=True)
    assert raised.applicable


def test_replicas_are_told_and_left_to_the_tool_for_them():
    (difference,) = differences(replace(INPUT, config={}), as_declared(INPUT, replication=1, config={}))
    assert (difference.kind, difference.applicable) == ("replication", False)


def test_a_setting_that_differs_is_set():
    (difference,) = differences(INPUT, as_declared(INPUT, config={**CONFIG, "cleanup.policy": "compact"}))
    assert (difference.setting, difference.wanted, difference.actual) == ("cleanup.policy", "delete", "compact")
    assert difference.applicable


def test_a_limited_retention_is_less_than_an_unlimited_one():
    (difference,) = differences(INPUT, as_declared(INPUT, config={**CONFIG, "retention.ms": "604800000"}))
    assert (difference.setting, difference.wanted) == ("retention.ms", "-1")
    assert differences(replace(INPUT, config={"retention.ms": "604800000"}), as_declared(INPUT)) == []


@given(
    st.builds(
        ActualTopic,
        partitions=st.integers(8, 100),
        replication=st.integers(3, 9),
        config=st.fixed_dictionaries(
            {
                "cleanup.policy": st.just("delete"),
                "retention.ms": st.just("-1"),
                "min.insync.replicas": st.integers(2, 9).map(str),
                "max.message.bytes": st.integers(2000, 1 << 30).map(str),
            }
        ),
    )
)
def test_more_than_declared_is_no_difference_so_nothing_is_ever_lowered(there):
    assert plan([INPUT, OUTPUT], {INPUT.name: there, OUTPUT.name: there}, outputs=True) == []


@pytest.mark.parametrize(("replication", "in_sync"), [(1, "1"), (2, "1"), (3, "2"), (5, "2")])
def test_one_broker_may_always_be_away_where_there_is_more_than_one(replication, in_sync):
    assert INPUT.config_for(replication)["min.insync.replicas"] == in_sync


class TestOverrides:
    def test_a_prefix_goes_before_every_name(self):
        assert {topic.name for topic in with_overrides([INPUT, OUTPUT], prefix="p-")} == {
            "p-match-finished",
            "p-rating-changed",
        }

    def test_partitions_hold_for_inputs_and_for_new_outputs(self):
        wanted, output = with_overrides([INPUT, OUTPUT], partitions=16)
        assert (wanted.partitions, wanted.initial_partitions) == (16, 16)
        assert (output.partitions, output.initial_partitions) == (8, 16)
        assert plan([output], {output.name: as_declared(OUTPUT)}) == []

    def test_partitions_hold_for_outputs_that_exist_on_demand(self):
        _, output = with_overrides([INPUT, OUTPUT], partitions=16, outputs=True)
        assert output.partitions == 16


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("topics = = 1", "line 1"),
        ("", "topics"),
        ('[topics.a]\nrole = "both"', "topics.a.role"),
        ('[topics.a]\nrole = "input"\npartitons = 3', "topics.a.partitons"),
        ('[topics.a]\nrole = "input"\npartitions = 0', "topics.a.partitions"),
        ('[topics."a b"]\nrole = "input"', "topics.a b"),
        ('[topics.a]\nrole = "input"\nconfig = { "retention.ms" = "ever" }', "topics.a.config"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(text, place):
    with pytest.raises(TopicsError, match=place):
        parse_topics(text)
