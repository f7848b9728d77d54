"""Which topics a broker has."""

import asyncio
import time

from aiokafka.admin import AIOKafkaAdminClient, NewTopic


async def topics_there(bootstrap: str, prefix: str) -> list[str]:
    """Return the topics whose names begin so, also those that a request before this one still has in the making.

    What a broker creates by itself comes a moment later than the answer to who asked for it, but before what somebody
    creates after that.
    """
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    last = f"last-{prefix}"
    try:
        await admin.create_topics([NewTopic(last, 1, 1)])
        deadline = time.monotonic() + 30
        while last not in (found := await admin.list_topics()):
            assert time.monotonic() < deadline, found
            await asyncio.sleep(0.05)
        await admin.delete_topics([last])
        return sorted(name for name in found if name.startswith(prefix))
    finally:
        await admin.close()
