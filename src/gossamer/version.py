"""The version of this package, in the one place that everything reads it from."""

from importlib import import_module

try:
    # Made by the build, and no import statement, since a checkout that was never installed lacks it.
    __version__: str = import_module("gossamer._version").__version__
except ModuleNotFoundError:
    __version__ = "0+unknown"

__all__ = ["__version__"]
