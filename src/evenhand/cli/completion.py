"""The command that has a shell complete commands, options and files."""

import click

PROGRAM, VARIABLE = "evenhand", "_EVENHAND_COMPLETE"
HOW = {
    "bash": "evenhand completion bash > ~/.local/share/bash-completion/completions/evenhand",
    "zsh": 'evenhand completion zsh > "${fpath[1]}/_evenhand"',
    "fish": "evenhand completion fish > ~/.config/fish/completions/evenhand.fish",
}


@click.command(epilog="\b\n" + "\n".join(HOW.values()))
@click.argument("shell", type=click.Choice(tuple(HOW)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what SHELL reads to complete commands, options and files."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(f"# {HOW[shell]}\n{kind(ctx.find_root().command, {}, PROGRAM, VARIABLE).source()}")


COMMANDS = (completion,)
