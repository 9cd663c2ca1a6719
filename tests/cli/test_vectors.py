"""Commands of a model that reads vectors: `fit vmf` and all that takes its runs, and what is refused."""

import csv
import json

import numpy as np
import pytest
import scipy.sparse as sp
from command import assert_one_line, tree

import geodrift
from geodrift.distributions._host_sample import host_sample

QUICK = ["--steps", 24, "--draws", 4, "--chains", 2]


@pytest.fixture(scope="module")
def vectors():
    """Rows of three clusters in five dimensions, and their clusters."""
    rng = np.random.default_rng(0)
    directions, truth = host_sample(rng, np.zeros((3, 5))), np.repeat([0, 1, 2], [60, 40, 20])
    return host_sample(rng, 80 * directions[truth]).astype(np.float32), truth


@pytest.fixture(scope="module")
def folder(tmp_path_factory, vectors):
    folder = tmp_path_factory.mktemp("vectors")
    np.save(folder / "x.npy", vectors[0])
    return folder


@pytest.fixture
def run(folder, geodrift_cli):
    """A run that the tests do not change."""
    if not (folder / "run").exists():
        status, out, err = geodrift_cli("fit", "vmf", folder / "x.npy", "--run", folder / "run", *QUICK)
        assert (status, out) == (0, f"{folder / 'run'}\n")
        assert "corpus: 120 vectors of 5 numbers, dense, float32" in err
        assert "3 of 3 clusters were found by both chains" in err
        assert f"next: geodrift clusters {folder / 'run'}" in err
    return folder / "run"


def test_clusters_tells_sizes_concentrations_and_nearest_rows(run, vectors, geodrift_cli):
    x, truth = vectors
    status, out, _ = geodrift_cli("clusters", run, "--json", "--top", 3)
    told = json.loads(out)
    assert status == 0
    assert [part["cluster"] for part in told["clusters"]] == [0, 1, 2]
    for place, part in enumerate(told["clusters"]):
        assert part["size_low"] < part["size"] < part["size_high"]
        assert part["size"] == pytest.approx([0.5, 1 / 3, 1 / 6][place], abs=0.1)
        assert part["concentration_low"] < part["concentration"] < part["concentration_high"]
        assert part["concentration"] == pytest.approx(80, rel=0.5)
        assert [truth[near["row"]] for near in part["nearest"]] == [place] * 3
        cosines = x[truth == place] @ x[truth == place].mean(axis=0)
        best = np.flatnonzero(truth == place)[np.argmax(cosines)]
        assert best in [near["row"] for near in part["nearest"]]
    assert [number["name"] for number in told["numbers"]] == [
        "number_of_clusters",
        "number_of_clusters_above",
    ]
    assert (told["numbers"][1]["low"], told["numbers"][1]["high"]) == (3, 3)
    status, text, _ = geodrift_cli("clusters", run, "--top", 3)
    assert text.startswith("Number of clusters, 90%: 3 to ")
    assert text.count("of the rows, found by 2 of 2 chains") == 3
    assert text.count("nearest rows (cosine): ") == 3


def test_effects_of_vectors_are_refused_for_what_they_are(run, geodrift_cli):
    """Not for want of fields, which vectors cannot have."""
    status, out, err = geodrift_cli("effect", run, "--by", "group")
    assert_one_line(status, out, err)
    assert "no effects of groups" in err
    assert "fit lda" in err


def test_memberships_are_the_same_of_the_run_s_rows_and_of_a_file(run, folder, vectors, geodrift_cli):
    for name, source in (("own", []), ("given", [folder / "x.npy"])):
        (folder / f"{name}.csv").unlink(missing_ok=True)
        assert geodrift_cli("transform", run, *source, "--out", folder / f"{name}.csv")[0] == 0
    assert (folder / "own.csv").read_bytes() == (folder / "given.csv").read_bytes()
    rows = list(csv.DictReader((folder / "own.csv").read_text().splitlines()))
    assert [row["id"] for row in rows[:3]] == ["0", "1", "2"]
    weights = np.array(
        [[float(row[k]) for k in ("cluster_0", "cluster_1", "cluster_2", "others")] for row in rows]
    )
    assert weights.sum(axis=1) == pytest.approx(np.ones(120), abs=1e-4)
    assert (weights[:, :3].argmax(axis=1) == vectors[1]).mean() > 0.98
    (folder / "w.npz").unlink(missing_ok=True)
    assert geodrift_cli("transform", run, "--out", folder / "w.npz")[0] == 0
    with np.load(folder / "w.npz") as found:
        assert found["mean"].sum(axis=1) == pytest.approx(np.ones(120), abs=1e-6)
        assert np.isfinite(found["low"]).all()


def test_evaluate_documents_export_and_resume(run, folder, vectors, geodrift_cli, tmp_path):
    status, out, _ = geodrift_cli("evaluate", run, folder / "x.npy", "--json")
    scores = json.loads(out)
    assert status == 0
    assert scores["rows"] == 120
    assert scores["nats"] <= scores["nats_of_one_draw"]
    assert "nats a row" in geodrift_cli("evaluate", run, folder / "x.npy")[1]
    status, out, _ = geodrift_cli("documents", run, "--json", "--top", 2)
    leading = json.loads(out)["documents"]
    assert [vectors[1][int(d["id"])] for told in leading for d in told["documents"]] == [0, 0, 1, 1, 2, 2]
    assert geodrift_cli("export", run, "--out", tmp_path / "e.npz")[0] == 0
    with np.load(tmp_path / "e.npz") as exported:
        assert exported["directions"].shape == (8, 3, 5)
        assert np.linalg.norm(exported["directions"], axis=2) == pytest.approx(np.ones((8, 3)), abs=1e-6)
        assert exported["shared"].all()
    assert geodrift_cli("verify", run)[0] == 0
    again = tmp_path / "again"
    assert geodrift_cli("fit", "vmf", folder / "x.npy", "--run", again, *QUICK)[0] == 0
    before = geodrift.load(again).draws["posterior"].to_dataset().load()
    assert geodrift_cli("resume", again, "--steps", 12)[0] == 0
    after = geodrift.load(again).draws["posterior"].to_dataset()
    assert after.sizes["draw"] > before.sizes["draw"]
    length = before.sizes["draw"]
    assert np.array_equal(after["assignments"][:, :length], before["assignments"])


def test_sparse_rows_with_words_and_rows_set_aside(geodrift_cli, tmp_path):
    rng = np.random.default_rng(1)
    counts = sp.csr_matrix(rng.poisson(np.kron(np.eye(3), np.ones(4))[rng.integers(3, size=90)] + 0.02))
    counts = counts[counts.getnnz(axis=1) > 0]
    words = [f"w{i:02d}" for i in range(12)]
    sp.save_npz(tmp_path / "x.npz", counts)
    (tmp_path / "words.txt").write_text("\n".join(words) + "\n")
    typed = ["--vocab", tmp_path / "words.txt", "--normalise", "yes", "--clusters", 3, "--held-out", 9]
    status, _, err = geodrift_cli("fit", "vmf", tmp_path / "x.npz", "--run", tmp_path / "run", *typed, *QUICK)
    assert status == 0
    assert "held-out rows" in err
    assert "sparse" in err
    told = json.loads(geodrift_cli("clusters", tmp_path / "run", "--json", "--top", 4)[1])["clusters"]
    themes = {frozenset(entry["word"] for entry in part["words"]) for part in told}
    assert themes == {frozenset(words[k : k + 4]) for k in (0, 4, 8)}
    assert "90% interval" in geodrift_cli("clusters", tmp_path / "run")[1]
    assert geodrift_cli("transform", tmp_path / "run", "--out", tmp_path / "w.npz")[0] == 0
    with np.load(tmp_path / "w.npz") as weights:
        assert weights["mean"].shape == (counts.shape[0], 3)


def test_a_background_has_the_last_column(folder, geodrift_cli, tmp_path):
    typed = ["--clusters", 3, "--background", 1, *QUICK]
    assert geodrift_cli("fit", "vmf", folder / "x.npy", "--run", tmp_path / "run", *typed)[0] == 0
    assert geodrift_cli("transform", tmp_path / "run", "--out", tmp_path / "w.npz")[0] == 0
    with np.load(tmp_path / "w.npz") as weights:
        assert weights["mean"].shape == (120, 4)
        assert weights["mean"].sum(axis=1) == pytest.approx(np.ones(120), abs=1e-6)
        assert weights["mean"][:, 3].mean() < 0.1
    assert geodrift_cli("transform", tmp_path / "run", "--out", tmp_path / "w.csv")[0] == 0
    assert (tmp_path / "w.csv").read_text().startswith("id,cluster_0,cluster_1,cluster_2,no_cluster\n")
    assert geodrift_cli("transform", tmp_path / "run", "--out", tmp_path / "w.parquet", "--long")[0] == 0
    parquet = pytest.importorskip("pyarrow.parquet")
    labels = parquet.read_table(tmp_path / "w.parquet")["cluster"].to_pylist()
    assert labels[:5] == ["0", "1", "2", "no_cluster", "0"]


def test_a_mixture_that_has_no_cluster_at_all_says_so(folder, geodrift_cli, tmp_path):
    run, typed = tmp_path / "run", ["--background", 1e9, *QUICK]
    status, _, err = geodrift_cli("fit", "vmf", folder / "x.npy", "--run", run, *typed)
    assert (status, "note: there is no cluster to tell of" in err) == (0, True), err
    assert_one_line(*geodrift_cli("clusters", run))
    # Every row is uniform on the sphere of five dimensions, of area 8 pi^2 / 3.
    status, out, _ = geodrift_cli("evaluate", run, folder / "x.npy", "--json")
    assert (status, json.loads(out)["nats"]) == (0, pytest.approx(np.log(8 * np.pi**2 / 3), abs=1e-4))


GOOD = np.eye(3)[[0, 1, 2, 0]]


@pytest.mark.parametrize(
    ("x", "typed", "words"),
    [
        (
            np.where(GOOD > 0, np.nan, 0.0),
            [],
            "row 0 has a value that is NaN or infinite: leave such rows out",
        ),
        (GOOD[[0, 1]] * [[1], [0]], [], "row 1 is zero and has no direction: leave such rows out"),
        (
            3 * GOOD,
            [],
            "row 0 has norm 3; divide each row by its norm, or say normalise=True (--normalise yes)",
        ),
        (GOOD[:1], [], "there is one row"),
        (GOOD, ["--clusters", 5], "--clusters is 5 but there are 4 rows; ask for fewer clusters"),
        (GOOD[[0, 0, 0]], [], "all 3 rows are equal: there is nothing to cluster"),
        (GOOD.astype(complex), [], "x.npy holds an array of something other than real numbers"),
        (GOOD.astype(str), [], "x.npy holds values of type <U32; vectors are real numbers"),
        (GOOD.astype(np.longdouble), [], "vectors are real numbers of 64 bits at most: save them as float32"),
        (GOOD.astype(object), [], "x.npy holds Python objects, which are never unpickled"),
        (GOOD[0], [], "x.npy holds an array of 1 dimensions; rows of vectors are 2"),
        (GOOD[:0], [], "x.npy has no rows"),
        (GOOD, ["--held-out", 4], "--held-out must lie between 1 and 3 (4 rows), got 4"),
        (GOOD, ["--topics", 3], "--topics is not an option of vmf"),
        (GOOD, ["--min-df", 3], "--min-df is about text, and vmf reads vectors"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_vectors_that_cannot_be_are_refused_in_one_line(x, typed, words, geodrift_cli, tmp_path):
    np.save(tmp_path / "x.npy", x, allow_pickle=True)
    status, out, err = geodrift_cli(
        "fit", "vmf", tmp_path / "x.npy", "--run", tmp_path / "run", *typed, *QUICK
    )
    assert_one_line(status, out, err, code=2 if {"--topics", "--min-df"} & set(typed) else 1)
    assert words in err
    assert sorted(tree(tmp_path)) == ["x.npy"]


@pytest.mark.parametrize(
    ("name", "contents", "words"),
    [
        ("x.npy", b"", "is empty"),
        ("x.npy", b"what is this", "is not an array saved by numpy.save"),
        ("x.npz", b"PK\x03\x04 and no more", "is damaged or was cut off"),
        ("x.txt", b"1 0\n0 1\n", "is not a file of vectors: save an array by numpy.save (.npy)"),
        ("x.npy", None, "does not exist"),
    ],
)
def test_files_that_hold_no_vectors_are_refused_in_one_line(name, contents, words, geodrift_cli, tmp_path):
    if contents is not None:
        (tmp_path / name).write_bytes(contents)
    status, out, err = geodrift_cli("fit", "vmf", tmp_path / name, "--run", tmp_path / "run")
    assert_one_line(status, out, err)
    assert words in err


def test_a_file_cut_off_and_names_that_do_not_fit(geodrift_cli, tmp_path):
    np.save(tmp_path / "x.npy", GOOD)
    (tmp_path / "words.txt").write_text("one\ntwo\n")
    told = geodrift_cli(
        "fit", "vmf", tmp_path / "x.npy", "--run", tmp_path / "run", "--vocab", tmp_path / "words.txt"
    )
    assert_one_line(*told)
    assert "the vocabulary has 2 words" in told[2]
    (tmp_path / "x.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-8])
    told = geodrift_cli("fit", "vmf", tmp_path / "x.npy", "--run", tmp_path / "run")
    assert_one_line(*told)
    assert "was cut off or changed: it has fewer bytes than its header says" in told[2]


@pytest.mark.parametrize("dtype", [np.float16, np.float64, ">f4", np.int8])
def test_any_real_numbers_are_read_by_memory_map(dtype, geodrift_cli, tmp_path, vectors):
    x = vectors[0] if np.dtype(dtype).kind == "f" else np.rint(100 * vectors[0])
    np.save(tmp_path / "x.npy", x.astype(dtype))
    typed = ["--clusters", 3, "--normalise", "yes", "--steps", 8, "--draws", 2, "--chains", 1]
    assert geodrift_cli("fit", "vmf", tmp_path / "x.npy", "--run", tmp_path / "run", *typed)[0] == 0
    found = geodrift.load(tmp_path / "run").draws["posterior"]["assignments"].values[0, -1]
    assert len({(int(a), int(b)) for a, b in zip(found, vectors[1], strict=True)}) < 8


def test_vectors_that_changed_are_refused_and_new_ones_have_to_fit(vectors, geodrift_cli, tmp_path):
    np.save(tmp_path / "x.npy", vectors[0])
    run = tmp_path / "run"
    assert geodrift_cli("fit", "vmf", tmp_path / "x.npy", "--run", run, *QUICK)[0] == 0
    np.save(tmp_path / "wide.npy", np.eye(6))
    told = geodrift_cli("transform", run, tmp_path / "wide.npy", "--out", tmp_path / "w.csv")
    assert_one_line(*told)
    assert f"the input has 6 numbers in a row but run {run} has 5" in told[2]
    np.save(tmp_path / "long.npy", 2 * vectors[0])
    for command in (
        ["evaluate", run, tmp_path / "long.npy"],
        ["transform", run, tmp_path / "long.npy", "--out", tmp_path / "w.csv"],
    ):
        told = geodrift_cli(*command)
        assert_one_line(*told)
        assert "row 0 has norm 2" in told[2]
    before = tree(run)
    np.save(tmp_path / "x.npy", vectors[0][::-1])
    for command in (
        ["resume", run, "--steps", 5],
        ["transform", run, "--out", tmp_path / "w.csv"],
        ["documents", run],
    ):
        told = geodrift_cli(*command)
        assert_one_line(*told)
        assert f"have changed since run {run} was fitted to them" in told[2]
    assert tree(run) == before
    status, out, err = geodrift_cli("clusters", run)
    assert status == 0
    assert "nearest rows" not in out
    assert "note: the rows nearest to each cluster are not told: vectors" in err
    (tmp_path / "x.npy").unlink()
    told = geodrift_cli("resume", run, "--steps", 5)
    assert_one_line(*told)
    assert "are no longer at" in told[2]
    assert "x.npy" in told[2]
    assert not (tmp_path / "w.csv").exists()
