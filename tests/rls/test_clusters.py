"""A real Dask cluster of processes: same path, few bytes, workers that die, join late, go away."""

import random
import threading
import time

import numpy as np
import pytest
from scipy import sparse

from rls.test_sources import problem, same
from sparsepath import SparseRLSClassifier, SparseRLSRegressor
from sparsepath.data.clusters import ClusterError

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
    with distributed.LocalCluster(n_workers=2, **QUIET) as started:
        yield started


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as connected:
        yield connected


@pytest.mark.parametrize("options", [{"search": "floating"}, {"search": "swap", "cv": 5}], ids=str)
def test_arrays_on_a_cluster_give_the_path_of_the_array(client, options):
    X, y, w = problem(weighted=True)
    given = {"max_features": 5, "choose": "min", **options}
    whole = SparseRLSRegressor(**given).fit(X, y, w)
    for chunks in ((400, 14), (110, 5)):
        distant = SparseRLSRegressor(**given).fit(
            da.from_array(X, chunks=chunks), da.from_array(y, chunks=90), w
        )
        same(whole, distant)


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


def test_without_a_client_partitions_are_computed_here():
    X, y, _ = problem()
    whole = SparseRLSRegressor(5, choose="min").fit(X, y)
    same(whole, SparseRLSRegressor(5, choose="min").fit(da.from_array(X, chunks=(90, 4)), y))


def test_bytes_that_travel_do_not_grow_with_the_rows(client):
    """What the client sends to the scheduler for one reading of the data."""
    moved = []
    for m in (2_000, 40_000):
        X, y, _ = problem(m=m)
        parts = da.from_array(X, chunks=(m // 4, -1)).persist(), da.from_array(y).persist()
        model = SparseRLSRegressor(5, choose="min", validation=None)
        sent = []
        write = distributed.client.Client._send_to_scheduler

        def counted(self, message, write=write, sent=sent):
            sent.append(len(str(message)))
            return write(self, message)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(distributed.client.Client, "_send_to_scheduler", counted)
            model.fit(*parts)
        moved.append(sum(sent) / model.path_.data["readings"])
    assert moved[1] <= 1.5 * moved[0]


@pytest.mark.parametrize("seed", [0, 1, 2])
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
    whole = SparseRLSRegressor(**given).fit(X, y)
    checkpoint = tmp_path / "moves.json"
    started = distributed.LocalCluster(n_workers=0, **QUIET)
    client = distributed.Client(started)
    late = threading.Timer(0.5, lambda: started.scale(1))
    late.start()
    moves = []

    def stop(path):
        moves.append(path.moves)
        if len(path.moves) == 3:
            started.close()
            client.close()

    parts = da.from_array(X, chunks=(500, -1)), da.from_array(y, chunks=500)
    model = SparseRLSRegressor(**given, callback=stop, checkpoint=checkpoint)
    with pytest.raises(ClusterError, match="start again, with the same checkpoint"):
        model.fit(*parts)
    late.join()
    with (
        distributed.LocalCluster(n_workers=1, **QUIET) as another,
        distributed.Client(another),
    ):
        resumed = SparseRLSRegressor(**given, checkpoint=checkpoint).fit(*parts)
    same(whole, resumed)
