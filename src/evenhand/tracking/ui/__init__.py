"""Addresses in MLflow's pages, and what those pages show first. What is recorded in runs is in `tracking` itself."""

__all__ = ["addresses", "links", "shared_views"]
