"""The pages in a real browser: what they show, that rows are linked, the keyboard, and that they ask nobody for anything.

usage: page_test.py ORIAS ORIAS_LAB ROOT     Exits with 77 where no browser is installed."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import browser
import large_kernel

ORIAS, LAB, ROOT = map(os.path.abspath, sys.argv[1:4])

# Generous: what counts is that time does not grow with what cannot be seen.
MOST_MILLISECONDS = 10000
MOST_ROWS = 600

LINKED = "[...document.querySelectorAll('#list-%s .row.sel, #list-%s .row.exact, #list-%s .row.same')].map(row => row.textContent)"


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.histogram = cls.make("histogram", f"--report-launch={ROOT}/examples/histogram.json")
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.__exit__)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def make(cls, name, *words):
        subprocess.run([ORIAS, *words, f"--report={cls.path(name + '.html')}", "-o", cls.path("out.cubin")], check=True)
        return cls.path(name + ".html")

    def open(self, page, address=""):
        milliseconds = self.browser.open(page, address)
        self.browser.settle()
        return milliseconds

    def tearDown(self):
        self.assertEqual(self.browser.problems(), [])

    def run_js(self, text):
        return self.browser.run(text)

    def rows(self, name):
        return self.run_js(f"[...document.querySelectorAll('#list-{name} .row')].map(row => row.textContent)")

    def selected(self, name):
        return self.run_js(f"(document.querySelector('#list-{name} .row.sel') || {{textContent: ''}}).textContent")

    def linked(self, name):
        return self.run_js(LINKED % (name, name, name))

    def focus(self, name):
        self.run_js(f"document.getElementById('list-{name}').focus()")

    def test_panes_are_filled(self):
        self.open(self.histogram, "#line=37")
        self.assertTrue(any("ld.global.u8" in row for row in self.rows("ptx")))
        self.assertTrue(any("LDG" in row for row in self.rows("ori")))
        self.assertTrue(any("LDG" in row for row in self.rows("sass")))
        phases = " ".join(self.rows("phases"))
        for name in ("Lowering", "OriLoopUnrolling", "AllocateRegisters"):
            self.assertIn(name, phases)
        self.assertIn("instructions", self.run_js("document.getElementById('figures').textContent"))

    def test_rows_are_linked(self):
        self.open(self.histogram, "#at=0x370")
        line = next(row for row in self.rows("ptx") if "red.shared" in row)
        self.run_js("[...document.querySelectorAll('#list-ptx .row')].find(row => row.textContent.includes('red.shared')).click()")
        self.browser.settle()
        self.assertIn("▶", self.selected("ptx"))
        self.assertIn(line.split("red.shared")[1], self.selected("ptx"))
        for name in ("sass", "ori"):
            linked = self.linked(name)
            self.assertGreater(len(linked), 1, name)
            self.assertTrue(all("ATOMS" in row for row in linked), linked)
        # The other way.
        self.run_js("[...document.querySelectorAll('#list-sass .row')].find(row => row.textContent.includes('SHF.L')).click()")
        self.browser.settle()
        self.assertIn("shl", self.selected("ptx"))
        self.assertIn("SHF.L", self.selected("ori"))
        self.assertIn("SHF.L", self.run_js("document.getElementById('tab-instruction').textContent"))

    def test_source_lines_are_linked(self):
        with open(self.path("k.cu"), "w") as file:
            file.write("first line\nload here\nstore here\n")
        with open(self.path("k.ptx"), "w") as file:
            file.write('.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n.reg .b64 %p; .reg .u32 %v;\n'
                       'ld.param.u64 %p, [p];\n.loc 1 2 1\nld.global.u32 %v, [%p];\n.loc 1 3 1\nst.global.u32 [%p+4], %v;\nret;\n}\n.file 1 "k.cu"\n')
        self.open(self.make("k", self.path("k.ptx")))
        self.run_js("[...document.querySelectorAll('#list-source .row')].find(row => row.textContent.includes('load here')).click()")
        self.browser.settle()
        self.assertIn("LDG", self.selected("sass"))
        self.assertIn("ld.global", self.selected("ptx"))
        self.run_js("[...document.querySelectorAll('#list-sass .row')].find(row => row.textContent.includes('STG')).click()")
        self.browser.settle()
        self.assertIn("store here", self.selected("source"))

    def test_phases_by_keyboard(self):
        self.open(self.histogram)
        title = lambda: self.run_js("document.getElementById('ori-title').textContent")
        last = title()
        self.browser.keys("[[")
        self.assertNotEqual(title(), last)
        self.browser.keys("]]")
        self.assertEqual(title(), last)
        self.open(self.histogram, "#phase=22")
        self.assertIn("22 OriLoopUnrolling", title())
        self.assertTrue(any(" + " in row or "+" == row.strip()[:1] for row in self.rows("ori")))
        self.browser.keys("d")  # before and after
        pairs = self.run_js("[...document.querySelectorAll('#list-ori .row.pair')].map(row => [...row.querySelectorAll('.cell')].map(c => c.textContent))")
        self.assertGreater(len(pairs), 5)
        before, after = (self.run_js(f"page.kernel.pairsOf(page.panes.state).filter(pair => pair[{side}] >= 0).length") for side in (0, 1))
        self.assertEqual(after, self.run_js("page.kernel.rowsOf(page.panes.state).length"))
        self.assertEqual(before, self.run_js("page.kernel.rowsOf(page.panes.state - 1).length"))
        self.browser.keys("f")  # only changes
        self.assertTrue(any("did not change" in row for row in self.rows("ori")))
        self.browser.keys("n")
        self.assertTrue(self.selected("ori"))

    def test_rows_by_keyboard(self):
        self.open(self.histogram)
        self.focus("sass")
        self.browser.key("Home")
        self.assertIn("0000", self.selected("sass"))
        self.browser.keys("jj")
        self.browser.key("ArrowDown")
        self.assertIn("0030", self.selected("sass"))
        self.browser.key("End")
        self.assertIn("EXIT", self.selected("sass"))
        for key, tab in (("l", "pressure"), ("c", "flow"), ("m", "remarks"), ("r", "registers"), ("u", "run"), ("i", "instruction")):
            self.browser.key(key)
            self.assertEqual(self.run_js("document.querySelector('[role=tab][aria-selected=true]').dataset.tab"), tab)
            self.assertFalse(self.run_js(f"document.getElementById('tab-{tab}').hidden"))
        theme = self.run_js("document.documentElement.dataset.theme")
        self.browser.key("t")
        self.assertNotEqual(self.run_js("document.documentElement.dataset.theme"), theme)
        self.browser.key("?")
        self.assertTrue(self.run_js("document.getElementById('help').open"))
        self.assertIn("Permission is hereby granted", self.run_js("document.querySelector('#help pre').textContent"))
        self.browser.key("Escape")
        self.browser.key("/")
        self.browser.keys("BAR")
        self.browser.key("Enter")
        self.assertIn("BAR", self.selected("sass"))
        self.assertRegex(self.run_js("document.getElementById('found').textContent"), r"^\d+ of \d+ in SASS$")

    def test_waits_are_arrows(self):
        self.open(self.histogram)
        waiter, producer, board = self.run_js("page.kernel.code.waits.find(([w, p]) => p < w).slice(0, 3)")
        self.run_js(f"page.panes.goTo({waiter})")
        self.browser.settle()
        self.assertGreater(self.run_js("document.querySelectorAll('svg.arrows g').length"), 0)
        self.assertGreater(self.run_js("document.querySelectorAll('svg.arrows g.chosen').length"), 0)
        self.assertIn(f"{16 * producer:04x}", self.run_js("document.getElementById('tab-instruction').textContent"))
        self.browser.key("w")
        self.assertIn(f"{16 * producer:04x}", self.selected("sass"))
        self.browser.key("b")
        self.assertIn(f"{16 * waiter:04x}", self.selected("sass"))

    def test_details(self):
        self.open(self.histogram, "#at=0x370&tab=instruction")
        self.browser.settle()
        text = self.run_js("document.getElementById('tab-instruction').textContent")
        for part in ("Control information", "executed", "created by", "Values before allocation", "scoreboard"):
            self.assertIn(part.lower(), text.lower())
        self.open(self.histogram, "#tab=registers")
        self.browser.settle()
        self.assertIn("The pressure of file R", self.run_js("document.getElementById('value-text').textContent"))
        self.run_js("document.querySelector('#list-values .row').click()")
        self.assertIn("live over", self.run_js("document.getElementById('value-text').textContent"))
        self.open(self.histogram, "#tab=remarks")
        self.browser.settle()
        everything = self.run_js("page.details.remarks.count")
        self.run_js("document.getElementById('remark-filter').value = 'unrolled'; document.getElementById('remark-filter').dispatchEvent(new Event('input'))")
        self.assertTrue(0 < self.run_js("page.details.remarks.count") < everything)
        self.assertTrue(all("unrolled" in row for row in self.rows("remarks")))

    def test_pictures(self):
        self.open(self.histogram, "#tab=pressure")
        self.browser.settle()
        self.assertGreater(self.run_js("page.pressure.chart.data.datasets[0].data.length"), 50)
        painted = "(() => { const c = document.getElementById('pressure'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; return d.some(x => x) })()"
        self.assertTrue(self.run_js(painted))
        self.open(self.histogram, "#tab=flow")
        self.browser.settle()
        self.assertEqual(self.run_js("document.querySelectorAll('#flow g.node').length"), self.run_js("page.kernel.code.blocks.length"))
        edges = self.run_js("page.kernel.code.blocks.reduce((sum, block) => sum + block[2].length, 0)")
        self.assertEqual(self.run_js("document.querySelectorAll('#flow svg > path').length"), edges)
        self.run_js("document.getElementById('flow-of').value = 'ori'; document.getElementById('flow-of').dispatchEvent(new Event('change'))")
        self.assertEqual(self.run_js("document.querySelectorAll('#flow g.node').length"), self.run_js("page.kernel.rowsOf(page.panes.state).filter(row => page.kernel.blockRows.has(row)).length"))

    def test_heat(self):
        self.open(self.histogram)
        heat = self.run_js("page.kernel.heats()['stall cycles']")
        hottest = max(range(len(heat)), key=heat.__getitem__)
        self.run_js(f"page.panes.goTo({hottest})")
        self.browser.settle()
        self.assertEqual(self.run_js("document.querySelector('#list-sass .row.sel .s-heat i').style.width"), "100%")
        self.assertIn(f"{16 * hottest:04x}", self.run_js("document.querySelector('#tab-run .link').textContent"))

    def test_large_kernel(self):
        with open(self.path("large.ptx"), "w") as file:
            file.write(large_kernel.kernel(10000))
        page = self.make("large", self.path("large.ptx"))
        milliseconds = self.open(page)
        rows = self.run_js("document.querySelectorAll('.row').length")
        count = self.run_js("page.kernel.count")
        print(f"{count} instructions: {os.path.getsize(page)} bytes, ready after {milliseconds} ms, {rows} rows in the page", file=sys.stderr)
        self.assertGreater(count, 8000)
        self.assertLess(milliseconds, MOST_MILLISECONDS)
        self.assertLess(rows, MOST_ROWS)
        self.focus("sass")
        self.browser.key("End")
        self.assertIn("EXIT", self.selected("sass"))
        for key in "lcmr[d":
            self.browser.key(key)
        self.assertLess(self.run_js("document.querySelectorAll('.row').length"), MOST_ROWS)

    def test_what_is_missing_is_no_error(self):
        """Functions without instructions to speak of, names with odd characters, -O0, relocatable code."""
        with open(self.path("odd.ptx"), "w") as file:
            file.write('// </script><b>odd</b> & "text"\n.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry empty() { ret; }\n'
                       '.visible .entry $other_$(.param .u64 p) { .reg .b64 %p; ld.param.u64 %p, [p]; st.global.u32 [%p], 1; ret; }\n')
        for words in ([], ["-O0"], ["-c"]):
            self.open(self.make("odd", self.path("odd.ptx"), *words))
            self.assertEqual(self.run_js("document.querySelectorAll('main b').length"), 0)
            self.assertIn("</script><b>odd</b>", self.rows("ptx")[0])
            for function in (1, 0):
                self.run_js(f"showFunction({function})")
                for key in "lcmri":
                    self.browser.key(key)

    def test_errors_are_seen(self):
        """What this test relies on: a page that fails, or asks the network, is noticed."""
        for code in ("throw new Error('planted')", "console.error('planted')", "fetch('http://127.0.0.1:9/').catch(() => 0)"):
            with open(self.path("bad.html"), "w") as file:
                file.write(f"<!doctype html><script>setTimeout(() => document.documentElement.dataset.ready = 1, 300); {code}</script>")
            try:
                self.open(self.path("bad.html"))
            except TimeoutError:
                pass
            self.assertTrue(self.browser.problems(), code)
        self.browser.messages = []

    def test_sweep(self):
        plan, store, page = self.path("plan.json"), self.path("r.db"), self.path("sweep.html")
        with open(plan, "w") as file:
            json.dump({"name": "p", "kernels": [f"{ROOT}/examples/saxpy.json", f"{ROOT}/examples/histogram.json"],
                       "knobs": {"values": {"SchedSerial": [1]}}, "without": ["22"]}, file)
        subprocess.run([LAB, "sweep", plan, f"--store={store}"], check=True, stderr=subprocess.DEVNULL)
        subprocess.run([LAB, "report", store, "-o", page], check=True)
        self.open(page)
        self.assertEqual(self.run_js("sweep.rows.length"), 6)
        effects = self.run_js("[...document.querySelectorAll('#list-effects .row')].map(row => row.firstChild.textContent)")
        self.assertIn("SchedSerial=1", effects)
        # A machine that issues one instruction at a time is slower.
        self.assertGreater(self.run_js("sweep.effects.rows.find(e => e.setting === 'SchedSerial=1').mean"), 1.05)
        self.assertEqual(self.run_js("sweep.effects.rows.find(e => e.setting === 'SchedSerial=1').n"), 2)
        self.assertEqual(self.run_js("sweep.charts.scatter.data.datasets.reduce((n, d) => n + d.data.length, 0)"), 6)
        cycles = lambda: self.run_js("sweep.results.rows.map(row => row.cycles)")
        for direction in (True, False):
            self.run_js("document.querySelector('#results-heading [data-name=cycles]').click()")
            self.assertEqual(cycles(), sorted(cycles(), reverse=direction))
        self.browser.key("/")
        self.browser.keys("saxpy")
        self.assertEqual(len(self.rows("results")), 3)
        self.run_js("document.querySelector('#list-results .row').click()")
        self.assertIn("saxpy", self.run_js("document.getElementById('message').textContent"))


if __name__ == "__main__":
    if not browser.find():
        print("skipped: no browser is installed (Debian: chromium)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
