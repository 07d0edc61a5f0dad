"""The streaming job of a site while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cepheid.connectors.locations import expand_variables
from cepheid.job.checkpoint import require_same
from cepheid.job.network.deploy import SiteJob
from cepheid.job.section import length_us
from cepheid.job.streaming import stopping

MEMORY = "512m"
"""Of the Java process of a site, where nothing else is said."""


def run_site_job(site: SiteJob, say: Callable[[str], None]) -> None:
    """Run a site until it is stopped by a signal (INT or TERM).

    Args:
        site: from `load_site`.
        say: takes a line for each batch.

    Raises:
        CepheidError: whatever keeps it from going on. Run it again, and it goes on with the batch that it could not
            finish.
    """
    from cepheid.spark.connectors import kafka_config, together
    from cepheid.spark.session import local_session
    from cepheid.spark.sites.stream import run_site
    from cepheid.spark.stream_query import Progress

    checkpoint = site.base / site.file.checkpoint
    require_same(checkpoint, {"a plan": site.program.plan}, site.origin)
    given = dict(site.job.model.deploy.spark)
    config = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.minBatchesToRetain": "20",
        # A machine that many sites share may be slow to answer while they start.
        "spark.network.timeout": "600s",
        "spark.executor.heartbeatInterval": "60s",
        # A site is one group of rows, and what it writes keeps its order in one partition.
        "spark.sql.shuffle.partitions": "1",
        **together(kafka_config(given), {}),
        **given,
    }
    session = local_session(f"cepheid-{site.file.site}", cores=1, memory=MEMORY, config=config)

    def told(progress: Progress) -> None:
        say(f"batch {progress.batch}: {progress.seconds:.1f} s, {progress.state_bytes:,} bytes of state")

    trigger: dict[str, Any] = {"processingTime": f"{max(1, length_us(site.file.trigger) // 1000)} milliseconds"}
    run = run_site(
        session,
        site.program,
        expand_variables(site.file.servers),
        checkpoint=str(checkpoint),
        trigger=trigger,
        told=told,
    )
    say(f"the site {site.file.site} reads {', '.join(site.program.topics.read)}")
    with stopping(run.stop):
        run.wait(lambda: None)
    say(f"the site {site.file.site} has stopped")
