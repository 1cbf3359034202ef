"""The public names are exactly those that are meant to be."""

import types

import demaq


def test_everything_public_is_listed() -> None:
    public = {
        name
        for name, value in vars(demaq).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert public | {"__version__"} == set(demaq.__all__)
    assert list(demaq.__all__) == sorted(demaq.__all__)


def test_errors_have_one_base() -> None:
    for name in ("ApplicationInvalid", "ApplicationNotFound", "XQuerySyntaxError"):
        assert issubclass(getattr(demaq, name), demaq.DemaqError)
