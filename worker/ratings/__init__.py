"""What happens to an event: pure decisions on loaded state, with no clock and no I/O."""
