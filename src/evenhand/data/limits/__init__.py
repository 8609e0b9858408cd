"""What a study may ask for: where addresses may lead, which queries are put, how much packed files may grow,
and that quotes are closed.

Not here: reading what was let through (data), and the limits of study files themselves (study.loader).
"""

__all__ = ["network", "open_quotes", "queries", "unpacking"]
