"""What the whole program speaks of: records, errors, events and life cycles. No I/O, no vendor."""
