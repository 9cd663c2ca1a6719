"""Reports made of random numbers: of any size, with any words, without a fit."""

import numpy as np

from geodrift.models.clusters._law_of_number import law_of_number
from geodrift.models.kit._agreement import agreement
from geodrift.models.kit._report_parts import kinds_of, of_draws
from geodrift.models.kit._verdict import verdict_of
from geodrift.models.kit._word_intervals import component_words
from geodrift.models.von_mises_fisher_mixture._cluster_parts import (
    cluster_parts,
    mean_directions,
    nearest_rows,
)
from geodrift.models.von_mises_fisher_mixture._places import told, with_every_draw
from geodrift.models.von_mises_fisher_mixture._rows_of import rows_of
from geodrift.report import Documents, Entry, Prevalence, Report


def synthetic(
    components=6,
    words=None,
    documents=40,
    names=None,
    *,
    chains=2,
    draws=3,
    title="a report",
    seed=0,
    texts=(),
    groups=(),
):
    """A report whose words, names and title are those given.

    Texts are of documents, called and grouped so too; groups make a band over time and dots.
    """
    rng = np.random.default_rng(seed)
    words = [f"word{i}" for i in range(60)] if words is None else list(words)
    rates = rng.gamma(0.3, size=(components, len(words))) + 1e-3
    # Each component has some words of its own, so that chains agree on it.
    for k in range(components):
        rates[k, np.arange(k, len(words), components)] += 6
    topics = rng.gamma(30 * rates, size=(chains, draws, components, len(words)))
    topics /= topics.sum(axis=3, keepdims=True)
    sizes = rng.dirichlet(np.full(components, 5.0))
    size_draws = rng.dirichlet(400 * sizes, size=(chains, draws))
    agreed = agreement(iter(topics), np.sqrt)
    numbers = {"log_joint": rng.normal(-1e6, 10, (chains, max(draws, 5)))}
    verdict = verdict_of(agreed, numbers, "topic")
    parts = component_words(topics, words, 15, "topic", agreed=agreed, sizes=size_draws)
    mean = rng.dirichlet(np.full(components, 0.1), size=documents)
    low, high = np.maximum(mean - 0.1, 0), np.minimum(mean + 0.1, 1)
    names = [f"document {i}" for i in range(documents)] if names is None else list(names)
    leading = {i: words[:5] for i in range(min(documents, 20))}
    told = Documents(np.arange(documents), names, mean, low, high, 3 * documents, leading)
    if texts:
        each = [texts[i % len(texts)] for i in range(documents)]
        told = told._replace(ids=each, fields={texts[0]: each, "date": each}, texts=dict(enumerate(each)))
        parts = [part | {"name": texts[place % len(texts)]} for place, part in enumerate(parts)]
    return Report(
        title=title,
        model="a model",
        component="topic",
        signed=False,
        parts=parts,
        kinds=kinds_of(verdict),
        verdict=verdict.to_dict(),
        sentences=[*str(verdict).split("\n"), f"{words[0]} and {title}"],
        documents=told,
        checks=[
            {"topic": k, "observed": 2.0, "expected": 1.9, "ratio": 1.05, "p_value": 0.1, "words": words[:4]}
            for k in range(components)
        ],
        traces=numbers,
        history=[
            {"step": step, "chain": chain, "name": "held_out_perplexity", "value": 100.0 / step}
            for step in range(1, 9)
            for chain in range(chains)
        ],
        scores={"perplexity": 95.5, "log_likelihood_per_token": -4.56, "standard_error": 0.02},
        scores_told="perplexity 95.5",
        settings=[Entry("Run", "path", title), Entry("Data", "digest", "0" * 64)],
        prevalence=prevalences(list(groups), components, rng) if groups else [],
        **of_draws({"topics": topics}, "topics", agreed, parts, words, False),
    )


def synthetic_clusters(clusters=5, rows=60, *, words=None, title="clusters", seed=0):
    """A report of clusters of vectors, one of which a chain lacks, with names of their numbers or without."""
    rng, shape = np.random.default_rng(seed), (4, 6)
    centres = rng.normal(size=(clusters, 12))
    directions = centres + 0.05 * rng.normal(size=(*shape, clusters, 12))
    directions /= np.linalg.norm(directions, axis=3, keepdims=True)
    draws = {
        "directions": directions,
        "weights": rng.dirichlet(np.full(clusters, 400.0), size=shape),
        "concentrations": rng.gamma(100, size=(*shape, clusters)),
        "labels": np.tile(np.arange(clusters), (*shape, 1)),
    }
    for name in ("directions", "weights", "concentrations"):
        draws[name][0, :, -1] = np.nan
    ordered, agreed = told(draws, False)
    x = rng.normal(size=(rows, 12)) + 3 * centres[rng.integers(clusters, size=rows)]
    parts = cluster_parts(ordered, agreed, words, 10)
    near = nearest_rows(rows_of(x, True), mean_directions(ordered, agreed), 6)
    for part, of_part in zip(parts, near, strict=True):
        part["nearest"] = of_part
    numbers = {"number_of_clusters": rng.integers(3, 9, size=shape)}
    verdict = verdict_of(agreed, numbers, "cluster")
    mean = rng.dirichlet(np.full(clusters + 2, 0.1), size=rows)
    low, high = np.maximum(mean - 0.1, 0), np.minimum(mean + 0.1, 1)
    names, others = [f"row {i}" for i in range(rows)], ["other clusters", "no cluster"]
    shown = with_every_draw(ordered["directions"])
    return Report(
        title=title,
        model="a mixture",
        component="cluster",
        signed=True,
        parts=parts,
        kinds=kinds_of(verdict),
        verdict=verdict.to_dict(),
        sentences=str(verdict).split("\n"),
        documents=Documents(np.arange(rows), names, mean, low, high, rows, {}, others),
        traces=numbers,
        numbers=[law_of_number(numbers["number_of_clusters"], "number_of_clusters")],
        document="row",
        settings=[Entry("Run", "path", title)],
        **of_draws({"directions": shown}, "directions", agreed, parts, words, True),
    )


def prevalences(groups, components, rng):
    """Shares in groups, over time and of names; of the last component without intervals."""
    effects = []
    for component in range(components):
        told = []
        for group in groups:
            share, sure = float(rng.dirichlet([1, 5])[0]), component < components - 1
            ends = {"low": 0.8 * share if sure else None, "high": 1.2 * share if sure else None}
            change = {"mean": share / 2, "p_above_0": 0.5} | ends
            told.append({"group": group, "documents": 7, "mean": share} | ends | {"difference": change})
        told[0]["difference"] = None
        effects.append({"topic": component, "words": [], "reference": groups[0], "groups": told})
    times = np.linspace(1999.5, 2020.25, len(groups))
    return [Prevalence(groups[0], times, effects), Prevalence("group", None, effects)]
