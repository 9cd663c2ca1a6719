"""The registry of random streams: one line for every use of random numbers that whole numbers name.

A draw is a function of the seed, the chain, the step and the thing it is drawn for (a document, a word), not
of the state of a generator. Threads, restarts and the order of the work therefore change no bit. The price is
that two uses which name the same stream read the same numbers, and nothing would say so. Streams are named
here only, and `tests/kernels/test_streams.py` proves that no two uses whose draws enter one result can name
the same stream.

``scope`` tells which uses enter one result. "lda gibbs" and "lda scaled counts" are two kinds of run, and no
result is made of both. "lda" is asked of the draws of either (mixtures of other documents, a score), with a
seed that may be the run's. A use meets all scopes that begin with its own, so that "" meets everything.

To add a use, add a line with a number that its kind of stream does not have yet. Kernels' lines with number 0
are older than the registry, and differ by scope, step or item. A released number stays: another one would
give other draws.
"""

from geodrift.kernels._stream_kinds import HALF, KernelStreams, PhiloxStreams, ReservedFold, SeededStreams

# Compiled kernels.
LDA_GIBBS_ASSIGNMENTS = KernelStreams(
    "lda gibbs", 0, "chain", "steps taken", "phase and group of documents", stride=3, items=(0, 2**63 - 1)
)
LDA_GIBBS_TOPICS = KernelStreams(
    "lda gibbs", 0, "chain", "steps taken", "word; below 0 sums over words", stride=3, offset=1
)
LDA_GIBBS_FIRST_ASSIGNMENTS = KernelStreams(
    "lda gibbs", 0, "chain", "steps taken", "document", stride=3, offset=2, items=(0, 2**63 - 1)
)
LDA_MINIBATCH_ASSIGNMENTS = KernelStreams(
    "lda scaled counts", 0, "chain", "sweeps begun", "document", stride=2, items=(0, 2**63 - 1)
)
LDA_TOPIC_MOVES = KernelStreams(
    "lda scaled counts", 0, "chain", "steps taken", "word, or word and topic; then the same for missed moves",
    stride=2, offset=1, items=(0, 2**63 - 1),
)  # fmt: skip
LDA_TOPIC_SUMS = KernelStreams(
    "lda scaled counts", 0, "chain", "steps taken", "all topics", stride=2, offset=1, items=(-2, -2)
)
LDA_HYBRID_ASSIGNMENTS = KernelStreams(
    "lda hybrid variational", 0, "0", "sweeps begun", "document", stride=2, items=(0, 2**63 - 1)
)
LDA_COMPLETION_ASSIGNMENTS = KernelStreams("lda", -1, "topic draw", "sweep", "place of the document")
LDA_TRANSFORM_ASSIGNMENTS = KernelStreams("lda", 1, "topic draw", "sweep", "hash of the document")
LDA_TRANSFORM_MIXTURES = KernelStreams("lda", 2, "topic draw", "sweep", "hash of the document")
LDA_CHECK_ASSIGNMENTS = KernelStreams("lda", 9, "topic draw", "sweep", "hash of the document")
LDA_EFFECT_ASSIGNMENTS = KernelStreams(
    "lda", 14, "topic draw", "sweep", "group and place of the document", items=(0, 2**63 - 1)
)
LDA_EFFECT_MIXTURES = KernelStreams(
    "lda", 22, "topic draw", "sweep", "group and place of the document", items=(0, 2**63 - 1)
)
HDP_BLOCKS = KernelStreams("lda gibbs hdp", 21, "chain", "steps taken", "document", items=(0, 2**63 - 1))
SAM_MIXTURES = KernelStreams("sam chain", 0, "chain", "steps taken", "document", items=(0, 2**63 - 1))
SAM_SHEAR_MOVES = KernelStreams("sam chain", 0, "chain", "steps taken", "all topics", items=(-1, -1))
SAM_TRANSFORM_MIXTURES = KernelStreams("sam", 3, "0", "topic draw", "hash of the document")
SAM_ANNEALED_MIXTURES = KernelStreams("sam", 4, "replicate", "temperature", "place of the document")
DPM_ASSIGNMENTS = KernelStreams("dpm", 11, "chain", "steps taken", "document")
DPM_MINIBATCH_ASSIGNMENTS = KernelStreams("dpm scaled counts", 12, "chain", "steps taken", "document")
DPM_CLUSTER_MOVES = KernelStreams("dpm scaled counts", 13, "chain", "steps taken", "cluster and word")
DPM_ROWS_AT_ONCE = KernelStreams(
    "dpm", 24, "chain", "steps taken", "row; below 0 a cluster's words", items=(-(2**31), 2**31 - 1)
)
VMF_ASSIGNMENTS = KernelStreams("vmf chain", 5, "chain", "steps taken", "row", items=(0, 2**63 - 1))
VMF_CONCENTRATIONS = KernelStreams("vmf chain", 6, "chain", "steps taken", "cluster", items=(0, 2**63 - 1))
VMF_START_ASSIGNMENTS = KernelStreams(
    "vmf chain", 7, "chain", "sweeps of the start", "row of the sample", items=(0, 2**63 - 1)
)
VMF_START_CONCENTRATIONS = KernelStreams(
    "vmf chain", 8, "chain", "sweeps of the start", "cluster", items=(0, 2**63 - 1)
)
VMF_ROWS_AT_ONCE = KernelStreams(
    "vmf chain", 23, "chain", "steps taken", "row; below 0 a cluster's direction", items=(-(2**31), 2**31 - 1)
)
# The seed is a hash of the JAX key.
HOST_PROCESSES = KernelStreams("process", 0, "0", "0", "entry of the array")

# NumPy's Philox.
LDA_DOCUMENT_ORDER = PhiloxStreams("lda", 1, "pass over the documents")
LDA_GIBBS_MASSES = PhiloxStreams("lda gibbs", 2, "steps taken")
LDA_GIBBS_DOCUMENT_PRIOR = PhiloxStreams("lda gibbs", 3, "steps taken")
LDA_GIBBS_WORD_PRIOR = PhiloxStreams("lda gibbs", 5, "steps taken")
LDA_GIBBS_START = PhiloxStreams("lda gibbs", 4, "steps taken")
HDP_WEIGHTS = PhiloxStreams("lda gibbs hdp", 11, "steps taken")
LDA_MEAN_COUNTS_START = PhiloxStreams("lda scaled counts", 0)
LDA_MOMENTA_START = PhiloxStreams("lda scaled counts", 2)
LDA_GAMMAS_START = PhiloxStreams("lda scaled counts", 3, "steps taken")
SAM_TOPICS_START = PhiloxStreams("sam chain", 0)
SAM_MINIBATCH = PhiloxStreams("sam chain", 1, "steps taken")
DPM_ROW_ORDER = PhiloxStreams("dpm", 0, "pass over the rows")
DPM_START = PhiloxStreams("dpm", 1)
DPM_CONCENTRATION = PhiloxStreams("dpm", 2, "steps taken")
DPM_DRAW = PhiloxStreams("dpm", 3, "steps taken")
DPM_GROUPS = PhiloxStreams("dpm", 5, "steps taken")
DPM_WEIGHTS_AT_ONCE = PhiloxStreams("dpm", 6, "steps taken")
DPM_WEIGHT_MOVES = PhiloxStreams("dpm scaled counts", 4, "steps taken")
VMF_ROW_ORDER = PhiloxStreams("vmf chain", 0, "pass over the rows")
VMF_STEP = PhiloxStreams("vmf chain", 1, "steps taken")
VMF_DRAW = PhiloxStreams("vmf chain", 2, "steps taken")
VMF_START = PhiloxStreams("vmf chain", 3)
VMF_GROUPS = PhiloxStreams("vmf chain", 5, "steps taken")
VMF_SPLIT_MERGE = PhiloxStreams("vmf chain", 4, "steps taken")

# NumPy's default generator.
HELD_OUT_DOCUMENTS = SeededStreams("", 0x5E1D)
DOCUMENTS_LOOKED_AT = SeededStreams("", 0x5E1E)
REPORT_DOCUMENTS = SeededStreams("", 0x5E1F)
LADDER_REFERENCE = SeededStreams("", 0x5E20)
LDA_TOKEN_SPLIT = SeededStreams("lda", 20090)
LDA_CHECK_REPLICAS = SeededStreams("lda", 20110, "topic draw")
LDA_EFFECT_PRIORS = SeededStreams("lda", 20091, "topic draw, group")
LDA_HYBRID_START = SeededStreams("lda hybrid variational", 0)
LDA_HYBRID_DOCUMENT_ORDER = SeededStreams("lda hybrid variational", 1)
DPM_SAMPLE = SeededStreams("dpm", 0)
SAM_SCORE_MIXTURES = SeededStreams("sam", 0)
SAM_VARIATIONAL = SeededStreams("sam variational", 2)
SAM_ANNEALED_START = SeededStreams("sam", 3, "replicate")
VMF_PREDICTIVE = SeededStreams("vmf", 1)
PARTITION_SEARCH = SeededStreams("partition", 0)
HOST_ROWS = SeededStreams("sample", 0, "steps taken")
HOST_BLOCKS = SeededStreams("sample", 1, "steps taken")
HOST_EPOCHS = SeededStreams("sample", 2, "pass over the data")
ROW_ORDER = SeededStreams("sample", 3)

# Numbers folded into JAX keys.
PILOT = ReservedFold("the key of `sample`", "chain", HALF - 2)
GRADIENT_CHECK = ReservedFold("the key of `sample`", "chain", HALF - 3)
EPOCH_ORDER = ReservedFold("a chain's key of batches", "steps taken", HALF - 1)
SAM_VELOCITIES_START = ReservedFold("the key of seed and chain of a SAM", "steps taken", 2**31 - 1)
KERNEL_NUMBER = ReservedFold("the key of a model's seed", "chain", HALF - 1)
