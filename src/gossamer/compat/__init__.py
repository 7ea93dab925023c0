"""What makes the spiders of other frameworks run here."""
