"""What a sample of text says about its encoding and the character between its columns."""

import codecs
import csv
import io
from itertools import islice
from pathlib import Path

from evenhand.errors import DataError
from evenhand.runtime.logs import logger

DELIMITERS = (",", ";", "\t", "|")
COMMONEST = "cp1252"
WESTERN = frozenset("äöüßÄÖÜéèêëàâáåæçíïîñóôõøúùûœÀÁÂÅÆÇÈÉÊÍÎÑÓÔÕØÚÛŒ€£§°²³–—‘’“”„«»…½¼µ·´")
SHORT = 4096
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def guessed_encoding(path: Path, sample: bytes) -> str:
    """The encoding of a byte-order mark, else UTF-8 if the sample is that, else the most likely one."""
    for mark, name in MARKS:
        if sample.startswith(mark):
            return name
    if (wide := _of_two_bytes(sample[:SHORT])) is not None:
        return wide
    if _is_utf8(sample):
        return "utf-8"
    if len(sample) < SHORT and _is_western(sample):
        logger().warning("the text is not UTF-8 and was read as %s; name source.encoding if that is wrong", COMMONEST)
        return COMMONEST
    from charset_normalizer import from_bytes

    matches = from_bytes(sample)
    best = matches.best()
    if best is None or b"\x00" in sample:
        raise DataError(
            f"'{path}' is no text in any encoding that could be recognised. If it is text, name its encoding in "
            "source.encoding; if it is not, name its form in source.format."
        )
    western = any(COMMONEST in match.could_be_from_charset and match.chaos <= best.chaos for match in matches)
    guess = COMMONEST if western else best.encoding
    logger().warning("the text is not UTF-8 and was read as %s; name source.encoding if that is wrong", guess)
    return guess


def _of_two_bytes(sample: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of most of its letters, and of all line ends, is zero."""
    for name, letters, zeros in (("utf-16-le", sample[::2], sample[1::2]), ("utf-16-be", sample[1::2], sample[::2])):
        if 2 * zeros.count(0) > len(zeros) and not letters.count(0):
            return name
    return None


def guessed_delimiter(text: str) -> str:
    """The delimiter that cuts the first lines into the most columns, the same number in each."""
    found = {delimiter: n_columns(text, delimiter) for delimiter in DELIMITERS}
    return max(DELIMITERS, key=lambda delimiter: found[delimiter])


def n_columns(text: str, delimiter: str) -> int:
    """Columns of the first line, or fewer where later lines do not agree."""
    try:
        rows = list(islice(filter(None, csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)), 100))
    except csv.Error:  # a cell too long to be one
        return 1
    if not rows:
        return 0
    agreeing = sum(len(row) == len(rows[0]) for row in rows)
    return len(rows[0]) if agreeing > len(rows) / 2 else 1


def _is_western(sample: bytes) -> bool:
    """Whether text has Western letters alone, few among plain ones: short texts are too little for statistics."""
    try:
        text = sample.decode(COMMONEST)
    except UnicodeDecodeError:
        return False
    special = [sign for sign in text if not sign.isascii()]
    n_plain = sum(sign.isascii() and sign.isalpha() for sign in text)
    return set(special) <= WESTERN and len(special) < n_plain / 2


def _is_utf8(sample: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return True
