'use strict';
// The page of sweeps: tables, distributions and scatter plots of a store's results.

const kMeasures = {cycles: 'estimated cycles', full_cycles: 'cycles per block, full machine', registers: 'registers', uniform_registers: 'uniform registers', instructions: 'instructions', executed: 'executed', code_bytes: 'code bytes', spill_bytes: 'spill bytes', frame_bytes: 'frame bytes', warps: 'resident warps', seconds: 'seconds of compilation', kilobytes: 'peak kB of compilation'};
const kShapes = ['circle', 'triangle', 'rect', 'crossRot', 'rectRot', 'star', 'cross', 'dash'];
const kColors = ['s1', 's2', 's3', 's4', 'heat', 'remark'];

const sweep = {};

/// The rows as objects, each with its setting.
function readRows({columns, rows}) {
  return rows.map(row => {
    const result = Object.fromEntries(columns.map((name, i) => [name, row[i]]));
    result.setting = result.assembler !== 'orias' ? result.assembler : [result.knobs, result.disabled && 'without ' + result.disabled, result.swapped && 'swapped ' + result.swapped].filter(Boolean).join(' ') || '';
    return result;
  });
}

function quantile(sorted, q) {
  const at = (sorted.length - 1) * q, low = Math.floor(at), high = Math.ceil(at);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}

/// For each setting the distribution of the ratio of a measure to the defaults; the largest effects first.
function effectsOf(rows, measure) {
  const keyOf = r => JSON.stringify([r.ptx, r.launch, r.chip, r.options, r.function]), base = new Map(), groups = new Map();
  for (const r of rows) if (!r.setting && r.state === 'done' && r[measure]) base.set(keyOf(r), r[measure]);
  for (const r of rows) {
    if (!r.setting) continue;
    if (!groups.has(r.setting)) groups.set(r.setting, {setting: r.setting, ratios: [], failed: 0});
    const group = groups.get(r.setting), before = base.get(keyOf(r));
    if (r.state !== 'done') ++group.failed;
    else if (before && r[measure] !== null) group.ratios.push(r[measure] / before);
  }
  return [...groups.values()].map(group => {
    const sorted = group.ratios.sort((a, b) => a - b), n = sorted.length;
    const positive = sorted.filter(r => r > 0);
    return {...group, n, least: n ? sorted[0] : null, low: n ? quantile(sorted, 0.25) : null, median: n ? quantile(sorted, 0.5) : null, high: n ? quantile(sorted, 0.75) : null, most: n ? sorted[n - 1] : null,
      mean: positive.length ? Math.exp(positive.reduce((sum, r) => sum + Math.log(r), 0) / positive.length) : null, better: sorted.filter(r => r < 0.9995).length, worse: sorted.filter(r => r > 1.0005).length};
  }).sort((a, b) => Math.abs(Math.log(b.mean || 1)) - Math.abs(Math.log(a.mean || 1)) || (a.setting < b.setting ? -1 : 1));
}

/// A table that is sorted by clicking its headings.
class Table {
  constructor(name, columns, label, select) {
    this.columns = columns;
    this.rows = [];
    this.heading = byId(name + '-heading');
    this.list = new RowList(byId('list-' + name), {label, select: i => select && select(this.rows[i]), render: (i, row) => this.columns.forEach(column => row.append(this.cell(column, this.textOf(column, this.rows[i]))))});
    byId('list-' + name).addEventListener('scroll', event => this.heading.scrollLeft = event.target.scrollLeft);
  }

  textOf(column, row) {
    const value = row[column.name];
    if (value === null || value === undefined) return '';
    return typeof value !== 'number' ? value : column.digits ? value.toFixed(column.digits) : count(value);
  }

  cell(column, content) {
    const cell = el('span', {class: 't-cell' + (column.isNumber ? ' n' : ''), title: typeof content === 'string' ? content : null}, content);
    cell.style.width = column.width + 'ch';
    return cell;
  }

  setRows(rows) {
    this.rows = rows;
    for (const column of this.columns) column.width = Math.min(Math.max((column.title || column.name).length + 2, this.widest(column)), column.name === 'setting' ? 110 : 44) + 2;
    this.sort();
  }

  /// The maximum number of characters in the cells of a column; of numbers only the largest is formatted.
  widest({name, isNumber, digits}) {
    if (!isNumber) return this.rows.reduce((most, row) => Math.max(most, (row[name] || '').length), 0);
    let largest = 0, isFraction = false;
    for (const {[name]: value} of this.rows) {
      if (typeof value !== 'number') continue;
      largest = Math.max(largest, Math.abs(value));
      isFraction = isFraction || !Number.isInteger(value);
    }
    return count(Math.floor(largest)).length + (digits ? digits + 1 : isFraction ? 3 : 0);
  }

  sort() {
    const {by, isDown} = this;
    if (by) {
      const order = (a, b) => a === b ? 0 : a === null || a === undefined ? 1 : b === null || b === undefined ? -1 : (a < b ? -1 : 1) * (isDown ? -1 : 1);
      this.rows = [...this.rows].sort((a, b) => order(a[by], b[by]));
    }
    const row = el('div', {class: 'row', role: 'row'});
    for (const column of this.columns) {
      const isBy = by === column.name;
      const button = el('button', {onclick: () => {
        this.isDown = this.by === column.name ? !this.isDown : column.isNumber;
        this.by = column.name;
        this.sort();
        this.heading.querySelector(`[data-name="${column.name}"]`).focus();
      }, 'data-name': column.name, 'aria-sort': isBy ? (isDown ? 'descending' : 'ascending') : 'none', title: 'sort by ' + (column.title || column.name)}, (column.title || column.name) + (isBy ? (isDown ? ' ▼' : ' ▲') : ''));
      row.append(this.cell(column, button));
    }
    this.heading.replaceChildren(row);
    this.list.selected = -1;
    this.list.setCount(this.rows.length);
  }
}

function options(select, names, chosen) {
  select.replaceChildren(...Object.entries(names).map(([value, title]) => el('option', {value}, title)));
  if (chosen in names) select.value = chosen;
}

function chart(name, config) {
  sweep.charts = sweep.charts || {};
  if (sweep.charts[name]) sweep.charts[name].destroy();
  sweep.charts[name] = new Chart(byId(name), config);
}

/// Breaks a setting of many knobs into several lines.
function linesOf(setting) {
  const lines = [];
  for (const word of setting.split(' '))
    if (lines.length && lines.at(-1).length + word.length < 44) lines[lines.length - 1] += ' ' + word;
    else lines.push(word);
  return lines;
}

function drawEffects() {
  const measure = byId('effect-measure').value, effects = effectsOf(sweep.rows, measure), shown = effects.filter(effect => effect.n).slice(0, 40);
  byId('effect-note').textContent = effects.length ? `ratio to the defaults; ${effects.length} settings${shown.length < effects.length ? `, ${shown.length} in the picture` : ''}` : 'no settings besides the defaults in this plan';
  sweep.effects.setRows(effects);
  byId('effect-box').hidden = !shown.length;
  if (!shown.length) return;
  const names = shown.map(effect => effect.setting), mostLines = Math.max(...names.map(name => linesOf(name).length));
  byId('effect-box').style.height = Math.max(shown.length * (10 + 14 * mostLines) + 90, 160) + 'px';
  const bar = (label, low, high, thickness, fill) => ({type: 'bar', label, pointStyle: thickness > 4 ? 'rect' : 'line', data: shown.map(effect => [effect[low], effect[high]]), backgroundColor: color(fill) + (fill === 's1' ? '66' : ''), borderColor: color(fill), borderWidth: 1, borderSkipped: false, barThickness: thickness, grouped: false, minBarLength: 2});
  const one = {id: 'one', beforeDatasetsDraw: ({ctx, chartArea, scales}) => {
    const x = scales.x.getPixelForValue(1);
    ctx.save();
    ctx.strokeStyle = color('text');
    ctx.setLineDash([4, 3]);
    ctx.beginPath();
    ctx.moveTo(x, chartArea.top);
    ctx.lineTo(x, chartArea.bottom);
    ctx.stroke();
    ctx.restore();
  }};
  chart('effect', {
    type: 'bar',
    data: {labels: names, datasets: [{type: 'line', label: 'median', data: shown.map((effect, i) => ({x: effect.median, y: names[i]})), showLine: false, pointStyle: 'rectRot', pointRadius: 6, backgroundColor: color('text'), borderColor: color('back')}, bar('first to third quartile', 'low', 'high', 12, 's1'), bar('minimum to maximum', 'least', 'most', 2, 'dim')]},
    options: {indexAxis: 'y', maintainAspectRatio: false, scales: {x: {title: {display: true, text: kMeasures[measure] + ', ratio to the defaults'}, grace: '5%'}, y: {ticks: {autoSkip: false, callback: (value, i) => linesOf(names[i])}}}, plugins: {legend: {labels: {usePointStyle: true}}, tooltip: {callbacks: {label: item => { const e = shown[item.dataIndex]; return `median ${e.median.toFixed(3)}, ${e.least.toFixed(3)} to ${e.most.toFixed(3)}; ${e.n} kernels`; }}}}},
    plugins: [one]
  });
}

function drawScatter() {
  const x = byId('scatter-x').value, y = byId('scatter-y').value, by = byId('scatter-by').value, type = byId('scatter-log').checked ? 'logarithmic' : 'linear';
  const groups = new Map();
  for (const row of sweep.rows) {
    if (row.state !== 'done' || row[x] === null || row[y] === null) continue;
    const key = String(row[by] || (by === 'setting' ? 'defaults' : 'none'));
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push({x: row[x], y: row[y], row});
  }
  chart('scatter', {
    type: 'scatter',
    data: {datasets: [...groups].map(([label, data], i) => ({label, data, pointStyle: kShapes[i % kShapes.length], pointRadius: 5, borderWidth: 1.5, borderColor: color(kColors[i % kColors.length]), backgroundColor: color(kColors[i % kColors.length]) + '55'}))},
    options: {maintainAspectRatio: false, parsing: false, scales: {x: {type, grace: '4%', title: {display: true, text: kMeasures[x]}}, y: {type, grace: '4%', title: {display: true, text: kMeasures[y]}}},
      onClick: (event, items, chart) => items.length && showResult(chart.data.datasets[items[0].datasetIndex].data[items[0].index].row),
      plugins: {legend: {labels: {usePointStyle: true}}, tooltip: {callbacks: {label: item => `${item.raw.row.function} ${item.raw.row.setting || item.raw.row.assembler}: ${count(item.raw.x)}, ${count(item.raw.y)}`}}}}
  });
}

/// Charts contain colors, so another theme redraws them.
function drawCharts() {
  if (!sweep.rows) return;
  drawEffects();
  drawScatter();
}

function showResult(row) {
  byId('message').textContent = Object.entries(row).filter(([, value]) => value !== null && value !== '').map(([name, value]) => `${name.padEnd(18)} ${typeof value === 'number' ? count(value) : value}`).join('\n');
}

function drawResults() {
  const words = byId('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = sweep.rows.filter(row => words.every(word => Object.values(row).some(value => value !== null && String(value).toLowerCase().includes(word))));
  byId('filter-count').textContent = `${rows.length} of ${sweep.rows.length}`;
  sweep.results.setRows(rows);
}

function showPlan() {
  const plan = byId('plan').value;
  sweep.rows = sweep.all.filter(row => row.plan === plan);
  // A job has a row for each function.
  const jobs = new Map(sweep.rows.map(row => [JSON.stringify([row.assembler, row.ptx, row.launch, row.chip, row.options, row.knobs, row.disabled, row.swapped]), row.state]));
  const states = new Map();
  for (const state of jobs.values()) states.set(state, (states.get(state) || 0) + 1);
  const kernels = new Set(sweep.rows.map(row => row.ptx + ' ' + row.launch));
  byId('figures').replaceChildren(...[['kernels', kernels.size], ['chips', new Set(sweep.rows.map(row => row.chip)).size], ['jobs', jobs.size], ...states].map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, count(value)))));
  const isThere = name => sweep.rows.some(row => row[name] !== null && row[name] !== 0);
  const measures = Object.fromEntries(Object.entries(kMeasures).filter(([name]) => isThere(name)));
  options(byId('effect-measure'), measures, 'cycles');
  options(byId('scatter-x'), measures, 'registers');
  options(byId('scatter-y'), measures, 'cycles' in measures ? 'cycles' : 'instructions');
  options(byId('scatter-by'), {assembler: 'assembler', chip: 'chip', options: 'options', setting: 'setting', function: 'kernel'}, new Set(sweep.rows.map(row => row.assembler)).size > 1 ? 'assembler' : 'function');
  drawCharts();
  drawResults();
}

(async () => {
  setUpCharts();
  sweep.document = await unpack('data');
  sweep.all = readRows(sweep.document);
  byId('title').textContent = sweep.document.store;
  const number = (name, title, digits) => ({name, title, digits, isNumber: true});
  sweep.effects = new Table('effects', [{name: 'setting'}, number('n', 'results'), number('mean', 'geometric mean', 4), number('least', 'minimum', 4), number('low', 'first quartile', 4), number('median', 'median', 4), number('high', 'third quartile', 4), number('most', 'maximum', 4), number('better', 'lower'), number('worse', 'higher'), number('failed', 'failed')], 'Settings', effect => {
    byId('filter').value = effect.setting;
    drawResults();
  });
  const texts = ['function', 'chip', 'options', 'setting', 'assembler', 'state'];
  sweep.results = new Table('results', [...texts.map(name => ({name})), ...Object.entries(kMeasures).filter(([name]) => sweep.document.columns.includes(name)).map(([name, title]) => number(name, title)), {name: 'ptx'}, {name: 'launch'}, {name: 'message'}], 'Results', showResult);
  options(byId('plan'), Object.fromEntries([...new Set(sweep.all.map(row => row.plan))].map(plan => [plan, plan])));
  byId('plan').addEventListener('change', showPlan);
  byId('effect-measure').addEventListener('change', drawEffects);
  for (const name of ['scatter-x', 'scatter-y', 'scatter-by', 'scatter-log']) byId(name).addEventListener('change', drawScatter);
  byId('filter').addEventListener('input', drawResults);
  const toggleTheme = setUpTheme(drawCharts);
  byId('help-button').addEventListener('click', () => byId('help').showModal());
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.altKey || event.metaKey || byId('help').open || event.target.matches('input:not([type="checkbox"]), select')) return;
    const action = {t: toggleTheme, '?': () => byId('help').showModal(), '/': () => byId('filter').focus()}[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  if (sweep.all.length) showPlan();
  document.documentElement.dataset.ready = Math.round(performance.now());
})();
