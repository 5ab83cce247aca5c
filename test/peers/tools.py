"""Finds the programs that orias is compared with, and runs programs with a clock and a look at their memory."""
import dataclasses
import os
import shutil
import subprocess
import threading
import time


def find(name):
    """The path of a peer, from $ORIAS_PEERS_DIR or PATH; None if this machine has none."""
    folders = [f for f in (os.environ.get("ORIAS_PEERS_DIR"), os.environ.get("PATH")) if f]
    return shutil.which(name, path=os.pathsep.join(folders))


@dataclasses.dataclass
class Outcome:
    """What a program did: status is negative for a signal, None if it ran out of time."""

    status: int | None
    seconds: float
    peak_kilobytes: int
    output: str
    errors: str

    @property
    def ok(self):
        return self.status == 0


def run(command, limit=120.0):
    """Runs a program once. The peak memory is the kernel's figure for this child alone."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expired = threading.Event()
    timer = threading.Timer(limit, lambda: (expired.set(), process.kill()))
    timer.start()
    texts = {}

    def drain(name, stream):
        texts[name] = stream.read().decode(errors="replace")

    readers = [threading.Thread(target=drain, args=pair) for pair in (("out", process.stdout), ("err", process.stderr))]
    for reader in readers:
        reader.start()
    # wait4 rather than wait: it alone tells the resources of one child.
    _, raw, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    timer.cancel()
    for reader in readers:
        reader.join()
    process.stdout.close()
    process.stderr.close()
    process.returncode = os.waitstatus_to_exitcode(raw)
    status = None if expired.is_set() else process.returncode
    return Outcome(status, seconds, usage.ru_maxrss, texts["out"], texts["err"])


def best(command, times, limit=120.0):
    """The fastest of several runs; one run only if it fails."""
    outcome = run(command, limit)
    for _ in range(times - 1):
        if not outcome.ok:
            break
        again = run(command, limit)
        if again.ok and again.seconds < outcome.seconds:
            outcome = again
    return outcome
