#!/usr/bin/env python3
"""slurm_test.py ORIAS_LAB: a sweep as a job array of a real Slurm, with its controller and node on this computer. A job is killed in the
middle, and the result files of two are removed; submitted again, the sweep has the same table as one by orias-lab itself. Skipped
(status 77) where Slurm is not installed, or does not start."""
import getpass
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
SECONDS = 120
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
QUERY = "SELECT launch, knobs, state, cycles, executed FROM jobs ORDER BY id"


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Slurm:
    """A controller and a node without authentication, in a folder."""

    def __init__(self, folder):
        for tool in ("slurmctld", "slurmd", "sbatch", "squeue", "sinfo"):
            if not shutil.which(tool):
                skip(f"there is no {tool}")
        host = socket.gethostname().split(".")[0]
        config = folder / "slurm.conf"
        config.write_text(f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={getpass.getuser()}
SlurmdUser={getpass.getuser()}
AuthType=auth/none
CredType=cred/none
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} RealMemory=1024 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
""")
        os.environ["SLURM_CONF"] = str(config)
        (folder / "state").mkdir()
        (folder / "spool").mkdir()
        self.daemons = []
        for program in ("slurmctld", "slurmd"):
            log = open(folder / f"{program}.log", "wb")
            self.daemons.append(subprocess.Popen([program, "-D", "-f", str(config)], stdout=log, stderr=log))
        end = time.monotonic() + SECONDS
        while "idle" not in self.ask("sinfo", "-h", "-o", "%T"):
            if time.monotonic() > end or any(daemon.poll() is not None for daemon in self.daemons):
                self.stop()
                skip("Slurm does not start")
            time.sleep(0.5)

    @staticmethod
    def ask(*command):
        return subprocess.run(command, capture_output=True, text=True).stdout

    def wait(self):
        end = time.monotonic() + SECONDS
        while self.ask("squeue", "-h"):
            assert time.monotonic() < end, self.ask("squeue")
            time.sleep(0.5)

    def stop(self):
        for daemon in self.daemons:
            daemon.terminate()
        for daemon in self.daemons:
            daemon.wait()


def main():
    lab = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        plan = folder / "plan.json"
        plan.write_text(json.dumps({"kernels": [str(EXAMPLES / "histogram.json"), str(EXAMPLES / "reduction.json")],
                                    "knobs": {"values": {"PreSchedRegisterTarget": [16, 32, 64], "SchedSerial": [1]}},
                                    "limits": {"megabytes": 512}}))

        def table(store):
            return subprocess.run([lab, "query", QUERY, f"--store={store}"], check=True, capture_output=True, text=True).stdout

        subprocess.run([lab, "sweep", plan, f"--store={folder}/here.db"], check=True)
        slurm = Slurm(folder)
        try:
            jobs = folder / "jobs"
            subprocess.run([lab, "jobs", plan, "--engine=slurm", "-o", jobs], check=True)
            subprocess.run(["sh", jobs / "submit.sh"], check=True)
            end = time.monotonic() + SECONDS
            while not list((jobs / "results").glob("*.json")):  # in the middle of the sweep the node is lost
                assert time.monotonic() < end, slurm.ask("squeue")
                time.sleep(0.05)
            slurm.daemons[1].send_signal(signal.SIGKILL)
            slurm.daemons[1].wait()
            subprocess.run(["scancel", "--user", getpass.getuser()], check=True)
            slurm.daemons[1] = subprocess.Popen(["slurmd", "-D"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            slurm.wait()
            results = sorted((jobs / "results").glob("*.json"))
            results[0].unlink()
            missing = subprocess.run([lab, "merge", jobs, f"--store={folder}/early.db"], capture_output=True, text=True)
            assert missing.returncode == 1 and f"missing: {results[0].stem}" in missing.stdout, missing.stdout
            subprocess.run(["sh", jobs / "submit.sh"], check=True)
            slurm.wait()
            merged = subprocess.run([lab, "merge", jobs, f"--store={folder}/early.db"], capture_output=True, text=True)
            assert merged.returncode == 0, merged.stdout
        finally:
            slurm.stop()
        assert table(folder / "early.db") == table(jobs / "results.db") == table(folder / "here.db")
        print("the same table")


main()
