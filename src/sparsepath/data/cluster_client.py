"""Connect to a Dask cluster, or start one of worker processes on this machine."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sparsepath.errors import InputError

STARTS = 2  # tries to start worker processes


@contextmanager
def cluster(address: str | None) -> Iterator[Any]:
    """Return a client of the cluster at an address; ``local`` starts worker processes here."""
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError(
            "--dask needs the package distributed: pip install sparsepath[dask]"
        ) from error
    with without_logging():
        if address == "local":
            with local_cluster() as started, Client(started) as client:
                yield client
            return
        try:
            client = Client(address, timeout=10)
        except (OSError, ValueError) as error:
            raise InputError(f"--dask {address}: no scheduler responds at this address.") from error
        with client:
            yield client


def local_cluster() -> Any:
    """Worker processes on this machine; one that dies while they start is tried once more."""
    from distributed import LocalCluster

    for _ in range(STARTS):
        try:
            return LocalCluster(dashboard_address=None)
        except (RuntimeError, OSError) as error:
            why = str(error).rstrip(".") or type(error).__name__
    raise InputError(
        f"--dask local: the worker processes do not start ({why}); try again, or remove --dask."
    )


@contextmanager
def without_logging() -> Iterator[None]:
    """No logging meanwhile.

    Dask reports a lost scheduler by tracebacks; the user gets one sentence instead.
    """
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
