"""Throughput and latency on a real Kafka and Redis, beside a stock Faust agent that does nothing: `make bench`."""
