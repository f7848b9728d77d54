"""Pure arithmetic: one module a rating system, and what they share."""
