"""A transitive closure as a pipeline: the edges of chains, and who can be reached from whom.

    .venv/bin/python bench/closure.py [--edges 1000000] [--length 10]

The pipeline runs three times on Spark, in a process each: as `demaq pipeline run` would run it, then with all rounds in
memory beside Spark, and with all rounds as jobs of Spark. What is written must be all that can be reached, each time.
"""

import argparse
import hashlib
import resource
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch

import demaq
from demaq.spark.session import Session

PIPELINE = """
@from(file:edges.csv) { edge(a: integer, b: integer). }
reach(a, b) :- edge(a, b).
reach(a, c) :- reach(a, b), edge(b, c).
@to(file:reach.csv) { reach }
"""
INSIDE = "demaq.spark.pipelines.pipeline.stays_inside"
BESIDE = "demaq.spark.pipelines.fixpoint.run_beside"
WAYS: Mapping[str, tuple[str, ...]] = {
    "by the worker that reads the edges": (),
    "in memory, if there are few facts": (INSIDE,),
    "in jobs of Spark": (INSIDE, BESIDE),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure a transitive closure.")
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--length", type=int, default=10, help="edges in a chain")
    options = parser.parse_args()
    chains = options.edges // options.length
    expected = chains * options.length * (options.length + 1) // 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "closure.lila").write_text(PIPELINE, encoding="utf-8")
        with open(folder / "edges.csv", "w", encoding="utf-8") as file:
            file.write("a,b\n")
            file.writelines(f"{a},{b}\n" for a, b in edges(chains, options.length))
        digests = set()
        for way, without in WAYS.items():
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                seconds, facts, digest, memory = pool.submit(run, folder, without).result()
            print(f"{way:<36}{seconds:>8.1f} s{facts:>12,} facts{memory / 1024:>8.0f} MB in the driver", flush=True)
            assert facts == expected, f"{facts:,} facts, and not {expected:,}"
            digests.add(digest)
        assert len(digests) == 1, "not all are the same"


def edges(chains: int, length: int) -> Iterator[tuple[int, int]]:
    for chain in range(chains):
        first = chain * (length + 1)
        yield from ((first + n, first + n + 1) for n in range(length))


def run(folder: Path, without: tuple[str, ...]) -> tuple[float, int, str, int]:
    """Seconds, how many facts, a digest of what was written, and the most memory of this process in kilobytes."""
    session = Session("local[*]", {"spark.sql.shuffle.partitions": "32", "spark.sql.adaptive.enabled": "true"})
    spark = session.spark
    for name in without:
        patch(name, return_value=False).start()
    start = time.perf_counter()
    demaq.pipeline(folder / "closure.lila").execute(spark, is_strict=True)
    seconds = time.perf_counter() - start
    session.close()
    with open(folder / "reach.csv", "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with open(folder / "reach.csv", "rb") as file:
        facts = sum(1 for _ in file) - 1
    most = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return seconds, facts, digest, most


if __name__ == "__main__":
    main()
