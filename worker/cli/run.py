"""`gammon-ratings worker`: rate until told to stop."""

import typer


def worker() -> None:
    """Rate what is published to the four input topics, until SIGTERM or SIGINT.

    Run as many as there is work for: they share the partitions and the tables, and any of them may be killed at any
    time. Exit codes: 0 ended in good order, 1 crashed, 2 a wrong setting, 3 Redis and Kafka do not fit together (lost
    writes, deleted records), 4 Redis or Kafka was away for longer than RATINGS_RETRY_S.
    """
    # Only what rates needs Faust, and not who asks for help.
    from worker.settings import load_settings  # noqa: PLC0415
    from worker.stream.logs import configure_logs  # noqa: PLC0415
    from worker.stream.worker import work  # noqa: PLC0415

    settings = load_settings()
    configure_logs(settings)
    raise typer.Exit(work(settings))
