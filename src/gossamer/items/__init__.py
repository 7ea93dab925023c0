"""Cleaning, validating and keying items."""

from gossamer.items.pipeline import DefaultPipeline

__all__ = ["DefaultPipeline"]
