import pytest

from worker.stream.schema import echo, sentence


def test_a_sentence_is_printable_ascii() -> None:
    assert sentence("zw\u00f6lf\n\x7f \U0001f3b2.") == "zw\\xf6lf\\n\\x7f \\U0001f3b2."


@pytest.mark.parametrize("text", ["x" * 301, "\U0001f3b2" * 300])
def test_a_sentence_is_at_most_300_characters(text: str) -> None:
    assert len(sentence(text)) == 300
    assert sentence(text).endswith("...")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("x" * 40, f'"{"x" * 40}"'),
        ("x" * 41, "a string of 41 characters"),
        ("\u00e4", '"\\u00e4"'),
        (True, "true"),
        (None, "null"),
        (3.0, "3.0"),
        ([1, 2], "an array of 2"),
        ({"a": 1}, "an object"),
    ],
)
def test_only_short_scalars_are_repeated(value: object, shown: str) -> None:
    assert echo(value) == shown
