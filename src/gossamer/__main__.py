"""``python -m gossamer``: the same as the ``gossamer`` command."""

from gossamer.cli.main import main

if __name__ == "__main__":
    main()
