"""status.py N COMMAND...: runs the command; succeeds if it exits with N, whatever N is."""
import subprocess
import sys

wanted = int(sys.argv[1])
got = subprocess.run(sys.argv[2:]).returncode
if got != wanted:
    sys.exit(f"exit status {got}, wanted {wanted}: {' '.join(sys.argv[2:])}")
