"""`python -m geodrift.cli`."""

from geodrift.cli import main

if __name__ == "__main__":
    main()
