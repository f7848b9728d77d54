"""Real and embedded servers for the tests and the benchmarks; nothing here needs pytest."""
