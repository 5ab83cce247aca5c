"""The JSON of reports: what it is by its schema, and that its parts agree with one another.

usage: report_test.py ORIAS ORIAS_LAB ROOT"""

import copy
import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

import schema

ORIAS, LAB, ROOT = map(os.path.abspath, sys.argv[1:4])
SCHEMA = os.path.join(ROOT, "tools/report/report.schema.json")
SWEEP_SCHEMA = os.path.join(ROOT, "tools/report/sweep.schema.json")


def report(folder, *words):
    path = os.path.join(folder, "report.json")
    subprocess.run([ORIAS, *words, f"--report={path}", "--report-format=json", "-o", os.path.join(folder, "out.cubin")], check=True)
    with open(path) as file:
        return json.load(file)


def rows_of_states(history):
    """The rows of each state, from the edits."""
    states, rows = [], []
    for state in history["states"]:
        new, at = [], 0
        for place, removed, added in state["edits"]:
            new += rows[at:place] + added
            at = place + removed
        rows = new + rows[at:]
        states.append(rows)
    return states


class Documents(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def check(self, document):
        self.assertEqual(schema.check(document, SCHEMA), [])
        for function in document["functions"]:
            self.check_function(document, function)

    def check_function(self, document, function):
        code, history = function["code"], function["history"]
        count = len(code["text"])
        for name in ("control", "live", "lanes", "id", "line", "loc", "phases", "reads", "writes"):
            self.assertEqual(len(code[name]), count, name)
        self.assertEqual(sum(i is not None for i in code["id"]), function["figures"]["instructions"])
        # Live registers are told twice.
        for number, file in enumerate(("R", "UR", "P", "UP")):
            live = [0] * count
            for name, _, first, end in code["liveRanges"]:
                for i in range(first, end):
                    live[i] += name == file
            self.assertEqual(live, [counts[number] for counts in code["live"]], file)
        # Who is waited for has taken the scoreboard.
        for waiter, producer, scoreboard, for_sources in code["waits"]:
            self.assertEqual(code["control"][producer][3 if for_sources else 2], scoreboard)
            self.assertTrue(code["control"][waiter][4] >> scoreboard & 1 or "DEPBAR" in code["text"][waiter])
        for at, producer, reader in code["stalls"]:
            self.assertLessEqual(producer, at)
            self.assertLess(at, reader)
            self.assertGreater(code["control"][at][0], 1)
        # The blocks are all of the code.
        self.assertEqual([block[0] for block in code["blocks"]][1:] + [count], [block[1] for block in code["blocks"]])
        # The last state is what was encoded.
        states = rows_of_states(history)
        ids = [history["rows"]["id"][row] for row in states[-1]]
        self.assertEqual([i for i in ids if i is not None and i >= 0], [i for i in code["id"] if i is not None])
        for state, rows in zip(history["states"], states):
            if state["form"] == "ori":
                self.assertEqual(sum(history["rows"]["id"][row] >= 0 for row in rows), state["instructions"])
        # Every state is what the dump of its phase says.
        names = [document["phases"][s["phase"]]["name"] for s in history["states"] if s["phase"] is not None]
        self.assertEqual(len(names), len(set(names)))

    def test_examples(self):
        for launch in sorted(glob.glob(os.path.join(ROOT, "examples/*.json"))):
            with self.subTest(launch):
                document = report(self.folder.name, f"--report-launch={launch}")
                self.check(document)
                run = document["functions"][0]["run"]
                figures = dict(run["figures"])
                self.assertTrue(run["completed"])
                self.assertEqual(sum(run["executed"]), figures["warp instructions"])
                for kind, name in (("fixed", "fixedStalls"), ("scoreboards", "scoreboardStalls"), ("barriers", "barrierStalls")):
                    self.assertEqual(sum(run[name]), figures[f"stall cycles, {kind}"])

    def test_options(self):
        kernel = os.path.join(ROOT, "examples/histogram.ptx")
        for words in (["-O0"], ["-c"], ["--disable-phase=0,22"], ["-maxrregcount=24"], ["--Ofast-compile=max"], ["--split-compile=2"]):
            with self.subTest(words):
                self.check(report(self.folder.name, kernel, *words))

    def test_states_are_the_dumps(self):
        kernel, dumps = os.path.join(ROOT, "examples/reduction.ptx"), os.path.join(self.folder.name, "dumps")
        document = report(self.folder.name, kernel, "--dump-after=all", f"--dump-dir={dumps}")
        function = document["functions"][0]
        history = function["history"]
        compared = 0
        for state, rows in zip(history["states"], rows_of_states(history)):
            phase = document["phases"][state["phase"]] if state["phase"] is not None else None
            files = glob.glob(os.path.join(dumps, f"*-{phase['name']}.{function['name']}.ori")) if phase else []
            if state["form"] != "ori" or not files:
                continue
            with open(files[0]) as file:
                lines = [line.split("  #")[0].strip() for line in file]
            texts = [history["rows"]["text"][row] for row in rows if history["rows"]["id"][row] >= 0]
            self.assertEqual([line.rstrip(";") for line in lines if line in set(texts) or line.rstrip(";") in set(texts)], texts, phase["name"])
            compared += 1
        self.assertGreater(compared, 40)

    def test_code_is_the_same_with_a_report(self):
        kernel = os.path.join(ROOT, "examples/histogram.ptx")
        plain = os.path.join(self.folder.name, "plain.cubin")
        subprocess.run([ORIAS, kernel, "-o", plain], check=True)
        report(self.folder.name, kernel)
        with open(plain, "rb") as a, open(os.path.join(self.folder.name, "out.cubin"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_source_lines(self):
        source, kernel = os.path.join(self.folder.name, "k.cu"), os.path.join(self.folder.name, "k.ptx")
        with open(source, "w") as file:
            file.write("one\ntwo\nthree\n")
        with open(kernel, "w") as file:
            file.write('.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n.reg .b64 %p; .reg .u32 %v;\n'
                       'ld.param.u64 %p, [p];\n.loc 1 2 1\nld.global.u32 %v, [%p];\n.loc 1 3 1\nst.global.u32 [%p+4], %v;\nret;\n}\n.file 1 "k.cu"\n')
        document = report(self.folder.name, kernel)
        self.check(document)
        inputs, code = document["inputs"][0], document["functions"][0]["code"]
        places = {tuple(inputs["locs"][loc - 1]) for loc in code["loc"] if loc}
        self.assertEqual({line for _, line in places}, {2, 3})
        self.assertEqual({inputs["sources"][file]["text"] for file, _ in places}, {"one\ntwo\nthree\n"})

    def test_faults_are_seen(self):
        """The checks above find what is wrong."""
        good = report(self.folder.name, os.path.join(ROOT, "examples/saxpy.ptx"))
        self.check(good)

        def drop(document):
            del document["functions"][0]["code"]["waits"]

        def extra(document):
            document["functions"][0]["history"]["states"][0]["colour"] = "red"

        def kind(document):
            document["functions"][0]["code"]["control"][0][0] = "1"

        def live(document):
            document["functions"][0]["code"]["live"][3][0] += 1

        def wait(document):
            document["functions"][0]["code"]["waits"][0][2] ^= 1

        def edit(document):
            states = document["functions"][0]["history"]["states"]
            next(s for s in reversed(states) if s["edits"])["edits"][0][2].pop()

        for plant in (drop, extra, kind, live, wait, edit):
            bad = copy.deepcopy(good)
            plant(bad)
            with self.subTest(plant.__name__), self.assertRaises(AssertionError):
                self.check(bad)

    def test_refusals(self):
        kernel, launch = os.path.join(ROOT, "examples/saxpy.ptx"), os.path.join(ROOT, "examples/histogram.json")
        for words, status in (([f"--report-launch={launch}"], 2), ([kernel, f"--report-launch={launch}", "--report=x.html"], 2),
                              ([kernel, "--report=x.html", "--report-format=pdf"], 2)):
            self.assertEqual(subprocess.run([ORIAS, *words], cwd=self.folder.name, capture_output=True).returncode, status, words)
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "x.html")))

    def test_sweep(self):
        plan, store = os.path.join(self.folder.name, "plan.json"), os.path.join(self.folder.name, "r.db")
        with open(plan, "w") as file:
            json.dump({"name": "p", "kernels": [os.path.join(ROOT, "examples/saxpy.json")], "knobs": {"values": {"SchedSerial": [1]}}}, file)
        subprocess.run([LAB, "sweep", plan, f"--store={store}"], check=True, stderr=subprocess.DEVNULL)
        document = json.loads(subprocess.run([LAB, "report", store, "--format=json"], check=True, capture_output=True).stdout)
        self.assertEqual(schema.check(document, SWEEP_SCHEMA), [])
        self.assertEqual(document["store"], "r.db")
        knobs = [row[document["columns"].index("knobs")] for row in document["rows"]]
        self.assertEqual(knobs, ["", "SchedSerial=1"])
        self.assertTrue(all(row[document["columns"].index("cycles")] > 0 for row in document["rows"]))
        document["rows"][0][0] = ["p"]
        self.assertNotEqual(schema.check(document, SWEEP_SCHEMA), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
