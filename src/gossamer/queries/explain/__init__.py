"""Why a URL was, was not, or is not yet fetched: what is known of it, read and put into words."""
