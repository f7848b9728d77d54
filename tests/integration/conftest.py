"""Fixtures of these tests."""

from tests.integration.support.fixtures import site

__all__ = ["site"]
