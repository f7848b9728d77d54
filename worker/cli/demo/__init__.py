"""Two weeks of four platforms, rated before your eyes by a real worker, and audited."""
