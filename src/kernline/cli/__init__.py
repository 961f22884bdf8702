"""The command line: ``kernline train data.svm model.kern``, and what comes before and after.

Nothing heavy is imported before a command needs it, so that ``kernline --help`` answers at once.
"""

import sys


def main() -> None:
    """Run the command line; exit codes are those of `errors.ExitCode`."""
    try:
        from .app import app
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("typer", "rich", "click"):
            raise
        sys.stderr.write("kernline: the command line needs typer and rich: pip install 'kernline[cli]'\n")
        sys.exit(3)
    app()
