"""The figures of a running job on a port, for Prometheus."""

from __future__ import annotations

from cepheid.errors import SetupError
from cepheid.job.telemetry import QUANTILES, Batch, Totals, Written


class PrometheusMetrics:
    """Publishes the figures of a job under ``/metrics``; they are the names below with ``cepheid_`` before them."""

    def __init__(self, port: int) -> None:
        """Listen on a port of every interface.

        Raises:
            SetupError: the package prometheus-client is missing, or the port is taken.
        """
        try:
            from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server
        except ImportError:
            raise SetupError(
                "metrics_port needs the package prometheus-client",
                remedy="install it with `pip install 'cepheid[metrics]'`, or leave metrics_port out",
            ) from None
        registry = CollectorRegistry()

        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(f"cepheid_{name}", what, labels, registry=registry)

        def gauge(name: str, what: str, *labels: str) -> Gauge:
            return Gauge(f"cepheid_{name}", what, labels, registry=registry)

        self._events = counter("events", "Events that were read, by source", "source")
        self._matches = counter("matches", "Matches that were written")
        self._late = counter("late_events", "Events that came after the watermark had passed them")
        self._rejected = counter("rejected_events", "Events that could not be read")
        self._batches = counter("batches", "Batches that are done")
        self._waiting = gauge("waiting_events", "Events that wait for the watermark")
        self._partial = gauge("partial_matches", "Partial matches that are held")
        self._held = gauge("held_bytes", "Bytes of what is held, in the workers")
        self._state = gauge("state_bytes", "Bytes of the state as Spark keeps it")
        self._watermark = gauge("watermark_seconds", "The watermark, in seconds since 1970")
        self._latency = gauge("latency_seconds", "From a match's last event until it is written", "quantile")
        self._decisions = counter("plan_decisions", "Decisions on evaluation plans, whether or not they changed one")
        self._switches = counter("plan_switches", "Changes of an evaluation plan, by the new one", "query", "plan")
        self._seconds = gauge("batch_seconds", "How long the last batch took")
        self._number = gauge("batch_number", "The number of the last batch")
        self._closed = {
            "n_windows": gauge("closed_windows", "Windows that slack policies closed, since the checkpoint was made"),
            "n_missed": gauge("missed_windows", "Those of them that are known to miss an event"),
            "miss_ratio": gauge("miss_ratio", "The ratio of the two"),
            "mean_slack_s": gauge("slack_seconds", "How long after their ends windows were closed on average"),
            "n_gave_up": gauge("given_up_windows", "Windows that were closed because a source had fallen silent"),
            "n_unreceived": gauge("unreceived_events", "Events without a time of reception"),
        }
        try:
            self._server, self._thread = start_http_server(port, registry=registry)
        except OSError as error:
            raise SetupError(
                f"metrics_port {port} cannot be used: {error.strerror}", remedy="choose another port, or leave it out"
            ) from error

    def update(self, totals: Totals, batch: Batch, written: Written) -> None:
        """Take the figures of one batch more."""
        for source, n_events in batch.n_events.items():
            self._events.labels(source).inc(n_events)
        self._matches.inc(written.n_matches)
        self._late.inc(written.n_late)
        self._rejected.inc(written.n_rejected)
        self._batches.inc()
        self._decisions.inc(len(written.plans))
        for one in written.plans:
            if one.switched:
                self._switches.labels(one.query, one.plan).inc()
        self._waiting.set(totals.n_waiting)
        self._partial.set(totals.n_partial_matches)
        self._held.set(totals.held_bytes)
        self._state.set(totals.state_bytes)
        self._seconds.set(batch.seconds)
        self._number.set(batch.number)
        if totals.watermark_s is not None:
            self._watermark.set(totals.watermark_s)
        for quantile, seconds in zip(QUANTILES, totals.latency_s or (), strict=bool(totals.latency_s)):
            self._latency.labels(f"{quantile:g}").set(seconds)

        if (closed := written.closed) is not None:
            for name, gauge in self._closed.items():
                gauge.set(closed.mean_slack_us / 1e6 if name == "mean_slack_s" else getattr(closed, name))

    def close(self) -> None:
        """Give the port back."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
