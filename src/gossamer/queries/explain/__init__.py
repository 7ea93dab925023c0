"""Why a URL was fetched, was not, or has not been yet: the facts, and an answer in words."""
