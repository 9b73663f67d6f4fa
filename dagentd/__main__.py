"""`python -m dagentd` is the `dagentd` command."""

from dagentd.cli import main

if __name__ == "__main__":
    main()
