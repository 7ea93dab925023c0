"""The vocabulary of the program: records, errors, events and life cycles. No I/O, no vendors."""
