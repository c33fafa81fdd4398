"""A real Dask cluster of processes: same path, few bytes, workers that die, join late, go away."""

import contextlib
import os
import random
import threading
import time
from itertools import product

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sparsepath
from rls.test_sources import pieces, problem, same, same_table, to_the_bit, with_categories
from sparsepath import (
    ELMFSClassifier,
    ELMFSRegressor,
    GraftingClassifier,
    GraftingClassifierCV,
    GraftingRegressor,
    GraftingRegressorCV,
    MLPGraftingClassifierCV,
    MLPGraftingRegressorCV,
    MutualInfoSelector,
    SparseRBFClassifierCV,
    SparseRBFRegressorCV,
    SparseRLSClassifier,
    SparseRLSRegressor,
    TableSelector,
    honest_error,
    permutation_null,
    stability,
)
from sparsepath.data.clusters import ClusterError, on_cluster
from sparsepath.data.sources import from_array
from sparsepath.errors import InputError
from sparsepath.system.tuning import TUNING

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
QUIET = {"silence_logs": 50, "dashboard_address": None, "threads_per_worker": 1}


@pytest.fixture(scope="module")
def cluster():
    started = distributed.LocalCluster(n_workers=2, **QUIET)
    yield started
    with contextlib.suppress(KeyError):  # of distributed, which looks up a worker that was killed
        started.close()
    started.status = distributed.Status.closed  # or what is left warns some other test, much later


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as connected:
        yield connected


SEARCHES = [
    {"search": "forward"},
    {"search": "floating"},
    {"search": "backward"},
    {"search": "swap", "validation": 3},
    {"cv": 4, "validation": "auto"},
]


def test_any_number_of_workers_and_partitions_gives_the_path_of_the_array(client, cluster):
    """Workers come and go meanwhile; honest errors are those of the rows read here."""
    X, y, w = problem(m=200, weighted=True)
    thin = sparse.csr_array(np.where(X > 4, X, 0.0))
    given = {"max_features": 4, "choose": "min", "validation": None}
    asked = list(product((X, thin), SEARCHES))
    here = [
        SparseRLSRegressor(**{**given, **options}).fit(from_array(data, y, w))
        for data, options in asked
    ]
    for whole, (data, options) in zip(here, asked, strict=True):
        if "validation" not in options:
            same(SparseRLSRegressor(**{**given, **options}).fit(data, y, w), whole)
    for workers, rows in ((4, 23), (1, 200), (2, 90)):
        cluster.scale(workers)
        client.wait_for_workers(workers)
        dense = da.from_array(X, chunks=(rows, 5 if workers == 1 else -1))
        spread = da.from_array(thin.toarray(), chunks=(rows, -1)).map_blocks(sparse.csr_array)
        every = [(d, o, i) for i, (d, o) in enumerate(product((dense, spread), SEARCHES))]
        for data, options, i in every[:7] if workers == 2 else every[workers::5]:
            whole = here[i]
            model = SparseRLSRegressor(**{**given, **options})
            same(whole, model.fit(data, da.from_array(y, chunks=rows), w))
            if whole.honest_ is not None:
                honest = [fit.path_.honest_error(k) for fit in (whole, model) for k in range(5)]
                assert_allclose(honest[5:], honest[:5], rtol=1e-9)


def test_grafting_on_a_cluster_gives_the_model_of_the_array(client):
    X, y, w = problem(m=200, weighted=True)
    parts = da.from_array(X, chunks=(60, -1)), da.from_array(y, chunks=60)
    given = {"l1": 0.1, "validation": None, "tol": 1e-11}
    whole, distant = (GraftingRegressor(**given).fit(*data, w) for data in ((X, y), parts))
    assert_allclose(distant.coef_, whole.coef_, rtol=1e-8, atol=1e-10)
    assert distant.path_.data["readings"] == 1
    given["l1"] = 0.03
    whole, distant = (
        GraftingClassifier(**given).fit(data[0], data[1] > 0, w) for data in ((X, y), parts)
    )
    assert_allclose(distant.coef_, whole.coef_, rtol=1e-8, atol=1e-9)
    assert distant.path_.subsets == whole.path_.subsets


def test_folds_and_grids_go_to_the_workers_of_joblib_s_backend(client, cluster, monkeypatch):
    """Every estimator that takes n_jobs: the same result, and tasks on the cluster."""
    monkeypatch.setattr(TUNING, "workers_from", 0.0)
    X, y, _ = problem(m=60, n=6)
    labels = y > np.median(y)
    few = {"validation": None, "n_jobs": 2}
    models = [
        (GraftingRegressorCV(n_l1s=4, cv=3, **few), y),
        (GraftingClassifierCV(n_l1s=4, cv=3, **few), labels),
        (MLPGraftingRegressorCV(cv=2, max_hidden=1, **few), y),
        (MLPGraftingClassifierCV(cv=2, max_hidden=1, **few), labels),
        (SparseRBFRegressorCV(rs=2, ts=2, cv=2, **few), y),
        (SparseRBFClassifierCV(rs=2, ts=2, cv=2, **few), labels),
    ]
    for model, target in models:
        alone = clone(model).fit(X, target)
        before = cluster.scheduler.transition_counter
        with joblib.parallel_config("dask"):
            model.fit(X, target)
        assert cluster.scheduler.transition_counter > before, type(model).__name__
        assert model.path_.subsets == alone.path_.subsets
        assert model.path_.errors.tolist() == alone.path_.errors.tolist()


def test_folds_shuffles_and_halves_go_to_the_workers_of_joblib_s_backend(client, cluster):
    """Of a method without a shorter way: the same figures, and tasks on the cluster."""
    X, y, _ = problem(m=40, n=4)
    model = make_pipeline(StandardScaler(), SparseRLSRegressor(2, choose="min"))

    def judged():
        told = honest_error(model, X, y, validation=2)
        null = permutation_null(model, X, y, n_permutations=2)
        halves = stability(model, X, y, n_halves=2)
        return [told.chosen.error, *np.ravel(null.null_errors), *np.ravel(halves.frequencies)]

    alone, before = judged(), cluster.scheduler.transition_counter
    with joblib.parallel_config("dask"):
        distant = judged()
    assert cluster.scheduler.transition_counter >= before + 6
    assert distant == alone


def test_restarts_and_climbs_go_to_the_workers_of_joblib_s_backend(client, cluster):
    """Threads of one process otherwise; to the bit."""
    X, y, _ = problem(m=60, n=5)
    labels = y > np.median(y)
    few = {"n_restarts": 12, "n_neurons": 8, "random_state": 0, "validation": None}
    climbs = {"search": "forward-backward", "n_restarts": 6, "random_state": 0, "validation": None}
    models = [
        (ELMFSRegressor(3, strategy="scaling", **few), y),
        (ELMFSRegressor(3, **few), y),
        (ELMFSClassifier(2, **few), labels),
        (MutualInfoSelector(3, **climbs), y),
        (MutualInfoSelector(3, discrete_target=True, **climbs), labels),
    ]
    for model, target in models:
        alone = clone(model).fit(X, target)
        before = cluster.scheduler.transition_counter
        with joblib.parallel_config("dask"):
            model.fit(X, target)
        assert cluster.scheduler.transition_counter > before, type(model).__name__
        assert model.path_.subsets == alone.path_.subsets
        assert model.path_.errors.tolist() == alone.path_.errors.tolist()
    for _ in range(1000):  # what was sent is forgotten some time after it is done
        if not cluster.scheduler.tasks:
            break
        time.sleep(0.02)
    before = cluster.scheduler.transition_counter
    with joblib.parallel_config("threading", n_jobs=2):
        clone(models[0][0]).fit(X, y)
    assert cluster.scheduler.transition_counter == before


def test_frames_classes_and_sparse_partitions_on_a_cluster(client):
    import pandas as pd

    X, y, _ = problem()
    labels = np.where(y > np.median(y), "up", "down")
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    given = {"max_features": 4, "choose": "min"}
    whole = SparseRLSClassifier(**given).fit(frame, labels)
    parts = dd.from_pandas(frame.assign(label=labels), npartitions=5)
    names = list(frame.columns)
    same(whole, SparseRLSClassifier(**given).fit(parts[names], parts["label"]))
    thin = sparse.csr_array(np.where(X > 4, X, 0.0))
    whole = SparseRLSRegressor(**given).fit(thin, y)
    rows = da.from_array(thin.toarray(), chunks=(130, -1)).map_blocks(sparse.csr_array)
    same(whole, SparseRLSRegressor(**given).fit(rows, da.from_array(y, chunks=130)))


def ways_of_cutting(X, y):
    """Arrays in chunks of all kinds, and the rows that they hold."""
    some = X[:, 1] > 3
    every = np.ones(len(X), dtype=bool)
    uneven = (7, 100, 1, len(X) - 108)
    wide, mark = da.from_array(X, chunks=(90, 5)), da.from_array(some, chunks=90)
    yield every, da.from_array(X, chunks=(uneven, (3, X.shape[1] - 3))), da.from_array(y, chunks=50)
    yield every, da.from_array(X, chunks=(uneven, -1)), y
    yield some, wide[mark], da.from_array(y, chunks=90)[mark]  # chunks of unknown length
    yield some, wide[mark], y[some]
    late = da.from_array(np.arange(len(X)) >= 90, chunks=90)  # the first is empty
    yield np.arange(len(X)) >= 90, wide[late], da.from_array(y, chunks=90)[late]


def test_chunks_of_all_kinds(client):
    X, y, _ = problem()
    Y = np.column_stack([y, X[:, 3] + np.random.default_rng(0).standard_normal(len(y))])
    model = SparseRLSRegressor(4, choose="min", validation=None)
    for rows, *data in ways_of_cutting(X, y):
        same(clone(model).fit(X[rows], y[rows]), clone(model).fit(*data))
    parts = da.from_array(X, chunks=(90, -1)), da.from_array(Y, chunks=(90, 1))
    same(clone(model).fit(X, Y), clone(model).fit(*parts))
    for target in (y[:50], da.from_array(y[:50], chunks=10)):
        with pytest.raises(InputError, match="have 50 entries for 400 rows"):
            clone(model).fit(parts[0], target)


def test_frames_of_numbers_of_all_types(client):
    import pandas as pd

    X, y, w = problem(weighted=True)
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    frame = frame.assign(
        c1=frame.c1.round().astype("Int64"), c2=frame.c2.astype("float32"), c3=frame.c3 > 3
    )
    parts = dd.from_pandas(frame.assign(y=y, w=w), npartitions=3)
    model = SparseRLSRegressor(4, choose="min", validation=None)
    whole = clone(model).fit(frame, y, w)
    same(whole, clone(model).fit(parts, "y", "w"))
    same(whole, clone(model).fit(parts.drop(columns="y"), y, "w"))
    table = TableSelector(model, validation=None)
    same_table(clone(table).fit(frame, y, w), clone(table).fit(parts, "y", "w"))


def test_categories_of_a_frame_on_a_cluster(client, tmp_path):
    """As from the frame in memory; from files that the workers read, and where there is none."""
    frame, y, w = with_categories()
    model = TableSelector(SparseRLSRegressor(5, choose=4, validation=None), validation=None)
    whole = clone(model).fit(frame, y, w)
    parts = dd.from_pandas(frame.assign(y=y, w=w), npartitions=3)
    data = sparsepath.open(parts, target="y", weights="w")
    same_table(whole, clone(model).fit(data))
    pieces(frame.assign(y=y, w=w), tmp_path, "parquet")
    files = sparsepath.open(tmp_path, target="y", weights="w")
    same_table(whole, clone(model).fit(on_cluster(files, client)))


def test_what_takes_further_passes_on_a_cluster(client, tmp_path):
    """Medians, groups of samples, losses over folds and the penalty by leave-one-out."""
    import pandas as pd

    X, y, _ = problem(m=240)
    groups = np.random.default_rng(0).integers(0, 12, 240)
    parts = da.from_array(X, chunks=(70, -1)), da.from_array(y, chunks=70)
    given = {"max_features": 3, "choose": "min", "validation": None}
    model = SparseRLSRegressor(**given, cv=3, loss="absolute", alpha="loo")
    whole = clone(model).fit(X, y, groups=groups)
    same(whole, clone(model).fit(*parts, groups=groups))
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(14)])
    frame = frame.where(np.random.default_rng(1).random(X.shape) < 0.95)
    table = TableSelector(SparseRLSRegressor(**given, cv=3), missing="indicator", validation=None)
    whole = clone(table).fit(frame, y, groups=groups)
    lazy = dd.from_pandas(frame.assign(y=y), npartitions=3)
    same_table(whole, clone(table).fit(lazy, "y", groups=groups))
    pieces(frame.assign(y=y, who=groups), tmp_path, "parquet")
    files = sparsepath.open(tmp_path, target="y", groups="who")
    same_table(whole, clone(table).fit(on_cluster(files, client)))


def test_without_a_client_partitions_are_computed_here():
    X, y, _ = problem()
    whole = SparseRLSRegressor(5, choose="min").fit(X, y)
    same(whole, SparseRLSRegressor(5, choose="min").fit(da.from_array(X, chunks=(90, 4)), y))
    frame, y, _ = with_categories()
    model = TableSelector(SparseRLSRegressor(5, choose=4, validation=None), validation=None)
    whole = clone(model).fit(frame, y)
    same_table(whole, clone(model).fit(dd.from_pandas(frame.assign(y=y), npartitions=3), "y"))


def test_bytes_that_travel_do_not_grow_with_the_rows(client):
    """By the counters of the workers: what they sent to each other and to the driver."""
    moved = []

    def bytes_sent():
        sent = client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total)
        return sum(sent.values())

    for m in (2_000, 20_000):
        X, y, _ = problem(m=m)
        parts = da.from_array(X, chunks=(m // 4, -1)).persist(), da.from_array(y, chunks=m // 4)
        source = sparsepath.open(*parts)
        before = bytes_sent()
        model = SparseRLSRegressor(5, choose="min", validation=None).fit(source)
        sent = bytes_sent() - before
        assert sent > 0
        moved.append(sent / model.path_.data["readings"])
    assert moved[1] <= 1.5 * moved[0]


KILLS = int(os.environ.get("SPARSEPATH_KILLS", "3"))  # 20 in the long version


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_worker_that_is_killed_changes_nothing(client, cluster, seed):
    X, y, _ = problem(m=4_000, n=30)
    given = {"max_features": 8, "choose": "min", "search": "floating"}
    whole = SparseRLSRegressor(**given).fit(X, y)
    killed = []

    def kill():
        time.sleep(random.Random(seed).uniform(0.05, 0.6))
        worker = random.Random(seed).choice(list(cluster.workers.values()))
        worker.process.process._process.kill()
        killed.append(worker)

    thread = threading.Thread(target=kill)
    thread.start()
    distant = SparseRLSRegressor(**given).fit(
        da.from_array(X, chunks=(500, -1)), da.from_array(y, chunks=500)
    )
    thread.join()
    assert killed
    same(whole, distant)


def test_a_late_worker_and_a_lost_scheduler(tmp_path):
    """Work waits for the first worker; without a scheduler there is a sentence, and a way on."""
    X, y, _ = problem(m=2_000, n=20)
    given = {"max_features": 6, "choose": "min", "search": "floating"}
    whole = SparseRLSRegressor(**given).fit(from_array(X, y, rows=500))
    checkpoint = tmp_path / "moves.json"
    started = distributed.LocalCluster(n_workers=0, **QUIET)
    client = distributed.Client(started)
    late = threading.Timer(0.5, lambda: started.scale(1))
    late.start()

    def stop(path):
        if len(path.moves) == 3:
            started.close()
            client.close()

    parts = da.from_array(X, chunks=(500, -1)), da.from_array(y, chunks=500)
    model = SparseRLSRegressor(**given, callback=stop, checkpoint=checkpoint)
    with pytest.raises(ClusterError, match="resume with the same checkpoint"):
        model.fit(*parts)
    late.join()
    with (
        distributed.LocalCluster(n_workers=1, **QUIET) as another,
        distributed.Client(another),
    ):
        resumed = SparseRLSRegressor(**given, checkpoint=checkpoint).fit(*parts)
        unbroken = SparseRLSRegressor(**given).fit(*parts)
    same(whole, resumed)
    to_the_bit(unbroken, resumed)
