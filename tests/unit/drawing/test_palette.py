"""Whatever is written can be read, in the light and in the dark."""

import pytest

from demaq.drawing import Line, Tone
from demaq.drawing.palette import DARK, LIGHT, NOTE_OPACITY, Palette


def channels(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def thinned(ink: str, paper: str) -> str:
    pairs = zip(channels(ink), channels(paper), strict=True)
    return "#" + "".join(f"{round(a * NOTE_OPACITY + b * (1 - NOTE_OPACITY)):02x}" for a, b in pairs)


def luminance(colour: str) -> float:
    parts = [channel / 255 for channel in channels(colour)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
class TestPalette:
    def test_text_stands_out_as_the_accessibility_guidelines_ask(self, palette: Palette) -> None:
        assert contrast(palette.ink, palette.paper) >= 7
        assert contrast(palette.faint, palette.paper) >= 4.5
        for paint in palette.tones.values():
            assert contrast(paint.ink, paint.fill) >= 4.5
            assert contrast(thinned(paint.ink, paint.fill), paint.fill) >= 4.5

    def test_lines_stand_out_except_the_muted_one(self, palette: Palette) -> None:
        loud = {line: contrast(colour, palette.paper) for line, colour in palette.lines.items()}
        assert all(value >= 3 for line, value in loud.items() if line is not Line.MUTED)
        assert 1.4 <= loud[Line.MUTED] < loud[Line.SOLID]

    def test_there_is_a_colour_for_everything(self, palette: Palette) -> None:
        assert set(palette.tones) == set(Tone)
        assert set(palette.lines) == set(Line)
