"""The colours, once for light and once for dark surroundings."""

from dataclasses import dataclass

from demaq.drawing.graph import Line, Tone

NOTE_OPACITY = 0.85


@dataclass(frozen=True, slots=True, kw_only=True)
class Paint:
    """The colours of a tone; notes are written in the ink thinned to `NOTE_OPACITY`."""

    fill: str
    stroke: str
    ink: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    paper: str
    rule: str  # hairlines
    ink: str
    faint: str  # captions, notes
    tones: dict[Tone, Paint]
    lines: dict[Line, str]


LIGHT = Palette(
    paper="#ffffff",
    rule="#e3e7ec",
    ink="#1d2530",
    faint="#56616f",
    tones={
        Tone.NEUTRAL: Paint(fill="#f6f7f9", stroke="#b4bdc9", ink="#1d2530"),
        Tone.ACCENT: Paint(fill="#edf1fc", stroke="#7d95db", ink="#24386f"),
        Tone.WARM: Paint(fill="#fcf3e6", stroke="#d8a963", ink="#694310"),
        Tone.COOL: Paint(fill="#e7f4f2", stroke="#68aca3", ink="#104b45"),
        Tone.DANGER: Paint(fill="#fcedec", stroke="#d98580", ink="#80211d"),
        Tone.MUTED: Paint(fill="#fbfbfc", stroke="#d5dae0", ink="#505965"),
    },
    lines={
        Line.SOLID: "#7b8898",
        Line.DASHED: "#7b8898",
        Line.DOTTED: "#7b8898",
        Line.DANGER: "#c8524c",
        Line.MUTED: "#c2c9d2",
    },
)

DARK = Palette(
    paper="#14181e",
    rule="#2b323c",
    ink="#e6eaf0",
    faint="#9fabb9",
    tones={
        Tone.NEUTRAL: Paint(fill="#1f252d", stroke="#525e6d", ink="#e6eaf0"),
        Tone.ACCENT: Paint(fill="#1d2743", stroke="#5b74be", ink="#cbd7fa"),
        Tone.WARM: Paint(fill="#2e2614", stroke="#a37a37", ink="#f3d9ac"),
        Tone.COOL: Paint(fill="#12302d", stroke="#438a81", ink="#b5e4dd"),
        Tone.DANGER: Paint(fill="#331b1c", stroke="#b35a56", ink="#f8c9c5"),
        Tone.MUTED: Paint(fill="#181d23", stroke="#363f4a", ink="#929eac"),
    },
    lines={
        Line.SOLID: "#7f8c9c",
        Line.DASHED: "#7f8c9c",
        Line.DOTTED: "#7f8c9c",
        Line.DANGER: "#e0716b",
        Line.MUTED: "#424c58",
    },
)
