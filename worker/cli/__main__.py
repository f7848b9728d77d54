"""The command `gammon-ratings` for `python -m worker.cli`."""

from worker.cli.main import app

app()
