"""Writers on one Redis, what they are given, and what their history must be."""
