"""Workers take the parts of a batch that suit them, and each part is taken once."""

from pathlib import Path
from unittest.mock import patch

from demaq.spark import claims
from demaq.spark.claims import claimed


def test_each_task_gets_another_part(tmp_path: Path) -> None:
    with patch.object(claims, "_known", [3, 1]):
        assert [claimed(tmp_path, task, 5) for task in range(5)] == [3, 1, 2, 4, 0]


def test_a_task_that_is_tried_again_gets_the_same_part(tmp_path: Path) -> None:
    with patch.object(claims, "_known", [2]):
        first = claimed(tmp_path, 0, 3)
    with patch.object(claims, "_known", [1, 0]):  # another worker
        assert claimed(tmp_path, 0, 3) == first == 2
        assert [claimed(tmp_path, task, 3) for task in (1, 2)] == [1, 0]


def test_a_worker_goes_on_with_what_it_had(tmp_path: Path) -> None:
    workers: list[list[int]] = [[], []]
    had: list[list[set[int]]] = [[], []]
    for batch in range(3):
        folder = tmp_path / str(batch)
        folder.mkdir()
        for known, parts in zip(workers, had, strict=True):
            parts.append(set())
            for _ in range(2):
                with patch.object(claims, "_known", known):
                    task = len(list(folder.iterdir()))
                    parts[-1].add(claimed(folder, task, 4))
    assert had == [[{0, 1}] * 3, [{2, 3}] * 3]


def test_a_batch_with_fewer_parts_is_divided_all_the_same(tmp_path: Path) -> None:
    with patch.object(claims, "_known", [7, 6, 5, 4, 1]):
        assert sorted(claimed(tmp_path, task, 2) for task in range(2)) == [0, 1]
