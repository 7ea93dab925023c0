"""The command line: one small file per group of commands, no rules inside."""
