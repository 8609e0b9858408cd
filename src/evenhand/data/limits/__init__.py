"""What a study may ask for: where addresses may lead, which queries are put, and how much packed files may grow.

Not here: reading what was let through (data), and the limits of study files themselves (study.loader).
"""

__all__ = ["network", "queries", "unpacking"]
