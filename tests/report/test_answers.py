"""Reports of runs and of estimators: the numbers of the answers, the command, and what is refused."""

import json
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import geodrift as gd
from cases import MODELS
from geodrift import cli, models
from geodrift.driver import Run
from geodrift.models.kit._document_weights import weight_blocks
from geodrift.models.kit._report_documents import weighed_documents
from geodrift.models.kit._report_facade import _named_rows
from geodrift.models.kit._runs import corpus_of
from geodrift.report._text import significant
from law_checks import some_of
from report.synthetic import synthetic_clusters

WORDS = [f"w{i:02d}" for i in range(30)]


def documents(number, seed):
    """Documents of three groups, each with ten words of its own."""
    rng = np.random.default_rng(seed)
    rates = np.kron(np.eye(3), np.ones(10)) * 1.5 + 0.05
    return sp.csr_matrix(rng.poisson(rates[rng.integers(3, size=number)]))


@pytest.fixture
def command(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["geodrift", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main()
        told = capsys.readouterr()
        return stop.value.code or 0, told.out, told.err

    return call


COMPONENTS = {"lda": "topics", "sam": "topics", "dpm": "clusters"}


@pytest.fixture(scope="module", params=some_of(COMPONENTS, {"lda", "dpm"}))
def run(request, tmp_path_factory):
    """A run of two chains, some documents set aside."""
    folder = tmp_path_factory.mktemp(request.param)
    sp.save_npz(folder / "train.npz", documents(60, 0))
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    arguments = [
        "fit",
        request.param,
        folder / "train.npz",
        "--vocab",
        folder / "vocab.txt",
        "--run",
        folder / "run",
    ]
    options = [
        f"--{COMPONENTS[request.param]}",
        3,
        "--steps",
        60,
        "--chains",
        2,
        "--held-out",
        8,
        "--batch-size",
        20,
        "--draws",
        8,
    ]
    before, sys.argv = sys.argv, ["geodrift", *map(str, [*arguments, *options])]
    try:
        cli.main()
    except SystemExit as stop:
        assert not stop.code  # noqa: PT017
    finally:
        sys.argv = before
    return folder / "run"


def test_numbers_are_those_of_the_other_commands(run, command):
    opened = Run.open(run)
    answers = models.model_of(opened).answers()
    name = answers.model.summary.command
    status, out, _ = command(name, run, "--json", "--top", 15)
    told = json.loads(out)
    report = models.report(run, documents=20)
    assert status == 0
    assert report.parts == told[name]
    assert json.loads(json.dumps(list(report.numbers))) == told.get("numbers", [])
    assert json.loads(json.dumps(report.verdict)) == told["verdict"]

    tree = answers.to_datatree(opened)
    found = tree["agreement"]["found"].values
    topics = tree["posterior"][answers.variable].values
    for place, part in enumerate(report.parts):
        assert part["found"] == found[:, place].sum()
        mean = topics[found[:, place], :, place].mean(axis=(0, 1))
        for entry in part["words"]:
            assert entry["weight"] == pytest.approx(mean[WORDS.index(entry["word"])], rel=1e-6)

    corpus = models.kit.corpus_of(opened)
    rows = models.document_rows(opened, answers.model, corpus.rows(report.documents.numbers))
    weights = answers.transform(opened, rows, seed=0, fitted=True)
    for name in ("mean", "low", "high"):
        np.testing.assert_array_equal(getattr(report.documents, name), weights[name])
    scores = answers.evaluate(opened, answers.rows(opened, corpus.split(8, 0)[1]), num_draws=None, seed=0)
    assert report.scores == scores
    frame = report.frames()["documents"]
    assert frame["mean_1"].tolist() == pytest.approx(weights["mean"].max(axis=1), abs=5e-4)


def test_documents_set_aside_are_not_told_of(run):
    opened = Run.open(run)
    report = models.report(opened, documents=1000)
    fitted = models.kit.corpus_of(opened).split(8, 0)[0].documents
    np.testing.assert_array_equal(report.documents.numbers, fitted)
    assert (report.checks is None) == (opened.config["model"] != "lda")


def test_the_command(run, command, tmp_path):
    status, out, err = command("report", run, "--documents", 10)
    assert (status, out, err) == (0, f"{run}/report.html\n", "")
    first = (run / "report.html").read_text()
    assert command("report", run, "--documents", 10)[0] == 0
    assert (run / "report.html").read_text() == first
    assert command("verify", run)[0] == 0

    other = tmp_path / "mine.html"
    other.write_text("mine")
    status, out, err = command("report", run, "--out", other)
    assert (status, out) == (1, "")
    assert "no report of geodrift" in err
    assert other.read_text() == "mine"
    assert command("report", run, "--out", tmp_path / "report.pdf")[0] == 2
    assert command("report", tmp_path / "nothing")[0] == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["mine.html"]


def test_without_the_corpus(run):
    report = models.report(run, documents=0)
    assert report.documents is None
    assert report.scores is None
    assert "No documents were asked for" in report.html()


REPORTING = [case for case in MODELS if case.reads == "counts"]


def test_documents_set_aside_are_weighed_as_new_ones(run):
    run = Run.open(run)
    model, corpus = models.model_of(run), corpus_of(run)
    if model.name == "sam":
        return  # it weighs both alike
    fitted = corpus.split(run.config["held_out"], run.config["seed"])[0].documents
    aside = np.setdiff1d(np.arange(corpus.num_documents), fitted)
    assert len(aside) == 8
    (_, weights), *more = weight_blocks(run, model, corpus, fitted=True)
    assert not more
    rows = model.answers().rows(run, corpus.rows(np.arange(corpus.num_documents)))
    own, new = (model.answers().transform(run, rows, seed=0, fitted=fitted) for fitted in (True, False))
    for name in ("mean", "low", "high"):
        np.testing.assert_array_equal(weights[name][fitted], own[name][fitted])
        np.testing.assert_array_equal(weights[name][aside], new[name][aside])
    assert not np.array_equal(new["mean"][aside], own["mean"][aside])


@pytest.mark.parametrize("case", REPORTING, ids=lambda case: case.name)
def test_estimators_report_their_own_numbers(case):
    counts = documents(40, 2)
    kind = getattr(models, case.facade)
    model = kind(**case.settings, n_steps=40, n_draws=6, n_chains=2, random_state=0).fit(counts)
    names = [f"title {i}" for i in range(40)]
    report = model.report(WORDS, documents=counts, names=names)
    assert report.parts == model.top_words(WORDS, top=15)
    told = model.transform_with_intervals(counts)
    np.testing.assert_array_equal(report.documents.mean, told["mean"])
    assert report.documents.names == names
    stored = model.to_datatree(WORDS)["posterior"]
    assert set(report.traces) == {name for name in stored if stored[name].ndim == 2} != set()
    for name, draws in report.traces.items():
        np.testing.assert_array_equal(draws, stored[name].values)
    assert set(report.verdict["quantities"]) == set(report.traces)
    assert "title 7" not in model.report(WORDS).html()
    with pytest.raises(ValueError, match="one name for each of the 40 documents"):
        model.report(WORDS, documents=counts, names=["one"])
    with pytest.raises(ValueError, match="vocabulary must be 30 words, got 2"):
        model.report(["a", "b"])


def test_figures_of_papers_show_the_same_numbers(run):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    report = models.report(run, documents=10)
    axes = gd.plots.words(report, 1, top=5)
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    values = [entry["weight"] for entry in report.parts[1]["words"][:5]]
    assert [float(np.ravel(dot.get_xdata())[0]) for dot in dots] == values
    sized = gd.plots.sizes(report)
    assert len(sized.get_yticklabels()) == len(report.parts)
    gd.plots.component_map(report)
    gd.plots.document(report, int(report.documents.numbers[3]))
    name = next(iter(report.traces))
    assert len(gd.plots.traces(report, name).lines) == 2
    assert {"effects", "traces", "words"} < set(dir(gd.plots))
    assert "lazy" not in dir(gd.plots)
    groups = [{"group": "a", "mean": 0.25, "low": 0.125, "high": 0.5, "difference": None}]
    groups.append(groups[0] | {"group": "b$", "low": None, "high": None})
    groups[1]["difference"] = {"mean": 0.0625, "low": -0.5, "high": 0.5}
    effect = [{"topic": 0, "reference": "a", "groups": groups}]
    shares = gd.plots.effects(effect, 0)
    assert [float(np.ravel(line.get_xdata())[-1]) for line in shares.lines] == [0.5, 0.25, 0.25]
    apart = gd.plots.effects(effect, 0, differences=True)
    assert [list(np.ravel(line.get_xdata())) for line in apart.lines] == [[-0.5, 0.5], [0.0625], [0, 0]]
    for figure in map(pyplot.figure, pyplot.get_fignums()):
        figure.canvas.draw()
    pyplot.close("all")
    for wrong in (
        lambda: gd.plots.words(report, 99),
        lambda: gd.plots.effects(effect, 1),
        lambda: gd.plots.traces(report, "nothing"),
        lambda: gd.plots.document(report, 10_000),
    ):
        with pytest.raises(gd.InputError):
            wrong()


def test_figures_of_clusters_of_vectors_name_rows_and_what_is_no_cluster():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    report = synthetic_clusters()
    sized = gd.plots.sizes(report, words=2)
    first = report.by_size()[0]
    rows = [f"row {entry['row']}" for entry in report.parts[first]["nearest"][:2]]
    assert sized.get_yticklabels()[0].get_text() == " ".join([str(first), *rows])
    every = gd.plots.document(report, 0, top=99)
    names = [label.get_text() for label in every.get_yticklabels()]
    assert sorted(names) == sorted([f"cluster {k}" for k in range(5)] + ["other clusters", "no cluster"])
    with pytest.raises(gd.InputError, match="have no words: make it with a vocabulary"):
        gd.plots.words(report, 0)
    pyplot.close("all")


def test_rows_of_a_data_frame_have_the_names_of_its_index():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sea": [1, 2]}, index=["letter", "diary"])
    assert _named_rows(frame) == ["letter", "diary"]
    assert _named_rows(frame.reset_index(drop=True)) is None
    assert _named_rows(frame.to_numpy()) is None


def test_six_digits():
    assert significant(0.123456789) == 0.123457
    assert significant(float("nan")) is None
    assert significant(3) == 3


def test_words_of_a_document_are_its_own_and_each_once():
    """A word that stands twice in a row was told twice, and one of a stored 0 as if it were there."""
    rows = sp.csr_matrix(
        (np.array([2.0, 3.0, 0.0, 1.0]), np.array([0, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3)
    )
    before = rows.data.copy(), rows.indices.copy()
    ends = dict.fromkeys(("mean", "low", "high"), np.array([[0.9, 0.1], [0.2, 0.8]]))
    told = weighed_documents(np.arange(2), ["a", "b"], rows, ends, ["w0", "w1", "w2"], 2)
    assert told.words == {0: ["w0"], 1: ["w1"]}
    alone = {name: values[:1] for name, values in ends.items()}
    one = weighed_documents(np.arange(1), ["a"], sp.csr_matrix([[1, 9, 3]]), alone, ["w0", "w1", "w2"], 1)
    assert one.words == {0: ["w1", "w2", "w0"]}  # each is in all documents: by their counts
    np.testing.assert_array_equal(rows.data, before[0])
    np.testing.assert_array_equal(rows.indices, before[1])
