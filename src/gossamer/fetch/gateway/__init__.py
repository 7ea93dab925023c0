"""The rung ``gateway``: HTTP APIs that fetch pages for us."""
