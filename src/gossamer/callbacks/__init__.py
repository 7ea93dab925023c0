"""Users' callbacks and pipelines, called and watched."""
