"""By which of several ways a request is fetched."""
