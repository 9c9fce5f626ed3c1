"""`python -m groupsim`: the same as the `groupsim` command."""

from groupsim.cli import main

if __name__ == "__main__":
    main()
