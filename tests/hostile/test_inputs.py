"""Damaged inputs of every kind that a reader takes: no signal, no traceback, nothing written."""

import pytest
from found_cases import FOUND, kept
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from input_cases import Case, command_words, play, random_case
from valid_inputs import all_inputs

CASES = 150


def outcome_of(warm, case, folder):
    outcome, faults = play(warm[0], case, warm[1], folder)
    assert not faults, (faults, case.arguments, outcome)
    return outcome


@pytest.mark.parametrize("given_input", all_inputs(), ids=lambda given: given.name)
def test_valid_inputs_are_read(warm, tmp_path, given_input):
    """Else all that follows would be refused for another reason."""
    one_document = given_input.name == "a.txt"
    for command in ("corpus", "evaluate", "transform", *(() if one_document else ("fit",))):
        words = command_words(command, given_input.name, list(given_input.options))
        case = Case(given_input.files, words)
        assert outcome_of(warm, case, tmp_path / command).status == 0


@pytest.mark.parametrize("folder", sorted(FOUND.iterdir()), ids=lambda folder: folder.name)
def test_what_was_found_stays_mended(warm, tmp_path, folder):
    outcome_of(warm, kept(folder), tmp_path / "case")


@settings(
    max_examples=CASES,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(random=st.randoms(use_true_random=False))
def test_damaged_inputs(warm, tmp_path_factory, random):
    outcome_of(warm, random_case(random), tmp_path_factory.mktemp("case") / "case")
