"""What a person reads of findings: what sizes are of, and that lines keep within their width."""

import dataclasses

import pytest

from geodrift.models import models
from geodrift.models.kit._tables import component_tables
from geodrift.report._text import of_sizes
from report.synthetic import synthetic


def part(place, found, chains=4):
    """A component as `component_words` tells it."""
    word = {"word": f"w{place}", "weight": 0.25, "low": 0.2, "high": 0.3, "p_top10": 1.0}
    known = {"size": 0.5, "size_low": 0.4, "size_high": 0.6} if found == chains else {}
    alone = {"size": 0.6, "size_low": None, "size_high": None}
    about = {"topic": place, "found": found, "chains": chains, "shared": found == chains, "words": [word]}
    return about | alone | known


def test_sizes_are_of_what_each_model_counts():
    told = {name: model.sizes_of for name, model in models().items()}
    assert told == {"lda": "words", "hdp": "words", "sam": "documents", "dpm": "rows", "vmf": "rows"}
    text = component_tables([part(0, 4)], "topic", "words")
    assert text.startswith("topic 0, 50.0% [40.0%, 60.0%] of the words, found by 4 of 4 chains\n")


def test_sizes_that_need_not_sum_to_one_say_so():
    assert of_sizes([part(0, 4), part(1, 4)], "topic") == ""
    assert of_sizes([part(0, 4), part(1, 2)], "topic").endswith("so the sizes need not sum to 100%.")
    assert of_sizes([{"found": 1, "chains": 4}], "topic") == ""


@pytest.mark.parametrize("sizes_of", ["words", "documents"])
def test_a_report_says_what_its_sizes_are_of(sizes_of):
    report = dataclasses.replace(synthetic(3), sizes_of=sizes_of)
    report.parts[0] |= {"found": 1}
    page = report.html()
    assert f"by their size, which is a share of the {sizes_of}, with 90% intervals" in page
    assert "sizes need not sum to 100%" in page
    assert f"] of the {sizes_of}" in page
