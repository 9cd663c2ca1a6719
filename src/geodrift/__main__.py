"""`python -m geodrift`: the command, of the Python that runs it."""

from geodrift_command import main

if __name__ == "__main__":
    main()
