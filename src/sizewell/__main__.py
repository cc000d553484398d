"""`python -m sizewell`: the command, where its script is not on PATH."""

from sizewell.cli.main import command

if __name__ == "__main__":
    command()
