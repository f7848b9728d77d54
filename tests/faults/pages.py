"""What a worker's pages answer."""

import urllib.error
import urllib.request


def status(port: int, page: str) -> int:
    """Return the HTTP status of a worker's page, 0 where nothing answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0
