"""Stages that come with Gossamer, by name in the setting `pipeline.stages`."""
