"""The audit of a pool: its causes replayed by `position` through the rules, and compared byte for byte."""
