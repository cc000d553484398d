"""What a service promises: upper bounds on latencies at a percentile."""

from __future__ import annotations

from dataclasses import dataclass

from sizewell.sizing.predict.performance.serving_load import Load


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLevel:
    """Upper bounds in seconds at a percentile; None: not asked for."""

    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None
    percentile: float = 0.95
    parts: int = 1  # of a request, heard one after another: `e2e_s` is of one of them

    def met(self, load: Load, output_tokens: float) -> bool:
        return (
            load.stable
            and (self.ttft_s is None or load.ttft_s <= self.ttft_s)
            and (self.tpot_s is None or load.tpot_s <= self.tpot_s)
            and (self.e2e_s is None or load.e2e_s(output_tokens) <= self.e2e_s)
        )

    def missed(self, load: Load, output_tokens: float) -> str:
        """Which bounds are broken, with the numbers."""
        if not load.stable:
            return "more requests than it can serve"
        pairs = (
            ("first token", load.ttft_s, self.ttft_s),
            ("each token", load.tpot_s, self.tpot_s),
            ("the answer", load.e2e_s(output_tokens), self.e2e_s),
        )
        return ", ".join(
            f"{name} after {is_s * 1000:.0f} ms, {most_s * 1000:.0f} allowed"
            for name, is_s, most_s in pairs
            if most_s is not None and is_s > most_s
        )
