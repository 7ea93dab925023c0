"""Pure decisions: state and ``now`` in, decision out. Never sleeps, never reads a clock, never does I/O."""
