"""Finds the programs that orias is compared with, and runs programs with measurements of time and memory."""
import concurrent.futures
import dataclasses
import os
import resource
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
    """The outcome of a program: status is negative for a signal, None after a timeout."""

    status: int | None
    seconds: float
    cpu_seconds: float  # valid only if nothing else runs through this module at the same time
    peak_kilobytes: int
    output: str
    errors: str

    @property
    def ok(self):
        return self.status == 0


def peak_memory(pid, stop):
    """Tracks the peak resident memory of a process, in kilobytes, until `stop` is set.

    This is not the ru_maxrss of wait4, which includes the memory of this Python process, from which the child was
    forked.
    """
    peak = 0
    while True:
        try:
            with open(f"/proc/{pid}/status") as status:
                peak = next((int(line.split()[1]) for line in status if line.startswith("VmHWM:")), peak)
        except OSError:
            return peak
        if stop.wait(0.002):
            return peak


def run(command, limit=120.0):
    """Runs a program once, with the limit in seconds."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    over = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        peak = pool.submit(peak_memory, process.pid, over)
        try:
            output, errors = process.communicate(timeout=limit)
            status = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            status = None
        seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        over.set()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    texts = (text.decode(errors="replace") for text in (output, errors))
    return Outcome(status, seconds, cpu, peak.result(), *texts)


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
