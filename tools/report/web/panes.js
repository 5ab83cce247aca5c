'use strict';
// The panes: phases, source, PTX, Ori and SASS, and the selection that links them.

const kTrack = 9; // pixels of a scoreboard's track
const kFiles = {R: 0, UR: 1, P: 2, UP: 3};

class Panes {
  /// `tell` is called when the selection changes; `tellPhase` when the phase changes.
  constructor(tell, tellPhase) {
    this.tell = tell;
    this.tellPhase = tellPhase;
    this.columns = {control: true, arrows: true, live: true};
    this.back = [];
    const list = (name, label, options) => new RowList(byId('list-' + name), {label, ...options});
    this.phases = list('phases', 'Phases', {render: (i, row) => this.renderPhase(i, row), select: i => this.phaseItems[i].state !== undefined && this.showPhase(this.phaseItems[i].state)});
    this.source = list('source', 'Source', {render: (i, row) => this.renderSource(i, row), select: i => this.selectPlace(i)});
    this.ptx = list('ptx', 'PTX', {render: (i, row) => this.renderPtx(i, row), select: i => this.selectLine(this.ptxItems[i].line, 'ptx')});
    this.ori = list('ori', 'Ori', {render: (i, row) => this.renderOri(i, row), select: i => this.selectOri(i)});
    this.sass = list('sass', 'SASS', {render: (i, row) => this.renderSass(i, row), select: i => this.selectSass(i), after: (first, end) => this.drawArrows(first, end)});
    this.arrows = svg('svg', {class: 'arrows', 'aria-hidden': 'true'});
    byId('list-sass').append(this.arrows);
    byId('list-sass').addEventListener('scroll', event => byId('sass-heading').scrollLeft = event.target.scrollLeft);
    byId('only-changed').addEventListener('change', () => this.listPhases());
    byId('show-remarks').addEventListener('change', () => this.listPtx());
    byId('show-why').addEventListener('change', async () => (await this.kernel.loadWhy(), this.listPtx()));
    byId('show-before').addEventListener('change', () => this.showPhase(this.state));
    byId('fold').addEventListener('change', () => this.showPhase(this.state));
    byId('source-file').addEventListener('change', () => this.listSource());
    byId('strip-file').addEventListener('change', () => this.redraw());
    byId('heat').addEventListener('change', () => this.setHeat());
    for (const box of document.querySelectorAll('[data-column]'))
      box.addEventListener('change', () => {
        this.columns[box.dataset.column] = box.checked;
        this.redraw();
      });
  }

  show(kernel) {
    this.kernel = kernel;
    this.clearSelection();
    this.back = [];
    this.prepareStrip();
    this.listHeats();
    this.listPhases();
    this.listPtx();
    this.listSources();
    let last = kernel.states.length - 1;
    while (last > 0 && !this.isChange(last)) --last;
    this.showPhase(last, true);
    this.sass.setCount(kernel.count);
    this.heading();
  }

  redraw() {
    this.heading();
    for (const list of [this.phases, this.source, this.ptx, this.ori, this.sass]) list.draw();
  }

  // --- the selection: a line of the PTX, positions in the SASS, ids of instructions

  clearSelection() {
    this.line = 0;
    this.places = new Set();
    this.ids = new Set();
    this.exact = new Set(); // places in the SASS
    this.same = new Set();
    this.index = -1; // the place in the SASS that details are about
    for (const list of [this.source, this.ptx, this.ori, this.sass]) list.selected = -1;
  }

  selectLine(line, from) {
    const places = this.kernel.sassByLine.get(line) || [];
    this.select({line, exact: places, same: [], ids: places.map(i => this.kernel.code.id[i])}, from);
  }

  selectOri(i) {
    const item = this.oriItems[i];
    if (item.fold) {
      this.unfolded.add(item.key);
      this.listOri();
      return;
    }
    const row = item.pair ? (item.pair[1] >= 0 ? item.pair[1] : item.pair[0]) : item.row;
    const {id, line} = this.kernel.history.rows;
    const exact = id[row] !== null && id[row] >= 0 ? this.kernel.sassById.get(id[row]) || [] : [];
    this.select({line: line[row], exact, same: this.kernel.sassByLine.get(line[row]) || [], ids: id[row] === null ? [] : [id[row]]}, 'ori');
  }

  selectSass(i, from = 'sass') {
    const {line, id} = this.kernel.code;
    this.select({line: line[i], exact: [i], same: this.kernel.sassByLine.get(line[i]) || [], ids: [id[i]]}, from);
  }

  /// A selection from another list, a chart, or a graph.
  goTo(i) {
    if (this.index >= 0) this.back.push(this.index);
    this.selectSass(i, 'elsewhere');
  }

  goBack() {
    if (this.back.length) this.selectSass(this.back.pop(), 'elsewhere');
  }

  selectPlace(i) {
    const places = this.kernel.sassByPlace.get(byId('source-file').value + ':' + (i + 1)) || [];
    const line = places.length ? this.kernel.code.line[places[0]] : 0;
    this.select({line, exact: places, same: [], ids: places.map(p => this.kernel.code.id[p])}, 'source');
  }

  select({line, exact, same, ids}, from) {
    const {code} = this.kernel;
    this.line = line;
    this.exact = new Set(exact);
    this.same = new Set(same);
    this.ids = new Set(ids.filter(id => id !== null));
    this.index = exact.length ? exact[0] : same.length ? same[0] : -1;
    this.lines = new Set(line ? [line] : []);
    for (const i of exact) if (code.line[i]) this.lines.add(code.line[i]);
    this.places = new Set();
    for (const i of exact.length ? exact : same) if (code.loc[i]) this.places.add(this.kernel.placeOf(code.loc[i]));
    if (from !== 'sass') this.sass.mark(this.index);
    if (from !== 'ptx') this.ptx.mark(line ? this.ptxItems.findIndex(item => item.line === line) : -1);
    if (from !== 'ori') this.ori.mark(this.findOri());
    if (from !== 'source' && !byId('pane-source').hidden) this.markSource();
    this.redraw();
    this.tell();
  }

  /// The row of the Ori pane for the selection: of the same instruction, else of the same line.
  findOri() {
    const {id, line} = this.kernel.history.rows;
    const rowOf = item => item.fold ? -1 : item.pair ? (item.pair[1] >= 0 ? item.pair[1] : item.pair[0]) : item.row;
    let found = this.oriItems.findIndex(item => rowOf(item) >= 0 && this.ids.has(id[rowOf(item)]));
    if (found < 0 && this.line) found = this.oriItems.findIndex(item => rowOf(item) >= 0 && line[rowOf(item)] === this.line);
    return found;
  }

  markSource() {
    const place = [...this.places][0];
    if (!place) return this.source.mark(-1);
    const [file, line] = place.split(':').map(Number);
    if (Number(byId('source-file').value) !== file && this.sourceText(file)) {
      byId('source-file').value = file;
      this.listSource();
    }
    this.source.mark(Number(byId('source-file').value) === file ? line - 1 : -1);
  }

  /// The mark before a row, and its class.
  link(row, isExact, isSame, isSelected) {
    if (isExact) row.classList.add('exact');
    else if (isSame) row.classList.add('same');
    return el('span', {class: 'mark'}, isSelected ? '▶' : isExact ? '◆' : isSame ? '·' : ' ');
  }

  // --- phases

  isChange(s) {
    const state = this.kernel.states[s];
    return state.added + state.removed > 0 || s === 0 || this.kernel.states[s - 1].form !== state.form;
  }

  listPhases() {
    const isShort = byId('only-changed').checked;
    this.phaseItems = [];
    let stage = '';
    this.kernel.states.forEach((state, s) => {
      if (isShort && !this.isChange(s) && s !== this.state) return;
      const phase = this.kernel.phaseOf(state);
      if (phase.stage !== stage) this.phaseItems.push({stage: stage = phase.stage});
      this.phaseItems.push({state: s});
    });
    this.phases.setCount(this.phaseItems.length);
    this.phases.mark(this.phaseItems.findIndex(item => item.state === this.state));
  }

  renderPhase(i, row) {
    const item = this.phaseItems[i];
    if (item.stage) return row.append(el('span', {class: 'stage'}, item.stage));
    const state = this.kernel.states[item.state], phase = this.kernel.phaseOf(state);
    const peak = state.peak ? `; at most ${state.peak.R} R, ${state.peak.UR} UR, ${state.peak.P} P live` : '';
    row.title = `${this.kernel.phaseName(state)}: ${phase.why}\n${state.added} rows new, ${state.removed} gone, ${state.instructions} instructions${peak}; ${count(state.milliseconds)} ms`;
    row.classList.toggle('unchanged', !this.isChange(item.state));
    row.append(el('span', {class: 'mark'}, item.state === this.state ? '▶' : ' '), el('span', {class: 'phase-number'}, phase.number), el('span', {class: 'phase-name'}, phase.name),
               el('span', {class: 'phase-change'}, state.added ? el('span', {class: 'plus'}, '+' + shortCount(state.added)) : '', state.removed ? el('span', {class: 'minus'}, ' −' + shortCount(state.removed)) : ''));
  }

  showPhase(s, isFirst) {
    this.state = s;
    this.unfolded = new Set();
    this.phases.selected = this.phaseItems.findIndex(item => item.state === s);
    if (this.phases.selected < 0) this.listPhases();
    else this.phases.mark(this.phases.selected);
    const state = this.kernel.states[s];
    byId('ori-title').textContent = `${state.form === 'ptx' ? 'PTX' : 'Ori'} after ${this.kernel.phaseName(state)}`;
    byId('ori-title').title = this.kernel.phaseOf(state).why;
    this.listOri();
    if (this.ids.size || this.line) this.ori.mark(this.findOri());
    else if (!isFirst) this.revealChange();
    this.tellPhase();
  }

  /// Moves by one phase, or to the next one with changes.
  stepPhase(by, isAny) {
    for (let s = this.state + by; s >= 0 && s < this.kernel.states.length; s += by)
      if (isAny || this.isChange(s)) return this.showPhase(s);
  }

  // --- Ori

  listOri() {
    const hasBoth = byId('show-before').checked, pairs = this.kernel.pairsOf(this.state);
    const isChanged = ([before, after]) => before !== after;
    byId('pane-ori').classList.toggle('both', hasBoth);
    byId('list-ori').classList.toggle('pairs', hasBoth);
    let items = pairs.filter(pair => hasBoth || pair[1] >= 0 || isChanged(pair)).map(pair => hasBoth ? {pair, changed: isChanged(pair)} : {row: pair[1] >= 0 ? pair[1] : pair[0], kind: pair[1] < 0 ? 'gone' : pair[0] < 0 ? 'new' : pair[0] !== pair[1] ? 'changed' : '', other: pair[0], changed: isChanged(pair)});
    // If the whole text is new, marks are not useful.
    if (items.length && items.every(item => item.changed)) items.forEach(item => (item.kind = '', item.whole = true));
    if (byId('fold').checked) items = this.folded(items);
    this.oriItems = items;
    this.ori.setCount(items.length);
    this.ori.mark(this.findOri());
  }

  folded(items) {
    const kContext = 3, near = new Uint8Array(items.length), out = [];
    items.forEach((item, i) => {
      if (item.changed) near.fill(1, Math.max(i - kContext, 0), i + kContext + 1);
    });
    for (let i = 0; i < items.length;) {
      let end = i;
      while (end < items.length && !near[end]) ++end;
      if (end > i + 1 && !this.unfolded.has(i)) out.push({fold: end - i, key: i});
      else out.push(...items.slice(i, end));
      i = end;
      while (i < items.length && near[i]) out.push(items[i++]);
    }
    return out;
  }

  /// The first row of the next change in that direction; -1 if there is none.
  findChange(by, from) {
    for (let i = from + by; i >= 0 && i < this.oriItems.length; i += by)
      if (this.oriItems[i].changed && !this.oriItems[i].whole && !(this.oriItems[i - 1] || {}).changed) return i;
    return -1;
  }

  nextChange(by) {
    const found = this.findChange(by, this.ori.selected);
    if (found >= 0) this.ori.choose(found);
  }

  revealChange() {
    const found = this.findChange(1, -1);
    if (found < 0) return;
    this.ori.reveal(found, true);
    this.ori.draw();
  }

  renderOri(i, row) {
    const item = this.oriItems[i];
    if (item.fold) {
      row.classList.add('fold');
      return row.append(`… ${item.fold} rows that did not change (Enter shows them) …`);
    }
    const {id, line} = this.kernel.history.rows, own = item.pair ? (item.pair[1] >= 0 ? item.pair[1] : item.pair[0]) : item.row;
    const link = this.link(row, this.ids.has(id[own]), this.lines && this.lines.has(line[own]), i === this.ori.selected);
    if (!item.pair) {
      const sign = {gone: '−', new: '+', changed: '~'}[item.kind] || ' ';
      if (item.kind && item.kind !== 'changed') row.classList.add(item.kind);
      row.append(link, el('span', {class: 'mark'}, sign), el('span', {class: 'number'}, line[own] || ''), this.laneOf(id[own]), this.oriText(own, item.kind === 'changed' ? item.other : -1));
      return;
    }
    const [before, after] = item.pair;
    row.classList.add('pair');
    const cell = (r, other, kind, sign) => el('span', {class: `cell ${kind}`, title: r < 0 ? null : this.kernel.history.rows.text[r]}, r < 0 ? '' : sign + ' ', r < 0 ? '' : this.oriText(r, other));
    const isWhole = item.whole, isChanged = before !== after && !isWhole;
    row.append(link, cell(before, isChanged && after >= 0 ? after : -1, 'before' + (isChanged && after < 0 ? ' gone' : ''), isChanged ? (after < 0 ? '−' : '~') : ' '),
               cell(after, isChanged && before >= 0 ? before : -1, isChanged && before < 0 ? 'new' : '', isChanged ? (before < 0 ? '+' : '~') : ' '));
  }

  laneOf(id) {
    const lane = id >= 0 && id !== null ? this.kernel.code.lanesById[id] || ' ' : ' ';
    return el('span', {class: 'ori-lane' + (lane === 'u' ? ' uniform' : ''), title: lane === 'u' ? 'warp-uniform' : lane === 'v' ? 'divergent' : null}, lane);
  }

  /// The text of a row; differences from another one are marked.
  oriText(row, other) {
    const {text, id} = this.kernel.history.rows;
    const node = el('span', {class: id[row] !== null && id[row] < 0 ? 'label' : null});
    if (other < 0) {
      node.append(text[row]);
      return node;
    }
    const a = text[row].split(/([ ,{}]+)/), b = text[other].split(/([ ,{}]+)/);
    let first = 0, last = 0;
    while (first < a.length && first < b.length && a[first] === b[first]) ++first;
    while (last < a.length - first && last < b.length - first && a[a.length - 1 - last] === b[b.length - 1 - last]) ++last;
    node.append(a.slice(0, first).join(''), el('mark', {}, a.slice(first, a.length - last).join('')), a.slice(a.length - last).join(''));
    return node;
  }

  // --- PTX and source

  listPtx() {
    const {kernel} = this, hasRemarks = byId('show-remarks').checked, hasWhy = byId('show-why').checked && kernel.why;
    const valuesOf = new Map();
    if (hasWhy)
      kernel.why.values.forEach((value, v) => {
        const match = /\bwritten at line (\d+)/.exec(value.text);
        if (match) valuesOf.set(Number(match[1]), [...(valuesOf.get(Number(match[1])) || []), v]);
      });
    this.ptxItems = [];
    kernel.ptx.forEach((_, i) => {
      const line = i + 1;
      this.ptxItems.push({line});
      if (hasRemarks) for (const remark of kernel.remarksByLine.get(line) || []) this.ptxItems.push({line, remark});
      for (const value of valuesOf.get(line) || []) this.ptxItems.push({line, value});
    });
    this.ptx.setCount(this.ptxItems.length);
    if (this.line) this.ptx.mark(this.ptxItems.findIndex(item => item.line === this.line));
  }

  renderPtx(i, row) {
    const item = this.ptxItems[i], {kernel} = this, isSame = this.lines && this.lines.has(item.line);
    if (item.remark !== undefined) {
      const remark = kernel.remarks[item.remark];
      row.classList.add('note');
      row.title = remark.text;
      return row.append(el('span', {class: 'mark'}, ' '), el('span', {class: 'number'}, remark.number), el('span', {}, `${remark.done ? '✓' : '✗'} ${remark.text}`));
    }
    if (item.value !== undefined) {
      const value = kernel.why.values[item.value];
      row.classList.add('note');
      row.title = value.text;
      return row.append(el('span', {class: 'mark'}, ' '), el('span', {class: 'number'}, '?'), el('span', {}, `${value.uniform ? 'u ' : 'v '}${value.text.split('\n')[0]}`));
    }
    const text = kernel.ptx[item.line - 1];
    const isCode = kernel.sassByLine.has(item.line);
    row.append(this.link(row, isSame && i === this.ptx.selected, isSame, i === this.ptx.selected), el('span', {class: 'number'}, item.line), el('span', {class: isCode ? null : 'dim'}, text.replace(/\t/g, '    ')));
  }

  sourceText(file) {
    const source = this.kernel.input.sources[file];
    return source && source.text;
  }

  listSources() {
    const {sources, locs} = this.kernel.input, select = byId('source-file');
    const used = new Set(this.kernel.code.loc.filter(loc => loc).map(loc => locs[loc - 1][0]));
    select.replaceChildren(...[...used].filter(file => sources[file]).map(file => el('option', {value: file}, sources[file].name.split('/').pop() + (sources[file].text ? '' : ' (no text)'))));
    byId('pane-source').hidden = !select.options.length || this.sourceHidden === true;
    if (select.options.length) this.listSource();
  }

  listSource() {
    const file = Number(byId('source-file').value), text = this.sourceText(file);
    if (text) {
      this.sourceLines = text.split('\n');
    } else {
      // Without the text, only the lines with code.
      let most = 0;
      for (const place of this.kernel.sassByPlace.keys()) if (Number(place.split(':')[0]) === file) most = Math.max(most, Number(place.split(':')[1]));
      this.sourceLines = Array.from({length: most}, () => null);
    }
    this.source.setCount(this.sourceLines.length);
  }

  renderSource(i, row) {
    const place = byId('source-file').value + ':' + (i + 1), codes = this.kernel.sassByPlace.get(place), isSame = this.places.has(place);
    row.append(this.link(row, isSame && i === this.source.selected, isSame, i === this.source.selected), el('span', {class: 'number'}, i + 1),
               el('span', {class: codes ? null : 'dim'}, this.sourceLines[i] === null ? (codes ? `${codes.length} instructions` : '') : this.sourceLines[i].replace(/\t/g, '    ')));
  }

  // --- SASS

  listHeats() {
    const heats = this.kernel.heats();
    byId('heat-choice').hidden = !heats;
    byId('heat').replaceChildren(...Object.keys(heats || {}).map(name => el('option', {}, name)), el('option', {}, 'none'));
    this.setHeat(true);
  }

  setHeat(isQuiet) {
    const heats = this.kernel.heats();
    this.heat = heats ? heats[byId('heat').value] || null : null;
    this.heatMost = this.heat ? this.heat.reduce((a, b) => Math.max(a, b), 1) : 1;
    if (!isQuiet) this.redraw();
  }

  /// By row of the strip's file: where live ranges start and end. Rows are combined from these when they are drawn.
  prepareStrip() {
    this.strips = {};
    for (const file of Object.keys(kFiles)) {
      const ranges = this.kernel.code.liveRanges.filter(range => range[0] === file);
      const width = this.kernel.code.reads.concat(this.kernel.code.writes).reduce((most, list) => list.reduce((m, r) => (r >> 8) === kFiles[file] ? Math.max(m, (r & 255) + 1) : m, most), ranges.reduce((m, r) => Math.max(m, r[1] + 1), 0));
      this.strips[file] = {width, live: Array.from({length: width}, () => [])};
      for (const [, reg, first, end] of ranges) this.strips[file].live[reg].push([first, end]);
    }
    const {live, text, labels} = this.kernel.code;
    this.mostLive = live.reduce((most, l) => Math.max(most, l[0]), 1);
    const widest = text.reduce((most, t, i) => Math.max(most, t.length + (labels[i] ? labels[i].length + 2 : 0)), 0);
    byId('pane-sass').style.setProperty('--text-width', Math.min(Math.max(widest + 6, 30), 72) + 'ch');
  }

  strip(index) {
    const file = byId('strip-file').value, strip = this.strips[file];
    if (!strip || !strip.width) return null;
    const [reads, writes] = this.kernel.touched[index], node = el('span', {class: 's-strip'});
    let text = '';
    for (let reg = 0; reg < strip.width; ++reg) {
      const code = kFiles[file] << 8 | reg, isRead = reads.has(code), isWritten = writes.has(code);
      const mark = isRead && isWritten ? 'x' : isRead ? 'v' : isWritten ? '^' : strip.live[reg].some(([first, end]) => first <= index && index < end) ? ':' : reg % 10 === 9 ? '·' : ' ';
      text += mark;
    }
    for (const part of text.split(/([v^x]+)/)) node.append(/[v^x]/.test(part) ? el('b', {}, part) : part);
    return node;
  }

  heading() {
    const {columns} = this, row = el('div', {class: 'row'}), file = byId('strip-file').value, strip = this.strips[file];
    const add = (name, text, title) => row.append(el('span', {class: name, title}, text));
    add('mark', ' ');
    if (this.heat) add('s-heat', byId('heat').value, byId('heat').value);
    add('s-at', 'at');
    if (columns.arrows) add('s-arrows', '012345', 'a track for each scoreboard: ● sets it, ▼ waits for it');
    if (columns.control) add('s-control', 'st y w r waits', 'stall cycles; yield; scoreboard of the result; of the sources; scoreboards waited for');
    add('s-lane', 'l', 'u: warp-uniform; v: divergent; U: on the uniform datapath');
    add('s-text', 'instruction');
    if (columns.live) add('s-live', '  R UR P', 'registers live after the instruction');
    if (strip && strip.width) add('s-strip', Array.from({length: strip.width}, (_, i) => i % 10 === 0 ? file + i : '').reduce((text, name, i) => text.length > i ? text : text.padEnd(i) + name, ''), 'live registers: ^ written, v read, x both, : live');
    byId('sass-heading').replaceChildren(row);
  }

  renderSass(i, row) {
    const {code} = this.kernel, {columns} = this, [stall, yields, write, read, waits, reuse] = code.control[i];
    row.append(this.link(row, this.exact.has(i), this.same.has(i), i === this.sass.selected));
    if (this.heat) {
      const share = this.heat[i] / this.heatMost, bar = el('i');
      bar.style.width = `${Math.round(share * 100)}%`;
      row.append(el('span', {class: 's-heat'}, this.heat[i] ? bar : '', this.heat[i] ? shortCount(this.heat[i]) : ''));
    }
    row.append(el('span', {class: 's-at'}, hex(i * 16)));
    if (columns.arrows) row.append(el('span', {class: 's-arrows'}));
    if (columns.control) {
      const bits = Array.from({length: 6}, (_, s) => waits >> s & 1 ? s : '-').join('');
      row.append(el('span', {class: 's-control' + (stall > 6 ? ' stall-hot' : '')}, `${String(stall).padStart(2)} ${yields ? 'y' : '-'} ${write === null ? '-' : write} ${read === null ? '-' : read} ${bits}`));
    }
    row.append(el('span', {class: 's-lane' + (code.lanes[i] === 'v' ? '' : ' uniform')}, code.lanes[i]));
    const text = el('span', {class: 's-text'});
    if (code.labels[i]) text.append(el('span', {class: 'label'}, code.labels[i] + ': '));
    text.append(code.text[i]);
    const remarks = this.kernel.remarksByLine.get(code.line[i]);
    if (remarks) text.append(el('span', {class: 'dim', title: remarks.map(r => this.kernel.remarks[r].text).join('\n')}, '  ※' + remarks.length));
    row.append(text);
    if (columns.live) {
      const bar = el('i'), [r, ur, p] = code.live[i];
      bar.style.width = `${Math.round(r / this.mostLive * 100)}%`;
      row.append(el('span', {class: 's-live'}, bar, `${String(r).padStart(3)} ${String(ur).padStart(2)} ${p}`));
    }
    const strip = this.strip(i);
    if (strip) row.append(strip);
  }

  /// The waits that touch the visible rows: in the track of the scoreboard, from the producer to the waiter.
  drawArrows(first, end) {
    const place = this.sass.space.querySelector('.s-arrows');
    this.arrows.replaceChildren();
    if (!this.columns.arrows || !place) return;
    const left = place.offsetLeft, height = this.sass.rowHeight;
    this.arrows.style.left = left + 'px';
    this.arrows.style.top = 0;
    const y = i => i * height + height / 2;
    for (const [waiter, producer, board] of this.kernel.code.waits) {
      if (Math.max(waiter, producer) < first || Math.min(waiter, producer) > end) continue;
      const x = 4 + board * kTrack, isBack = producer >= waiter, isChosen = this.exact.has(waiter) || this.exact.has(producer);
      const from = Math.max(Math.min(y(producer), y(end)), y(first - 1)), to = Math.max(Math.min(y(waiter), y(end)), y(first - 1));
      this.arrows.append(svg('g', {class: (isBack ? 'back ' : '') + (isChosen ? 'chosen' : '')}, svg('path', {d: `M${x} ${from}V${to}`}),
                             svg('circle', {cx: x, cy: y(producer), r: 2.5}), svg('polygon', {points: `${x - 4},${y(waiter) - 4} ${x + 4},${y(waiter) - 4} ${x},${y(waiter) + 3}`})));
    }
  }

  // --- search

  /// The texts of a list, for search.
  textOf(name, i) {
    const {kernel} = this;
    if (name === 'sass') return (kernel.code.labels[i] || '') + ' ' + kernel.code.text[i];
    if (name === 'source') return this.sourceLines[i] || '';
    if (name === 'ptx') {
      const item = this.ptxItems[i];
      return item.remark !== undefined ? kernel.remarks[item.remark].text : item.value !== undefined ? kernel.why.values[item.value].text : kernel.ptx[item.line - 1];
    }
    const item = this.oriItems[i], text = row => row >= 0 ? kernel.history.rows.text[row] : '';
    return item.fold ? '' : item.pair ? text(item.pair[0]) + ' ' + text(item.pair[1]) : text(item.row);
  }
}
