"""Texts for people use the words of the field."""

from tools import wording


def test_words_are_found_in_strings_and_not_in_code():
    source = '"""An error\n\ntold."""\ntold = f"{0} is asked for"  # told\nkey = "told"\n'
    found = [(number, line) for number, line in wording.python_texts(source)]
    assert [
        (number, match[0]) for number, line in found for match in wording.PATTERN.finditer(line)
    ] == [(3, "told"), (4, "asked for")]


def test_scripts_are_read_for_their_strings():
    source = 'const told = `it is told of ${told}`, key = "told"; // told'
    assert [*wording.script_texts(source)] == [(1, "it is told of ")]


def test_every_word_has_advice():
    assert wording.advice("Afresh") == "again, recomputed"
    assert wording.PATTERN.search("one pass over the data") is None


def test_all_texts_are_plain():
    assert wording.problems() == []
