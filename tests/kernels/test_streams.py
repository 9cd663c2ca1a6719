"""Random streams: no two uses of random numbers whose draws enter one result can name the same stream."""

import ast
import io
import itertools
import math
import zlib
from pathlib import Path

import jax
import numpy as np
import pytest
import scipy.sparse as sp
from rich.console import Console

import geodrift
from cases import MODELS
from geodrift.data import Corpus, VectorSource
from geodrift.driver import Length, sampled
from geodrift.kernels import _streams
from geodrift.kernels._stream_kinds import KernelStreams, PhiloxStreams, ReservedFold, SeededStreams
from geodrift.models import create_run, document_rows, fit, make_chains, model_named
from geodrift.models import latent_dirichlet_allocation as lda
from geodrift.models import spherical_admixture as sam
from geodrift.models.kit._content_hashes import content_hashes
from geodrift.models.kit._facade import MatrixCorpus
from law_checks import some

KINDS = (KernelStreams, PhiloxStreams, SeededStreams, ReservedFold)
REGISTRY = {name: use for name, use in vars(_streams).items() if isinstance(use, KINDS)}
SEED = 3


def together(a, b):
    """Whether draws of both enter one result: one scope begins with the other."""
    words = a.scope.split(), b.scope.split()
    return all(x == y for x, y in zip(*words, strict=False))


def same_kernel_stream(a, b):
    if a.number or b.number:
        # Numbers are the upper half of the chain's word; those of any two uses differ.
        return a.number == b.number
    same_step = (a.offset - b.offset) % math.gcd(a.stride, b.stride) == 0
    return together(a, b) and same_step and max(a.items[0], b.items[0]) <= min(a.items[1], b.items[1])


def can_meet(a, b):
    """Whether two uses can name the same stream."""
    if type(a) is not type(b):
        return False  # generators of different algorithms
    if isinstance(a, KernelStreams):
        return same_kernel_stream(a, b)
    if isinstance(a, ReservedFold):
        return a.key == b.key and a.number == b.number
    return together(a, b) and a.number == b.number


def meetings(registry):
    """The pairs of uses that can name the same stream."""
    return [pair for pair in itertools.combinations(registry, 2) if can_meet(*(registry[n] for n in pair))]


def test_no_two_uses_can_name_the_same_stream():
    assert len(REGISTRY) > 30
    assert meetings(REGISTRY) == []


@pytest.mark.parametrize(
    "overlapping",
    [
        KernelStreams("new model", 2, "chain", "steps taken", "document"),
        KernelStreams("lda gibbs", 0, "chain", "steps taken", "word", stride=3, offset=1),
        KernelStreams("lda gibbs", 0, "chain", "steps taken", "word", stride=2),
        KernelStreams("sam", 0, "0", "topic draw", "hash of the document"),
        KernelStreams("lda scaled counts", 0, "chain", "steps", "all topics", 2, 1, (-3, -2)),
        PhiloxStreams("lda scaled counts", 1),
        PhiloxStreams("", 4),
        SeededStreams("", 0),
        SeededStreams("lda gibbs", 20090, "replicate"),
        ReservedFold("the key of `sample`", "chain", 2**32 - 2),
    ],
    ids=str,
)
def test_a_line_that_overlaps_another_is_found(overlapping):
    assert meetings(REGISTRY | {"OVERLAPPING": overlapping})


def names_of(use):
    """What the generators are given for the first chains, steps and items of a use."""
    places = itertools.product(range(3), range(30))
    if isinstance(use, KernelStreams):
        first, last = use.items
        items = {first, last, *(i for i in range(-4, 5) if first <= i <= last)}
        return {(*use.family(SEED, *place), item) for place in places for item in items}
    if isinstance(use, PhiloxStreams):
        states = (use.generator(SEED, *place).bit_generator.state["state"] for place in places)
        return {(*state["key"].tolist(), *state["counter"].tolist()) for state in states}
    if isinstance(use, SeededStreams):
        words = [()] if not use.words else [(i,) for i in range(30)]
        states = (use.generator(SEED, *more).bit_generator.state["state"] for more in words)
        return {(state["state"], state["inc"]) for state in states}
    key = jax.random.key(SEED)
    folded = [use.fold(key), *(jax.random.fold_in(key, i) for i in range(30))]
    names = {tuple(np.asarray(jax.random.key_data(k)).tolist()) for k in folded}
    assert len(names) == 31
    return {(use.key, *np.asarray(jax.random.key_data(use.fold(key))).tolist())}


def test_what_the_generators_are_given_is_as_the_registry_says():
    names = {name: names_of(use) for name, use in REGISTRY.items()}
    for a, b in itertools.combinations(REGISTRY, 2):
        same_kind = type(REGISTRY[a]) is type(REGISTRY[b])
        if same_kind and (isinstance(REGISTRY[a], ReservedFold) or together(REGISTRY[a], REGISTRY[b])):
            assert not names[a] & names[b], (a, b)


def test_keys_of_kernels_in_jax_are_all_different():
    """Also a family's key and the key of a document of another family, into which a sweep is folded."""
    uses = [_streams.LDA_MINIBATCH_ASSIGNMENTS, _streams.LDA_COMPLETION_ASSIGNMENTS]
    uses += [_streams.LDA_TRANSFORM_ASSIGNMENTS, _streams.LDA_TRANSFORM_MIXTURES]
    families = [
        use.family(SEED, *place).key for use in uses for place in itertools.product(range(4), repeat=2)
    ]
    keys = families + [jax.random.fold_in(key, document) for key in families for document in range(4)]
    assert len({tuple(np.asarray(jax.random.key_data(key)).tolist()) for key in keys}) == len(keys)


@pytest.mark.parametrize("words", [(SEED, -1, 0), (SEED, 2**32, 0), (SEED, 0, -1), (-1, 0, 0)])
def test_words_that_would_be_those_of_another_use_are_refused(words):
    with pytest.raises(ValueError, match="must be a whole number from 0"):
        _streams.SAM_MIXTURES.family(*words)


def test_streams_are_named_in_the_registry_alone():
    package = Path(geodrift.__file__).parent
    makers = {
        "open_family",
        "Philox",
        "default_rng",
        "PCG64",
        "SeedSequence",
        "RandomState",
        "SFC64",
        "MT19937",
    }
    found = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            name = getattr(node, "attr", None) or getattr(node, "id", None) or getattr(node, "name", None)
            if name in makers:
                found.add(path.relative_to(package).as_posix())
    # The second defines the kernels' streams; the third seeds with 128 random bits of a JAX key.
    assert found == {"kernels/_stream_kinds.py", "kernels/_random_streams.py", "tuning/_pilot_data.py"}


@pytest.fixture
def opened(monkeypatch):
    """What the generators are given while a test runs."""
    given = []

    def record(kind, method, name_of):
        original = getattr(kind, method)

        def recorded(*arguments):
            made = original(*arguments)
            given.append((kind.__name__, name_of(made)))
            return made

        monkeypatch.setattr(kind, method, recorded)

    record(KernelStreams, "family", tuple)
    record(PhiloxStreams, "generator", lambda rng: str(rng.bit_generator.state["state"]))
    record(SeededStreams, "generator", lambda rng: str(rng.bit_generator.state["state"]))
    return given


def taken(opened):
    """The names until now, which are forgotten."""
    found = set(opened)
    opened.clear()
    return found


COUNTS = sp.csr_matrix(np.random.default_rng(1).poisson(0.5, (60, 40)) + np.eye(60, 40, dtype=int))


def topics_of(chain):
    """Some draws of a short chain, to ask questions of."""
    return sampled([chain], 30)["topics"][0, -3:]


def assert_no_stream_is_shared(*results):
    assert all(results)
    assert all(not a & b for a, b in itertools.combinations(results, 2))


@pytest.mark.parametrize("case", some(MODELS, {"lda", "vmf"}))
def test_questions_with_the_seed_of_a_run_share_no_stream_with_it(opened, case, tmp_path):
    model, corpus = model_named(case.name), Corpus.from_matrix(COUNTS)
    if case.reads == "vectors":
        sp.save_npz(tmp_path / "vectors.npz", COUNTS)
        corpus = VectorSource.open(tmp_path / "vectors.npz")
    config = {"settings": case.settings, "seed": SEED, "chains": 2, "held_out": 0}
    chains = make_chains(model, config, corpus)
    run = create_run(tmp_path / "run", model, config, corpus, chains)
    fit(model, chains, run, Length(steps=30), Console(file=io.StringIO()))
    of_run = taken(opened)
    answers, rows = model.answers(), document_rows(run, model, COUNTS)
    answers.transform(run, rows, seed=SEED)
    of_transform = taken(opened)
    answers.evaluate(run, rows, num_draws=4, seed=SEED)
    of_score = taken(opened)  # this and the last may be empty: what is exact draws nothing
    assert of_run
    assert not of_run & (of_transform | of_score)
    assert not of_transform & of_score


@pytest.mark.parametrize("method", ["gibbs", pytest.param("scir", marks=pytest.mark.slow)])
def test_questions_with_the_seed_of_a_chain_of_lda_share_no_stream_with_it(opened, method):
    settings = lda.Settings(n_topics=3, method=method, batch_size=20)
    topics = topics_of(lda.Chain(MatrixCorpus(COUNTS), settings, seed=SEED))
    chain = taken(opened)
    lda.document_mixtures(COUNTS, topics, 0.1, seed=SEED)
    mixtures = taken(opened)
    lda.completion_perplexity(COUNTS, topics, 0.1, seed=SEED)
    assert_no_stream_is_shared(chain, mixtures, taken(opened))


@pytest.mark.slow
def test_questions_with_the_seed_of_a_chain_of_sam_share_no_stream_with_it(opened):
    made = sam.Chain(MatrixCorpus(COUNTS), sam.Settings(n_topics=3, batch_size=20), seed=SEED)
    topics, settings, rows = topics_of(made), made.settings, made.source.rows(np.arange(60))
    chain = taken(opened)
    sam.document_mixtures(rows, topics, settings, seed=SEED)
    mixtures = taken(opened)
    model = settings.document_concentration, settings.doc_topic_prior
    sam.annealed_log_perplexity(rows, topics[0], *model, num_temperatures=9, num_replicates=2, seed=SEED)
    annealed = taken(opened)
    sam.log_perplexity(rows, topics, *model, theta_draws=5, seed=SEED)
    assert_no_stream_is_shared(chain, mixtures, annealed, taken(opened))


@pytest.mark.parametrize("fit", [sam.fit_variational, sam.fit_stochastic_variational])
def test_a_variational_fit_of_sam_shares_no_stream_with_its_score(opened, fit):
    rows = sam.weight_rows(COUNTS, "tf", None, 60)
    fit(rows, 2, sam.Hyperparameters(10.0, 10.0, 50.0, 1.0), seed=SEED, max_iter=2)
    start = taken(opened)
    sam.log_perplexity(rows, np.eye(40)[None, :2], 50.0, 1.0, seed=SEED)
    assert_no_stream_is_shared(start, taken(opened))


# Words of two documents, each once; of 4,096.
COLLIDING = np.array([[1795, 3035, 3209], [2228, 2903, 4067]])


def colliding(values=1.0):
    """Two documents whose CRC-32 is one, and the first of them again."""
    words = COLLIDING[[0, 1, 0]]
    return sp.csr_matrix((np.full(9, values), words.ravel(), [0, 3, 6, 9]), shape=(3, 4096))


def assert_first_and_last_share_draws(mixtures):
    for name in ("mean", "low", "high"):
        first, second, again = mixtures[name]
        np.testing.assert_array_equal(first, again)
        assert not np.array_equal(first, second), name


def test_documents_whose_hashes_collided_have_draws_of_their_own():
    """Under topics that are all alike nothing but the random numbers tells the two documents apart."""
    rows = colliding()
    contents = [row.indices.astype(np.int64).tobytes() + row.data.tobytes() for row in rows]
    assert zlib.crc32(contents[0]) == zlib.crc32(contents[1])
    assert len(set(content_hashes(rows))) == 2
    topics = np.full((2, 3, 4096), 1.0 / 4096)
    assert_first_and_last_share_draws(lda.document_mixtures(rows, topics, 0.5))


def test_documents_whose_hashes_collided_have_draws_of_their_own_in_sam():
    settings = sam.Settings(n_topics=3, weighting="none").resolve(4096)
    topics = np.full((2, 3, 4096), 1.0 / 64.0)
    assert_first_and_last_share_draws(sam.document_mixtures(colliding(3.0**-0.5), topics, settings))
