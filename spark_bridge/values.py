"""Small columns that several analyses are made of."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

#: After every row of a run.
AFTER_ALL = (1 << 63) - 1


def or_false(flag: Column) -> Column:
    """A flag that is false where nothing is known."""
    return F.coalesce(flag, always(is_so=False))


def always(*, is_so: bool) -> Column:
    """A flag that is the same in every row."""
    return F.lit(is_so)


def or_zero(number: Column) -> Column:
    """A number that is 0 where nothing is known."""
    return F.coalesce(number, F.lit(0).cast("bigint"))


def or_empty(text: Column) -> Column:
    """A text that is empty where there is none."""
    return F.coalesce(text, F.lit(""))


def said(*words: Column | str) -> Column:
    """Words and values, put together into a sentence."""
    texts = (F.lit(word) if isinstance(word, str) else word.cast("string") for word in words)
    return F.concat(*texts)
