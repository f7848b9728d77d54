"""What a match did to both ratings, in words and numbers that its players can check."""
