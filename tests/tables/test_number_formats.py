"""Numbers as people and spreadsheets write them."""

import numpy as np
import pyarrow as pa
import pytest

from boreod.tables.cells import as_numbers
from boreod.tables.number_formats import Ambiguous, NumberFormat, find_format, parse

nan = float("nan")


@pytest.mark.parametrize(
    ("cells", "like", "values"),
    [
        (["$1,234.50", "$12", "($3.5)", "-$4", "$-5", "$ 6", "7-", "$(8)"], "$1,234.50",
         [1234.5, 12, -3.5, -4, -5, 6, -7, -8]),
        (["USD 12", "USD 1,234", "USD -3.5", "usd 1"], "USD 1,234.50", [12, 1234, -3.5, 1]),
        (["12 kg", "3.5 kg", "5"], "1234.50 kg", [12, 3.5, 5]),
        (["1 day", "3 days"], "1234.50 day", [1, 3]),
        (["1.2%", "3 %", "-0.5%", "(2%)", "0", "4"], "1.2%", [0.012, 0.03, -0.005, -0.02, 0, nan]),
        (["12,5 %", "3,1 %"], "1,2%", [0.125, 0.031]),
        (["51.080,0", "3,5", "-1.234.567,89"], "1.234,50", [51080, 3.5, -1234567.89]),
        (["1 234,5", "12,5", "1\u202f234\u00a0567,1", "\u22123,5"], "1 234,50",
         [1234.5, 12.5, 1234567.1, -3.5]),
        (["1'234.50", "12", "1\u2019234\u2019567.1"], "1'234.50", [1234.5, 12, 1234567.1]),
        (["R$ 1.234,50", "R$ 3,00"], "R$ 1.234,50", [1234.5, 3]),
        (["Fr. 12.50", "Fr. 1'000.-"], "Fr 1'234.50", [12.5, 1000]),
        (["1.234,50 €", "2,00 €", "-3 €", "4,00- €"], "1.234,50€", [1234.5, 2, -3, -4]),
        (["12,34,567.5", "12"], "1,234.50", [1234567.5, 12]),
        (["1,234,567", "12"], "1,234.50", [1234567, 12]),
        (["1,5e-05", "2,5"], "1234,50", [1.5e-05, 2.5]),
        (["$1,234", "$999"], "$1,234.50", [1234, 999]),
        (["1.5", "NA", None, "", "ERR", "- ", "n.a.", "2"], "1234.50",
         [1.5, nan, nan, nan, nan, nan, nan, 2]),
    ],
)  # fmt: skip
def test_formats(cells, like, values):
    column = pa.array(cells, pa.string())
    rule = find_format(column)
    assert rule.like == like
    assert rule.is_possible
    np.testing.assert_array_equal(parse(column, rule).values, values)
    one = [parse(column.slice(row, 1), rule).values[0] for row in range(len(cells))]
    np.testing.assert_array_equal(one, values)  # a row alone is read as within its batch


@pytest.mark.parametrize(
    ("cells", "decimal", "values"),
    [
        (["1,234", "999"], ".", [1234, 999]),
        (["1,234", "999"], ",", [1.234, 999]),
        (["1.234 €", "999 €"], ",", [1234, 999]),
        (["1.234", "2.345"], ",", [1234, 2345]),
        (["1.234", "2.345"], None, [1.234, 2.345]),
        (["52.51", "13.4", "1.234"], ",", [52.51, 13.4, 1.234]),  # the cells tell otherwise
        (["3,5", "1,234"], ".", [3.5, 1.234]),
    ],
)
def test_the_decimal_point_is_told_where_cells_do_not(cells, decimal, values):
    column = pa.array(cells)
    assert parse(column, find_format(column, decimal)).values.tolist() == values


@pytest.mark.parametrize("cells", [["1,234", "999"], ["1.234 €", "12 €"], ["€ 1,234", "€ 2"]])
def test_what_can_be_read_in_two_ways_is_asked_for(cells):
    found = find_format(pa.array(cells))
    assert isinstance(found, Ambiguous)
    question = str(found.question("amount"))
    for words in ("'amount'", "--decimal .", "--decimal ,", "decimal=','", "--drop amount"):
        assert words in question


def test_several_currencies_are_asked_for():
    found = find_format(pa.array(["$5", "€6", "$7", "€8", "$9"] * 4))
    assert "several units: $, €" in str(found.question("amount"))


@pytest.mark.parametrize(
    "cells",
    [
        ["A1", "A2"],
        ["D-1", "D-2"],
        ["12A", "13B"],
        ["0012", "0013"],
        ["10115", "20095"],
        ["2024-01-05", "2024-01-06"],
        ["12.05.2024", "13.06.2024"],
        ["12:30", "13:40"],
        ["192.168.1.1", "10.0.0.1"],
        ["red", "blue"],
        ["1", "2", "S", "M"],
        ["-", "?", None],
        [],
    ],
)
def test_what_is_no_number(cells):
    assert find_format(pa.array(cells, pa.string())) is None


def test_a_few_words_do_not_make_text_of_numbers():
    numbers = [str(n / 10) for n in range(30)]
    assert find_format(pa.array([*numbers, "broken"])) == NumberFormat()
    assert find_format(pa.array([*numbers, *"abcdefgh"])) is None
    assert find_format(pa.array([str(n) for n in range(30)] + ["broken"])) == NumberFormat()


def test_bad_cells_are_named():
    column = pa.array(["$1", "$2", "ERR", None, "NA", "€3"])
    assert parse(column, NumberFormat(".", "$")).bad.tolist() == [0, 0, 1, 0, 0, 1]
    with pytest.warns(UserWarning, match=r"'amount' 2; row 12: 'ERR'; row 15: '€3'"):
        values = as_numbers(column, "amount", "number", 10, NumberFormat(".", "$"))
    np.testing.assert_array_equal(values, [1, 2, nan, nan, nan, nan])
    large = pa.array(["1e999", "-1e400", "1e300"])
    np.testing.assert_array_equal(parse(large, NumberFormat()).values, [nan, nan, 1e300])
    assert NumberFormat().find_bad(large).tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    "rule",
    [
        NumberFormat(";"),
        NumberFormat(".", thousands="."),
        NumberFormat(",", thousands="x"),
        NumberFormat(unit="a" * 9),
        NumberFormat(unit="(.*"),
        NumberFormat(unit="x", before=True),
    ],
)
def test_rules_that_no_column_has(rule):
    assert not rule.is_possible
