"""Settings in layers: the command line, the environment, the spider, ``gossamer.toml``, the defaults."""

from gossamer.config.layers import Explanation, Loaded, find_project, load_settings
from gossamer.config.settings import Settings, fields

__all__ = ["Explanation", "Loaded", "Settings", "fields", "find_project", "load_settings"]
