import json

from typer.testing import CliRunner

from worker.cli.main import app


def run(*arguments: str):
    return CliRunner().invoke(app, ["pools", "check", *arguments])


def test_the_shipped_pools_are_in_order():
    result = run()
    assert result.exit_code == 0, result.output
    for pool in ("gammon42", "blitzgammon", "nardeon", "season0"):
        assert f'{pool}\n  ruleset = "{pool}"' in result.stdout


def test_every_setting_is_printed_also_those_left_out(tmp_path):
    file = tmp_path / "pools.toml"
    file.write_text('[pools.night]\nruleset = "season0"\nk_tiers = [{ from_games = 0, k = 20 }]\n')
    result = run(str(file))
    assert result.exit_code == 0, result.output
    assert "starting_rating = 1200" in result.stdout
    assert "k_tiers = [{ from_games = 0, k = 20 }]" in result.stdout


def test_json_holds_the_same(tmp_path):
    file = tmp_path / "pools.toml"
    file.write_text('[pools.night]\nruleset = "season0"\n')
    result = run(str(file), "--json")
    pool = json.loads(result.stdout)["night"]
    assert pool["ruleset"] == "season0"
    assert pool["k_tiers"] == [{"from_games": 0, "k": 16}]


def test_instants_are_printed_as_they_are_written(tmp_path):
    result = run("--json")
    versions = json.loads(result.stdout)["gammon42"]["versions"]
    assert {"version": "1.3.1", "from": "2026-10-01T00:00:00.000Z"} in versions


def test_a_wrong_line_is_named_and_ends_with_code_2(tmp_path):
    file = tmp_path / "pools.toml"
    file.write_text('[pools.night]\nruleset = "season0"\nfloor = 100\n')
    result = run(str(file))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert f"{file}: line 3: " in result.stderr
    assert "floor" in result.stderr


def test_a_file_that_is_not_there_ends_with_code_2(tmp_path):
    result = run(str(tmp_path / "gone.toml"))
    assert result.exit_code == 2
    assert "gone.toml cannot be read" in result.stderr


def test_a_wrong_setting_ends_with_code_2_and_no_traceback(monkeypatch):
    monkeypatch.setenv("RATINGS_WEB_PORT", "no")
    result = run()
    assert result.exit_code == 2
    assert result.stderr.startswith("RATINGS_WEB_PORT is 'no', but must be")


def test_a_misspelt_setting_is_told(monkeypatch):
    monkeypatch.setenv("RATINGS_POOL_FILE", "x")
    result = run()
    assert result.exit_code == 0
    assert "did you mean RATINGS_POOLS_FILE?" in result.stderr
