"""What the worker tells about itself over HTTP."""

from collections.abc import Callable, Sequence
from typing import Any

import faust
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

Ready = Callable[[], Sequence[str]]


def add_pages(app: faust.App, *, ready: Ready, registry: CollectorRegistry) -> None:
    """Serve `/livez`, `/readyz` and `/metrics` on the app's web server.

    `/livez` says that the event loop runs, and nothing else. `/readyz` is 200 only while `ready()` gives no reasons
    against it, else 503; its body is `{"ready": bool, "reasons": [...]}`. `/metrics` is the registry's text.
    """

    async def livez(view: Any, _request: Any) -> Any:
        return view.json({"live": True})

    async def readyz(view: Any, _request: Any) -> Any:
        reasons = list(ready())
        return view.json({"ready": not reasons, "reasons": reasons}, status=503 if reasons else 200)

    async def metrics(view: Any, _request: Any) -> Any:
        return view.bytes(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    for page in (livez, readyz, metrics):
        app.page(f"/{page.__name__}")(page)
