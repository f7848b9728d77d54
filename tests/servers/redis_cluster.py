"""A Redis Cluster of three masters on loopback, whose slots can be moved while it is used."""

from functools import partial
from pathlib import Path
from typing import Any

import redis

from tests.servers.process import free_ports, wait_until
from tests.servers.redis import RedisServer, start_redis

_SLOTS = 16_384
_MIGRATE_TIMEOUT_MS = 60_000


class RedisCluster:
    """A running cluster; nodes are named by their place in `.nodes` (0, 1, 2)."""

    def __init__(self, nodes: tuple[RedisServer, ...]) -> None:
        self.nodes = nodes
        self.url = "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in nodes)

    @property
    def pids(self) -> tuple[int, ...]:
        return tuple(node.pid for node in self.nodes)

    def stop(self) -> None:
        """End all nodes in good order."""
        for node in self.nodes:
            node.stop()

    def kill(self) -> None:
        """SIGKILL to all nodes."""
        for node in self.nodes:
            node.kill()

    def restart(self) -> None:
        """Start all nodes again and wait until every slot is served."""
        for node in self.nodes:
            node.restart()
        self.wait_ready()

    def owner(self, slot: int) -> int:
        """Return the node that serves the slot."""
        with self._client(0) as client:
            for first, last, master, *_ in _run(client, "CLUSTER SLOTS"):
                if first <= slot <= last:
                    return next(index for index, node in enumerate(self.nodes) if node.port == master[1])
        raise LookupError(f"no node serves slot {slot}")

    def move_slot(self, slot: int, to: int) -> None:
        """Move the slot and its keys to node `to`, as `redis-cli --cluster reshard` does it."""
        self.begin_move(slot, to)
        while self.move_keys(slot, to):
            pass
        self.finish_move(slot, to)

    def begin_move(self, slot: int, to: int) -> None:
        """Open the slot: from now on commands on it may be answered ASK or TRYAGAIN."""
        source = self.owner(slot)
        if source == to:
            raise ValueError(f"node {to} serves slot {slot} already")
        with self._client(source) as giving, self._client(to) as taking:
            _run(taking, "CLUSTER SETSLOT", slot, "IMPORTING", _id(giving))
            _run(giving, "CLUSTER SETSLOT", slot, "MIGRATING", _id(taking))

    def move_keys(self, slot: int, to: int, count: int = 1) -> int:
        """Move up to `count` keys of an open slot; returns how many there were."""
        with self._client(self.owner(slot)) as giving:
            keys = _run(giving, "CLUSTER GETKEYSINSLOT", slot, count)
            if keys:
                port = self.nodes[to].port
                _run(giving, "MIGRATE", "127.0.0.1", port, "", 0, _MIGRATE_TIMEOUT_MS, "KEYS", *keys)
        return len(keys)

    def finish_move(self, slot: int, to: int) -> None:
        """Close the slot at its new node, and wait until every node knows it."""
        with self._client(to) as taking:
            new_owner = _id(taking)
        source = self.owner(slot)
        # The taker first: were the giver to forget the slot before, nobody would own it for a moment.
        for node in (to, source, *(other for other in range(len(self.nodes)) if other not in {to, source})):
            with self._client(node) as client:
                _run(client, "CLUSTER SETSLOT", slot, "NODE", new_owner)
        self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until every node knows all others and sees every slot served."""
        for node in range(len(self.nodes)):
            wait_until(partial(self._is_whole, node), f"node {node} to see the whole cluster")

    def _is_whole(self, node: int) -> bool:
        with self._client(node) as client:
            info = _run(client, "CLUSTER INFO")
        return bool(info["cluster_state"] == "ok") and int(info["cluster_known_nodes"]) == len(self.nodes)

    def _client(self, node: int) -> redis.Redis:
        return redis.Redis(port=self.nodes[node].port)

    def join(self) -> None:
        """Make one cluster of the single nodes: equal shares of the slots, and everyone meets the first."""
        share = _SLOTS / len(self.nodes)
        for node, server in enumerate(self.nodes):
            with self._client(node) as client:
                _run(client, "CLUSTER SET-CONFIG-EPOCH", node + 1)
                _run(client, "CLUSTER ADDSLOTSRANGE", round(node * share), round((node + 1) * share) - 1)
                bus_port = client.config_get("cluster-port")["cluster-port"]
            with self._client(0) as first:
                _run(first, "CLUSTER MEET", "127.0.0.1", server.port, bus_port)
        self.wait_ready()


def _run(client: redis.Redis, *command: str | int) -> Any:
    return client.execute_command(*command)  # type: ignore[no-untyped-call]


def _id(node: redis.Redis) -> str:
    identity: bytes | str = _run(node, "CLUSTER MYID")
    return identity.decode() if isinstance(identity, bytes) else identity


def start_cluster(directory: Path) -> RedisCluster:
    """Start three masters on free ports of 127.0.0.1, each in a folder of `directory`, and join them."""
    nodes: list[RedisServer] = []
    ports = free_ports(6)
    for name, port, bus_port in zip(("a", "b", "c"), ports[:3], ports[3:], strict=True):
        options = ("--cluster-enabled", "yes", "--cluster-port", str(bus_port), "--cluster-node-timeout", "60000")
        nodes.append(start_redis(directory / name, *options, port=port))
    cluster = RedisCluster(tuple(nodes))
    cluster.join()
    return cluster
