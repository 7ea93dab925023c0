"""Settings in layers: the command line, the environment, the spider, ``gossamer.toml``, the defaults."""
