"""Parts of commands for the terminal: tables, the live panel, signals."""
