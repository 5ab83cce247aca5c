'use strict';
// The page of one compilation: connects the parts, and handles the keyboard.

const page = {};

function showFigures(head) {
  const {figures: f, occupancy: o} = head;
  const spills = f.spillStoreBytes + f.spillLoadBytes;
  const all = [['registers', `${f.registers} (${f.uniformRegisters} uniform)`], ['instructions', count(f.instructions)], ['warps', `${o.warps} of ${o.maxWarps}, limited by ${o.limit}`], ['spills', spills ? `${f.spillStoreBytes} B stored, ${f.spillLoadBytes} B loaded` : 'none'], ['shared', `${count(f.sharedBytes)} B`]];
  const cycles = head.run && head.run.figures.find(([name]) => name === 'estimated cycles');
  if (cycles) all.push(['estimated cycles', count(cycles[1])]);
  byId('figures').replaceChildren(...all.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

async function showFunction(number) {
  const [code, history, remarks] = await Promise.all(['code', 'history', 'remarks'].map(part => unpack(`data-${number}-${part}`)));
  const kernel = page.kernel = new Kernel(page.document, number, code, history, remarks);
  byId('function').value = number;
  showFigures(kernel.head);
  page.panes.show(kernel);
  page.details.show(kernel);
  page.pressure.show(kernel);
  page.flow.show(kernel);
  showTab(page.tab || 'instruction');
}

function showTab(name) {
  if (document.querySelector(`[data-tab="${name}"]`).hidden) name = 'instruction';
  page.tab = name;
  for (const tab of document.querySelectorAll('[data-tab]')) {
    const isShown = tab.dataset.tab === name;
    tab.setAttribute('aria-selected', isShown);
    tab.tabIndex = isShown ? 0 : -1;
    byId('tab-' + tab.dataset.tab).hidden = !isShown;
  }
  refreshTab();
}

function refreshTab() {
  if (page.tab === 'instruction') page.details.instruction();
  if (page.tab === 'pressure') page.pressure.draw();
  if (page.tab === 'flow') page.flow.draw();
  if (page.tab === 'remarks') page.details.remarks.draw();
  if (page.tab === 'registers') page.details.listValues();
}

function search(by) {
  const text = byId('search').value.toLowerCase(), {panes} = page;
  if (!text) return (byId('found').textContent = '');
  const names = ['sass', 'ori', 'ptx', 'source'], name = names.includes(page.searched) ? page.searched : 'sass', list = panes[name];
  const found = [];
  for (let i = 0; i < list.count; ++i) if (panes.textOf(name, i).toLowerCase().includes(text)) found.push(i);
  if (!found.length) return (byId('found').textContent = `none in ${name.toUpperCase()}`);
  let next = by > 0 ? found.findIndex(i => i > list.selected) : found.findLastIndex(i => i < list.selected);
  if (next < 0) next = by > 0 ? 0 : found.length - 1;
  list.choose(found[next]);
  byId('found').textContent = `${next + 1} of ${found.length} in ${name.toUpperCase()}`;
}

function togglePane(id) {
  const pane = byId(id);
  if (id === 'pane-source' && !byId('source-file').options.length) return;
  pane.hidden = !pane.hidden;
  page.panes.redraw();
}

function toggle(id) {
  byId(id).click();
}

function setUpKeys(toggleTheme) {
  const {panes} = page;
  const tabs = {i: 'instruction', l: 'pressure', c: 'flow', m: 'remarks', r: 'registers', u: 'run'};
  const keys = {
    '[': () => panes.stepPhase(-1), ']': () => panes.stepPhase(1), '{': () => panes.stepPhase(-1, true), '}': () => panes.stepPhase(1, true),
    n: () => panes.nextChange(1), p: () => panes.nextChange(-1), d: () => toggle('show-before'), f: () => toggle('fold'),
    w: () => {
      const waits = page.kernel.waitsOf.get(panes.index);
      if (waits) panes.goTo(page.kernel.code.waits[waits[0]][1]);
    },
    b: () => panes.goBack(), z: () => byId('enlarge').click(), t: toggleTheme, '?': () => byId('help').showModal(),
    '/': () => byId('search').focus(),
    1: () => togglePane('phases'), 2: () => togglePane('pane-source'), 3: () => togglePane('pane-ptx'), 4: () => togglePane('pane-ori'), 5: () => togglePane('pane-sass')
  };
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.altKey || event.metaKey || byId('help').open) return;
    if (event.target.matches('input:not([type="checkbox"]), select, textarea')) {
      if (event.key === 'Escape') event.target.blur();
      return;
    }
    const action = tabs[event.key] ? () => showTab(tabs[event.key]) : keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  byId('search').addEventListener('keydown', event => event.key === 'Enter' && search(event.shiftKey ? -1 : 1));
  for (const name of ['sass', 'ori', 'ptx', 'source']) byId('list-' + name).addEventListener('focus', () => (page.searched = name));
  for (const tab of document.querySelectorAll('[data-tab]')) tab.addEventListener('click', () => showTab(tab.dataset.tab));
  document.querySelector('.tabs').addEventListener('keydown', event => {
    const by = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!by) return;
    const all = [...document.querySelectorAll('[data-tab]:not([hidden])')];
    const next = all[(all.findIndex(tab => tab.dataset.tab === page.tab) + by + all.length) % all.length];
    showTab(next.dataset.tab);
    next.focus();
  });
  byId('enlarge').addEventListener('click', () => {
    byId('enlarge').textContent = byId('drawer').classList.toggle('large') ? 'Reduce' : 'Enlarge';
    if (page.tab === 'flow') page.flow.fit();
  });
  byId('help-button').addEventListener('click', () => byId('help').showModal());
}

/// The address may specify what to show: #function=1&phase=74&at=0x120&line=12&tab=flow&both=1&theme=dark
function showAddress() {
  const asked = new URLSearchParams(location.hash.slice(1)), {panes, kernel} = page;
  if (asked.get('both')) byId('show-before').checked = true;
  if (asked.get('fold')) byId('fold').checked = true;
  if (asked.has('phase')) {
    const state = kernel.states.findIndex(s => kernel.phaseOf(s).number === asked.get('phase'));
    if (state >= 0) panes.showPhase(state);
  }
  if (asked.has('line')) panes.selectLine(Number(asked.get('line')), 'elsewhere');
  if (asked.has('at')) panes.selectSass(Math.min(Number(asked.get('at')) / 16, kernel.count - 1), 'elsewhere');
  if (asked.has('tab') && byId('tab-' + asked.get('tab'))) showTab(asked.get('tab'));
}

(async () => {
  setUpCharts();
  page.document = await unpack('data');
  const {document: report} = page;
  const name = report.inputs.length ? report.inputs[0].name.split('/').pop() : 'orias';
  byId('title').textContent = `${name} for ${report.arch}`;
  byId('title').title = report.command;
  page.panes = new Panes(refreshTab, () => {
    page.flow.listForms();
    if (page.tab === 'flow') page.flow.draw();
  });
  page.details = new Details(page.panes);
  page.pressure = new PressureChart(page.panes);
  page.flow = new FlowGraph(page.panes);
  const toggleTheme = setUpTheme(() => {
    page.panes.redraw();
    if (page.pressure.chart) page.pressure.chart.update();
  });
  byId('function').replaceChildren(...report.functions.map((f, i) => el('option', {value: i}, f.name)));
  byId('function').addEventListener('change', event => showFunction(Number(event.target.value)));
  byId('function-choice').hidden = report.functions.length < 2;
  setUpKeys(toggleTheme);
  const launched = report.functions.findIndex(f => f.run), asked = new URLSearchParams(location.hash.slice(1)).get('function');
  if (report.functions.length) await showFunction(asked !== null ? Number(asked) : Math.max(launched, 0));
  showAddress();
  document.documentElement.dataset.ready = Math.round(performance.now());
})();
