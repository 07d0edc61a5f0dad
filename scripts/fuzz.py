"""Run the property tests with new random seeds until the minutes are over or one fails."""

from __future__ import annotations

import argparse
import secrets
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Exit with pytest's code at the first failing round; the seed that is printed repeats it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long to go on starting rounds")
    minutes: float = parser.parse_args().minutes
    end_s = time.monotonic() + minutes * 60
    n_rounds = 0
    while time.monotonic() < end_s:
        seed = secrets.randbelow(2**32)
        n_rounds += 1
        print(f"round {n_rounds}: --hypothesis-seed={seed}", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-x", "tests/properties"]
        command += ["--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}"]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        if code != 0:
            print(f"round {n_rounds} failed; repeat it with: {' '.join(command[1:])}")
            return code
    print(f"{n_rounds} rounds in {minutes:g} minutes, none failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
