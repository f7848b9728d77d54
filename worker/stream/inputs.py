"""The topics that are read; light, for whoever needs no more than their names."""

INPUTS = ("match-finished", "match-analyzed", "tournament-prize-awarded", "identity-linked")
