"""Run jobs and keep their rows: here, in several processes, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any, TypeAlias

from askless.errors import AsklessError, InvalidInput, MissingExtra
from askless.reproduce.jobs import Job, Labelled, run_job
from askless.reproduce.store import Row, RowStore
from askless.workers import parallel

Progress: TypeAlias = Callable[[int, int], None]  # rows done now, rows to do
_SECONDS_TO_CONNECT = 10


class RunFailed(AsklessError):
    """A run that stopped midway for a reason outside askless; the rows made so far are kept."""


def run_jobs(
    jobs: Iterable[Job],
    store: RowStore,
    *,
    workers: int = 1,
    dask: str | None = None,
    data: Labelled | None = None,
    progress: Progress | None = None,
) -> dict[str, Row]:
    """The rows of all jobs by key; only those that the store does not hold are run.

    Each row is in the store before the next one is taken, so that an interrupted run goes on where it was. Only
    this process writes; `workers` (joblib's: -1 takes every core) or the workers of the Dask scheduler at the
    address `dask` compute. A worker that dies loses what it was computing, which is computed again elsewhere.
    """
    if workers == 0:
        raise InvalidInput("--jobs is the number of runs at a time, or -1 for every core; found 0.")
    plan = {job.key(): job for job in jobs}
    rows = {key: row for key, row in store.rows().items() if key in plan}
    # Keys are in random order, so the jobs done are a fair sample of those to do, and so is the time they took.
    todo = [(key, plan[key]) for key in sorted(plan) if key not in rows]
    if progress is not None:
        progress(0, len(todo))
    results = _results(todo, workers, dask, data) if todo else iter(())
    for done, (key, row) in enumerate(results, start=1):
        store.put(key, row)
        rows[key] = row
        if progress is not None:
            progress(done, len(todo))
    return rows


def _results(
    todo: list[tuple[str, Job]], workers: int, dask: str | None, data: Labelled | None
) -> Iterator[tuple[str, Row]]:
    if dask is not None:
        return _on_dask(todo, dask, data)
    if workers == 1:
        return ((key, run_job(job, key, data)) for key, job in todo)
    return _in_processes(todo, workers, data)


def _in_processes(todo: list[tuple[str, Job]], workers: int, data: Labelled | None) -> Iterator[tuple[str, Row]]:
    from joblib import delayed
    from joblib.externals.loky.process_executor import BrokenProcessPool

    from askless.geometry.labels import warm_up

    warm_up("float64")  # compiles the kernels, if need be, once and not in every worker
    try:
        yield from parallel(workers, in_order=False)(delayed(_keyed)(key, job, data) for key, job in todo)
    except BrokenProcessPool as error:
        raise RunFailed(
            "A worker process was killed, often because memory ran out. The rows made so far are kept: run the same "
            "command again, with a smaller --jobs."
        ) from error


def _keyed(key: str, job: Job, data: Labelled | None) -> tuple[str, Row]:
    return key, run_job(job, key, data)


def _on_dask(todo: list[tuple[str, Job]], address: str, data: Labelled | None) -> Iterator[tuple[str, Row]]:
    """The rows as they come from the cluster.

    The scheduler runs a job again whose worker died, and each future ends once, so that no row is lost or doubled.
    """
    distributed = _distributed()
    client = _client(distributed, address)
    try:
        sent = None if data is None else client.scatter(data, broadcast=True, hash=False)
        futures = {client.submit(run_job, job, key, sent, key=f"askless-{key}", pure=True): key for key, job in todo}
        for future in distributed.as_completed(list(futures), loop=client.loop):
            yield futures.pop(future), future.result()
            future.release()
    except distributed.KilledWorker as error:
        raise RunFailed(
            f"Worker after worker of the cluster at {address} died under one job. The rows made so far are kept; see "
            "to the workers' memory, and run the same command again."
        ) from error
    finally:
        client.close()


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise MissingExtra("--dask needs Dask's scheduler: pip install 'askless[dask]'.") from None


def _client(distributed: Any, address: str) -> Any:
    try:
        scheme, _ = distributed.comm.addressing.parse_address(address, strict=True)
        if scheme not in distributed.comm.registry.backends:
            raise ValueError(f"no such protocol: {scheme}")
        return distributed.Client(address, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:  # a timeout is an OSError
        raise InvalidInput(
            f"No Dask scheduler answers at {address!r} ({type(error).__name__}). Start one with `dask scheduler`, and "
            "give the address it prints, such as tcp://127.0.0.1:8786."
        ) from error
