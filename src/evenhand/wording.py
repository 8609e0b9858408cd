"""Numbers with their nouns, for messages."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun, as in `1 row` and `1,081 rows`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
