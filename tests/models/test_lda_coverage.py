"""Ninety percent intervals hold the truth nine times in ten, and are no wider than collapsed Gibbs' ones."""

import pytest

from models import lda_coverage


@pytest.mark.slow
def test_intervals_cover_the_truth_and_are_as_wide_as_the_posterior():
    summary = lda_coverage.summarise([lda_coverage.measure(seed) for seed in range(20)])
    for name, figures in summary.items():
        assert figures["standard_error"] < 0.02, (name, figures)
        assert 0.87 <= figures["coverage"] <= 0.93, (name, figures)
        assert 0.9 < figures["width_ratio"] <= 1.3, (name, figures)
        assert figures["largest_width_ratio_of_a_corpus"] <= 1.3, (name, figures)
