"""How many topics: the rule that tells numbers apart, the scores behind it, and runs that are taken up."""

import html
import json
import re
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from geodrift._errors import InputError
from geodrift.driver import Run
from geodrift.models import choose_number_of_topics
from geodrift.models.kit._agreement import aligned
from geodrift.models.latent_dirichlet_allocation import completion_perplexity
from geodrift.models.latent_dirichlet_allocation.evaluation._chain_scores import completion_by_chain
from geodrift.models.topics._ladder import Ladder
from geodrift.models.topics._ladder_others import shorter_or_longer
from geodrift.models.topics._ladder_rule import TOLD_APART, compared
from geodrift.models.topics._ladder_runs import held_out_of
from geodrift.models.topics._ladder_scores import scored
from geodrift.models.topics._topic_scores import topic_scores
from geodrift.report import LadderReport
from models import lda_problem as problem


def simulated_scores(rng, means, chains=4, documents=300, of_chain=0.05, of_document=0.5):
    """Log likelihoods [K][C, D] of numbers with given means a word, and the words of each document."""
    tokens = rng.integers(1, 15, documents)
    common = rng.normal(0, 1.0, documents)  # of a document under all numbers
    scores = []
    for mean in means:
        effects = rng.normal(0, of_chain, chains)[:, None]
        own = rng.normal(0, of_document, documents)
        noise = rng.normal(0, 0.1, (chains, documents))
        scores.append(tokens * (mean + effects + common + own + noise))
    return scores, tokens


def test_a_difference_has_the_standard_error_that_is_told():
    # Of two numbers, the one the best by far: which is best is no part of the chance then.
    z = []
    for seed in range(1500):
        rng = np.random.default_rng(seed)
        scores, tokens = simulated_scores(rng, (-2.0, -1.0))
        told = compared(scores, tokens)[0]
        z.append((told["difference"] - 1.0) / told["difference_error"])
    # The variance between chains has 6 degrees of freedom: about a t statistic, of variance up to 1.5.
    assert abs(np.mean(z)) < 4 * np.std(z) / np.sqrt(len(z))
    assert 1.0 < np.std(z) < np.sqrt(1.35)


def test_documents_that_all_numbers_share_add_no_error():
    rng = np.random.default_rng(0)
    scores, tokens = simulated_scores(rng, (-2.0, -1.0), of_chain=0.0, of_document=0.0)
    assert compared(scores, tokens)[0]["difference_error"] < 0.02
    unpaired, _ = simulated_scores(np.random.default_rng(1), (-2.0,), of_chain=0.0, of_document=0.0)
    assert compared([unpaired[0], scores[1]], tokens)[0]["difference_error"] > 0.05


def test_numbers_that_are_alike_are_not_told_apart():
    wrong = 0
    for seed in range(400):
        scores, tokens = simulated_scores(np.random.default_rng(seed), (-1.0, -1.0))
        told = compared(scores, tokens)
        assert min(row["difference"] for row in told) == 0.0
        assert not any(row["apart"] for row in told if row["difference"] == 0.0)
        wrong += sum(row["apart"] for row in told)
    # The better of two is looked at: two standard errors are exceeded twice in 2.3% of the cases, and more
    # often with few degrees of freedom.
    assert wrong / 400 < 0.11
    scores, tokens = simulated_scores(np.random.default_rng(0), (-1.0, -1.0 + 1.0))
    assert [row["apart"] for row in compared(scores, tokens)] == [True, False]
    assert TOLD_APART == 2.0


def test_a_number_under_which_a_held_out_word_is_impossible_is_never_chosen(tmp_path):
    scores, tokens = simulated_scores(np.random.default_rng(0), (-2.0, -1.0, -3.0))
    without = compared(scores[1:], tokens)
    scores[0][1, 3] = -np.inf
    told = compared(scores, tokens)
    assert [row["apart"] for row in told] == [True, False, True]
    assert told[1:] == without
    others = {"perplexity": np.inf, "shared": 1, "npmi": None, "run": "run"}
    rows = [{"topics": number} | others | row for number, row in zip((5, 10, 20), told, strict=True)]
    found = Ladder(rows, 10, 10, 4, 300, int(tokens.sum()))
    assert "infinity" in str(found)
    found.save(tmp_path)
    strict = {"parse_constant": lambda name: pytest.fail(f"{name} is not JSON")}
    read = json.loads((tmp_path / "choice.json").read_text(), **strict)
    assert read["rows"][0]["difference"] is read["rows"][0]["chain_scores"][1] is None
    assert "nan" not in (tmp_path / "choice.html").read_text().lower()
    assert "\N{INFINITY}" in (tmp_path / "choice.html").read_text()
    with pytest.raises(ValueError, match="larger topic_word_prior"):
        compared(scores[:1], tokens)


@pytest.mark.parametrize("width", [40, 45, 52, 78, 120])
def test_the_table_keeps_within_the_terminal(monkeypatch, width):
    scores, tokens = simulated_scores(np.random.default_rng(0), (-1.0, -1.002, -3.0), documents=50)
    others = {"perplexity": 12345.6, "shared": 7, "npmi": 0.123, "run": "run"}
    compare = compared(scores, tokens)
    rows = [{"topics": n} | others | row for n, row in zip((1, 20, 300), compare, strict=True)]
    monkeypatch.setenv("COLUMNS", str(width))
    lines = str(Ladder(rows, 1, 1, 4, 50, int(tokens.sum()))).split("\n")
    assert max(map(len, lines)) <= width
    assert "worse by" in lines[0]
    shown = [name in lines[0] for name in ("shared", "NPMI", "score")]
    assert shown == [width >= least for least in (45, 52, 78)]
    assert lines[1].startswith(">      1    12,345.6")
    assert "1 topic has the highest held-out" in " ".join(lines)


def test_scores_by_chain_are_those_of_document_completion():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(12, 0.3), (2, 3, 4))
    counts, _ = problem.simulate(rng, topics[0, 0], 0.3, [20] * 15)
    alpha = rng.uniform(0.1, 1.0, (2, 3, 4))
    found = completion_by_chain(counts, topics, alpha, seed=3)
    whole = completion_perplexity(counts, topics.reshape(6, 4, 12), alpha.reshape(6, 4), seed=3)
    assert found.together.perplexity == pytest.approx(whole.perplexity, rel=1e-12)
    first = completion_perplexity(counts, topics[0], alpha[0], seed=3)
    np.testing.assert_allclose(found.by_chain[0], first.document_log_likelihood)
    assert not np.allclose(found.by_chain[0], found.by_chain[1])


def test_coherence_is_of_topics_that_chains_have_found_and_not_of_blends():
    # The third chain has another second topic, and a blend would have words of both.
    rng = np.random.default_rng(0)
    topics = np.full((3, 30), 1e-3)
    topics[0, :10], topics[1, 10:15], topics[1, 15:20], topics[2, 20:25] = 0.1, 0.15, 0.05, 0.2
    right, wrong = topics[:2], topics[[0, 2]]
    draws = np.stack([each + rng.uniform(0, 1e-4, (5, 2, 30)) for each in (right, wrong, right)])
    draws /= draws.sum(axis=-1, keepdims=True)
    together = SimpleNamespace(
        perplexity=1.0,
        log_likelihood_per_token=0.0,
        standard_error=0.0,
        document_held_out_tokens=np.ones(1),
    )
    answers = SimpleNamespace(
        variable="topics",
        signed=False,
        completion_by_chain=lambda *told, seed: SimpleNamespace(together=together, by_chain=np.zeros((3, 1))),
        aligned=lambda run: aligned({"topics": draws}, "topics", np.sqrt),
    )
    counts = sp.csr_matrix(np.kron(np.eye(3, dtype=int), np.ones(10, dtype=int)))
    training = SimpleNamespace(num_documents=3, matrix=lambda: counts)
    run = SimpleNamespace(state={"counts": [1], "seconds": 1.0})
    model = SimpleNamespace(answers=lambda: answers)
    told = scored(model, run, counts, training, 0).told
    found = topic_scores(draws[0].mean(axis=0), counts)
    assert told["npmi"] == pytest.approx(found["npmi"]["value"])


def test_a_tenth_of_the_documents_is_set_aside():
    assert [held_out_of(n) for n in (100, 1000, 3000, 50_000)] == [25, 200, 300, 1000]


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(4)
    return problem.simulate(rng, rng.dirichlet(np.full(40, 0.1), 4), 0.1, [40] * 240)[0]


@pytest.fixture(scope="module")
def ladder(counts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ladder") / "runs"
    return folder, choose_number_of_topics(counts, (2, 8, 4), directory=folder, steps=60, chains=2)


def test_the_true_number_is_named_and_the_runs_are_taken_up(ladder, counts, capsys):
    folder, first = ladder
    assert [row["topics"] for row in first.rows] == [2, 4, 8]
    assert first.chosen == 4
    assert first.rows[0]["apart"]
    assert first.documents == 60
    run = Run.open(folder / "topics-4")
    assert run.config["settings"]["learn_topic_word_prior"] == "symmetric"
    before = (folder / "topics-4" / "summary.json").stat().st_mtime_ns
    again = choose_number_of_topics(counts, (2, 4), directory=folder, steps=60, chains=2, verbose=1)
    told = " ".join(capsys.readouterr().err.split())
    assert "topics-4 is done, with 60 steps, and kept as it is; geodrift resume makes it longer" in told
    assert (folder / "topics-4" / "summary.json").stat().st_mtime_ns == before
    assert again.rows == first.rows  # 8 stands there, and is compared too
    assert (again.best, again.chosen) == (first.best, first.chosen)
    assert (first.notes, again.notes) == ([], ["In the directory already, and compared too: 8."])
    with pytest.raises(InputError, match="of another seed"):
        choose_number_of_topics(counts, (2, 4), directory=folder, steps=60, chains=2, seed=1)
    with pytest.raises(InputError, match="is another one"):
        choose_number_of_topics(counts[:200], (2, 4), directory=folder, steps=60, chains=2)


def test_advice_is_of_all_numbers_that_stand_in_the_directory(ladder, counts, tmp_path):
    folder = tmp_path / "runs"
    shutil.copytree(ladder[0], folder)
    other = tmp_path / "other"
    choose_number_of_topics(counts, (5, 16), directory=other, steps=10, chains=1, seed=1)
    (other / "topics-16").rename(folder / "topics-16")
    (folder / "topics-32").mkdir()
    found = choose_number_of_topics(counts, (2, 3), directory=folder, steps=60, chains=2)
    assert [row["topics"] for row in found.rows] == [2, 3, 4, 8]
    assert found.chosen == 4
    said = " ".join(str(found).split())
    assert "It is the largest that was tried" not in said
    for note in (
        "In the directory already, and compared too: 4, 8.",
        "topics-16 is not compared: it is of another seed and chains.",
        "topics-32 is not compared: it cannot be read.",
    ):
        assert note in said
        assert note in (folder / "choice.html").read_text()
    assert len(json.loads((folder / "choice.json").read_text())["rows"]) == 4


def test_a_ladder_is_told_as_text_json_svg_and_a_page(ladder):
    folder, found = ladder
    text = str(found)
    assert max(map(len, text.splitlines())) <= 80
    assert "> " in text
    head, row = text.splitlines()[:2]
    assert len(head) == len(row)  # the numbers stand below what they are
    found.save(folder)  # after others have been there
    told = json.loads((folder / "choice.json").read_text())
    assert told["chosen"] == 4
    assert told["rows"] == found.rows
    svg = (folder / "choice.svg").read_text()
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    page = html.unescape((folder / "choice.html").read_text())
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert list(found.frame()["topics"]) == [2, 4, 8]


@pytest.mark.parametrize(
    ("numbers", "options", "message"),
    [
        ((5,), {}, "two whole numbers or more"),
        ((5, 5), {}, "two whole numbers or more"),
        ((1, 5), {}, "n_topics must be"),
        ((2, 3), {"held_out": 240}, "held_out must be"),
        ((2, 200), {}, "at most the 180 documents that are fitted"),
        ((2, 3), {"method": "scir"}, "use method 'gibbs'"),
        ((2, 3), {"no_setting": 1}, "unknown settings"),
    ],
)
def test_what_cannot_be_compared_is_refused_and_nothing_is_written(
    counts, tmp_path, numbers, options, message
):
    with pytest.raises(ValueError, match=message):
        choose_number_of_topics(counts, numbers, directory=tmp_path / "runs", steps=10, **options)
    assert not (tmp_path / "runs").exists()


def test_the_command_names_a_number(counts, tmp_path, call):
    sp.save_npz(tmp_path / "counts.npz", counts)
    options = ("--topics", "2,4", "--steps", 40, "--chains", 1)
    told = json.loads(call("choose-k", tmp_path / "counts.npz", "--run", tmp_path / "k", *options, "--json"))
    assert told["chosen"] == 4
    assert told["rows"][0]["shared"] is None  # one chain
    assert "the page:" in call("choose-k", tmp_path / "counts.npz", "--run", tmp_path / "k", *options)


def test_help_tells_the_defaults_of_the_runs(call):
    told = re.split(r"\s--(?=[a-z-]+ <)", call("choose-k", "--help"))
    defaults = {text.split()[0]: " ".join(text.split()).split("Default: ")[-1] for text in told}
    for name in ("doc-topic", "topic-word"):
        assert defaults[f"learn-{name}-prior"].startswith("symmetric.")
    assert defaults["method"].startswith("gibbs.")


def test_runs_of_other_steps_than_were_asked_for_are_told():
    runs = [SimpleNamespace(path=Path(f"k/topics-{k}"), state={"total": n}) for k, n in ((2, 10), (4, 400))]
    (note,) = shorter_or_longer(runs, 400)
    assert note.startswith("topics-2 has 10 steps of each chain, and not the 400 that were asked for")
    assert shorter_or_longer(runs, None) == []


@pytest.mark.parametrize("name", ["choice.html", "choice.svg", "choice.json"])
def test_files_of_somebody_else_are_never_replaced_and_refused_before_any_work(name, tmp_path):
    """`choice.json` was written over, and the others refused after all runs, without their answer."""
    scores, tokens = simulated_scores(np.random.default_rng(0), (-2.0, -1.0))
    others = {"perplexity": 9.0, "shared": 1, "npmi": None, "run": "run"}
    rows = [{"topics": k} | others | row for k, row in zip((5, 10), compared(scores, tokens), strict=True)]
    ladder = Ladder(rows, 10, 10, 4, 300, int(tokens.sum()))
    (tmp_path / name).write_text('{"rows": "mine"}')
    with pytest.raises(InputError, match=f"{name} exists already and is no report of geodrift"):
        ladder.save(tmp_path)
    with pytest.raises(InputError, match=f"{name} exists already and is no report of geodrift"):
        choose_number_of_topics(np.ones((30, 4), int), (2, 3), directory=tmp_path, steps=1)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    (tmp_path / name).unlink()
    ladder.save(tmp_path)
    ladder.save(tmp_path)


def test_a_figure_of_somebody_else_is_never_replaced(tmp_path):
    """`report().save("drawing.svg")` wrote over whatever stood there."""
    rows = [
        {
            "topics": k,
            "difference": d,
            "difference_error": 0.1,
            "score": -d,
            "chain_scores": [-d],
            "apart": False,
        }
        for k, d in ((2, 0.0), (4, 0.5))
    ]
    report, path = LadderReport(rows, 2, 2, 1, 10, 100, "a rule"), tmp_path / "drawing.svg"
    path.write_text("<svg>mine</svg>")
    with pytest.raises(InputError, match="no report of geodrift"):
        report.save(path)
    assert path.read_text() == "<svg>mine</svg>"
    path.unlink()
    report.save(path)
    first = path.read_bytes()
    report.save(path)
    assert path.read_bytes() == first
