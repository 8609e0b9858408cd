"""One verb per function, one stage per module."""
