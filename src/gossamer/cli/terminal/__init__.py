"""What commands share on the terminal: tables, the live panel, signals."""
