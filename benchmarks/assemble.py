"""RESULTS.md from its parts: ``python -m benchmarks.assemble``.

Each benchmark writes its own section to ``results/``, with the command, the seed and the data
hash; this joins them in reading order, so one section can be measured again without touching the
others.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
ORDER = ("core", "etth1", "forecasting", "forecasting_speed", "anomaly", "recsys")
HEAD = """# Results

What was asked beside what was got, ours and the baselines in the same table, also where a baseline
wins. Settings are chosen on validation data; a test part is read once. Speed is CPU time on one
thread, interleaved, as a ratio, because ratios travel between machines and seconds do not.
"""


def assemble() -> str:
    """The whole page."""
    parts = [path for name in ORDER if (path := HERE / "results" / f"{name}.md").exists()]
    return "\n".join([HEAD, *(part.read_text("utf-8").strip() + "\n" for part in parts)])


if __name__ == "__main__":
    (HERE / "RESULTS.md").write_text(assemble(), encoding="utf-8")
