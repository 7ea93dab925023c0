"""Cleaning, validating and keying items."""

from gossamer.pipeline.pipeline import DefaultPipeline

__all__ = ["DefaultPipeline"]
