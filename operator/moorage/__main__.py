"""`python -I -m moorage`: the same command line as the `moorage` script, and the way a container starts it.

-I (isolated) keeps the current directory and PYTHON* variables out of the import path.
"""

from moorage.apps.cli import main

if __name__ == "__main__":
    main()
