"""The process, in the order it happens."""
