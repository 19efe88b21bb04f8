"""`python -I -m moorage`: the same command line as the `moorage` script, and the way a container
starts it.

-I (isolated) keeps the current directory and PYTHON* variables out of the import path.
"""


def main() -> None:
    """The program; raises SystemExit."""
    try:
        from moorage.apps import cli
    except KeyboardInterrupt:  # later on Typer does the same
        raise SystemExit(130) from None
    cli.main()


if __name__ == "__main__":
    main()
