"""What reaches the log."""

import json
import logging

import pytest
import structlog

from worker.settings import Settings
from worker.stream.logs import configure_logs


@pytest.fixture(autouse=True)
def restored():
    root, library = logging.getLogger(), logging.getLogger("aiokafka")
    handlers, levels = root.handlers[:], (root.level, library.level)
    library.setLevel(logging.NOTSET)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    library.setLevel(levels[1])
    structlog.reset_defaults()


def lines(capsys):
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_line_of_ours_is_one_json_object_with_its_facts(capsys):
    configure_logs(Settings())
    structlog.get_logger("worker.x").warning("trying again", step="Publishing", match_id="m-1")
    (line,) = lines(capsys)
    assert (line["event"], line["step"], line["match_id"], line["level"]) == (
        "trying again",
        "Publishing",
        "m-1",
        "warning",
    )
    assert "timestamp" in line


def test_what_a_library_repeats_is_said_once_in_a_while_and_ours_always(capsys):
    configure_logs(Settings())
    for number in range(50):
        logging.getLogger("aiokafka.conn").error("Unable connect to node %s", number)
        logging.getLogger("worker.x").error("ours")
    said = [line["event"] for line in lines(capsys)]
    assert said.count("Unable connect to node 0") == 1
    assert said.count("ours") == 50
    assert len(said) == 51


def test_debug_lines_need_level_debug(capsys):
    configure_logs(Settings())
    structlog.get_logger("worker.y").debug("answered", match_id="m-1")
    assert lines(capsys) == []
    configure_logs(Settings(log_level="debug"))
    structlog.get_logger("worker.z").debug("answered", match_id="m-1")
    assert [line["match_id"] for line in lines(capsys)] == ["m-1"]
