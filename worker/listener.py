"""arq in this worker's loop: without Redis it is started again and again, and nothing else stops (D-24)."""

from __future__ import annotations

import asyncio
import contextlib

from arq.worker import Worker
from redis.exceptions import RedisError

from app.core.logging import get_logger
from app.core.queue import from_json, open_job_pool, queue_name, to_json
from worker.jobs import BELL, functions
from worker.lanes import Bell

log = get_logger(__name__)

_POLL_S = 0.05
_FIRST_DELAY_S, _LONGEST_DELAY_S = 0.2, 5.0
_HEALTH_S = 10
_MAX_JOBS = 4


class JobListener:
    """Takes jobs from the queue of the desk whose Redis keys begin with `prefix`."""

    def __init__(self, redis_url: str, prefix: str, bell: Bell) -> None:
        self._redis_url = redis_url
        self._prefix = prefix
        self._bell = bell

    async def run(self) -> None:
        """Listens until it is cancelled. A lost Redis is waited for, ever longer up to five seconds."""
        delay = _FIRST_DELAY_S
        while True:
            started = asyncio.get_running_loop().time()
            try:
                await self._listen()
            except (RedisError, OSError, TimeoutError) as error:
                log.warning("queue_lost", error=type(error).__name__)
            except Exception as error:  # arq's own fault: the timers go on, it is started anew
                log.exception("queue_listener_failed", error=type(error).__name__)
            lasted = asyncio.get_running_loop().time() - started
            delay = _FIRST_DELAY_S if lasted > _LONGEST_DELAY_S else min(delay * 2, _LONGEST_DELAY_S)
            await asyncio.sleep(delay)

    async def _listen(self) -> None:
        pool = open_job_pool(self._redis_url, self._prefix)
        queue = queue_name(self._prefix)
        worker = Worker(
            functions(),
            queue_name=queue,
            redis_pool=pool,
            handle_signals=False,
            max_jobs=_MAX_JOBS,
            poll_delay=_POLL_S,
            health_check_interval=_HEALTH_S,
            health_check_key=f"{queue}:health",
            job_serializer=to_json,
            job_deserializer=from_json,
            log_results=False,
            ctx={BELL: self._bell},
        )
        try:
            await worker.async_run()
        finally:
            # Not `Worker.close`, which waits without a bound and warns of redis-py's renamed methods.
            for task in worker.tasks.values():
                task.cancel()
            if worker.tasks:
                await asyncio.wait(worker.tasks.values(), timeout=1)
            with contextlib.suppress(RedisError, OSError, TimeoutError):
                await pool.aclose(close_connection_pool=True)
