"""Ways to tell people of alerts."""
