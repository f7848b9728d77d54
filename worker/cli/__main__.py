"""The command `gammon-ratings` for `python -m worker.cli`."""

from worker.cli.entry import main

main()
