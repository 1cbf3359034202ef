"""Commands that are loaded when they are called: what one needs, others do not wait for."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """Commands by their names, and the modules in which each is a function of that name."""

    def __init__(self, *arguments: Any, commands_in: Mapping[str, str], **others: Any) -> None:
        super().__init__(*arguments, **others)
        self._modules = commands_in

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # as click calls it
        return sorted(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = self._modules.get(cmd_name)
        if module is None:
            return super().get_command(ctx, cmd_name)
        found: click.Command = getattr(import_module(module), cmd_name)
        return found
