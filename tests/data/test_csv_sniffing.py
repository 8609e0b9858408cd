from pathlib import Path

import pytest

from evenhand.data.csv_sniffing import guessed_encoding

FILE = Path("rows.csv")


@pytest.mark.parametrize(
    "text",
    [
        "stadt,y\nKöln,1\nMünchen,2\nDüsseldorf,3\n",
        "name,y\nMüller,1\nBäcker,0\n",
        "prénom;âge\nRené;31\nZoë;52\n",
        "x\nä\nMaße\n",
    ],
)
def test_a_short_text_with_umlauts_is_western(text):
    assert guessed_encoding(FILE, text.encode("latin-1")) == "cp1252"


def test_a_short_cyrillic_text_is_not_taken_for_a_western_one():
    text = "город,y\nстоличный город Москва,1\nсибирский город Новосибирск,2\nуральский Екатеринбург,3\n" * 4

    assert guessed_encoding(FILE, text.encode("cp1251")) != "cp1252"
