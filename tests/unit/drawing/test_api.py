"""The package's surface is flat and exactly this."""

import demaq.drawing


def test_the_public_names_are_exactly_these() -> None:
    expected = {"Edge", "Graph", "Line", "Node", "Rank", "Shape", "Tone", "to_mermaid", "to_svg"}
    assert set(demaq.drawing.__all__) == expected
    assert all(hasattr(demaq.drawing, name) for name in expected)
