'use strict';
// The text tabs below the panes: the instruction, remarks, registers, the run.

class Details {
  constructor(panes) {
    this.panes = panes;
    this.remarks = new RowList(byId('list-remarks'), {label: 'Remarks', render: (i, row) => this.renderRemark(i, row), select: i => this.chooseRemark(i)});
    this.values = new RowList(byId('list-values'), {label: 'Values', render: (i, row) => this.renderValue(i, row), select: i => this.chooseValue(i)});
    byId('remark-filter').addEventListener('input', () => this.listRemarks());
    byId('value-filter').addEventListener('input', () => this.listValues());
  }

  show(kernel) {
    this.kernel = kernel;
    this.remarkOrder = [];
    this.valueOrder = [];
    this.listRemarks();
    byId('value-text').textContent = '';
    this.values.setCount(0);
    this.run();
    this.instruction();
  }

  // --- the selected instruction

  async instruction() {
    const {panes, kernel} = this, i = panes.index, tab = byId('tab-instruction');
    const asked = this.asked = {};
    const parts = el('div', {class: 'columns'});
    if (i < 0) {
      tab.replaceChildren(el('p', {class: 'dim'}, panes.line ? `No instruction of the machine code comes from line ${panes.line}.` : 'Choose a row in one of the panes: here stands what is known of it. The ? key lists the keys.'));
      return;
    }
    const column = (...children) => parts.append(el('div', {}, ...children));
    column(...this.control(i));
    column(...this.waits(i));
    column(...this.origin(i));
    const {code} = kernel;
    tab.replaceChildren(el('div', {class: 'headline'}, `${hex(i * 16)}  ${code.text[i]}`), parts);
    await kernel.loadWhy();
    if (this.asked !== asked) return;
    column(...this.registers(i));
  }

  goTo(i, text) {
    return el('button', {class: 'link code', onclick: () => this.panes.goTo(i)}, text || `${hex(i * 16)} ${this.kernel.code.text[i]}`);
  }

  list(title, items) {
    return items.length ? [el('h3', {}, title), el('ul', {}, ...items.map(item => el('li', {}, item)))] : [];
  }

  control(i) {
    const {code, head} = this.kernel, [stall, yields, write, read, waits, reuse] = code.control[i], lines = [];
    lines.push(`stalls for ${stall} cycle${stall === 1 ? '' : 's'}${yields ? '; yields to another warp' : ''}`);
    const cause = this.kernel.stallOf.get(i);
    if (cause) lines.push(el('span', {}, 'because ', this.goTo(cause[2]), ' must not issue earlier after ', this.goTo(cause[1])));
    if (write !== null) lines.push(`sets scoreboard ${write} until its result is ready`);
    if (read !== null) lines.push(`sets scoreboard ${read} until its sources have been read`);
    if (waits) lines.push(`waits for scoreboards ${[0, 1, 2, 3, 4, 5].filter(s => waits >> s & 1).join(', ')}`);
    if (/[A-C]/.test(reuse)) lines.push(`keeps operand ${reuse.replace(/-/g, '')} in the reuse cache`);
    lines.push({u: 'warp-uniform', v: 'divergent', U: 'computed on the uniform datapath', ' ': 'not known whether warp-uniform'}[code.lanes[i]]);
    const [r, ur, p, up] = code.live[i];
    lines.push(`live after it: ${r} R, ${ur} UR, ${p} P, ${up} UP`);
    const run = head.run, ran = [];
    if (run && i < run.executed.length) {
      ran.push(`executed ${count(run.executed[i])} times by warps, on average with ${count(run.executed[i] ? run.lanes[i] / run.executed[i] : 0)} lanes`);
      ran.push(`stalled ${count(run.scoreboardStalls[i])} cycles for scoreboards, ${count(run.barrierStalls[i])} for barriers, ${count(run.fixedStalls[i])} for stall counts`);
    }
    return [...this.list('Control information', lines), ...this.list('In the launch', ran)];
  }

  waits(i) {
    const {code, waitsOf, waitedBy} = this.kernel;
    const item = (other, [, , board, isForSources]) => el('span', {}, `${board}: `, this.goTo(other), isForSources ? ' (its sources)' : '');
    return [...this.list('Waits for', (waitsOf.get(i) || []).map(w => item(code.waits[w][1], code.waits[w]))), ...this.list('Waited for by', (waitedBy.get(i) || []).map(w => item(code.waits[w][0], code.waits[w])))];
  }

  origin(i) {
    const {code, document: report, states} = this.kernel, first = report.phases.findIndex(phase => phase.stage !== 'modules');
    const phases = [...new Set(code.phases[i])].map((p, n) => {
      // Instructions that no phase has made come from lowering, the last step before the phases.
      const index = n || p ? first + p : first - 1, state = states.findIndex(s => s.phase === index), phase = report.phases[index];
      return el('span', {}, n ? 'changed by ' : 'created by ', state < 0 ? phase.number : el('button', {class: 'link', onclick: () => this.panes.showPhase(state)}, `${phase.number} ${phase.name}`.trim()));
    });
    const place = this.kernel.placeOf(code.loc[i]);
    if (place) phases.push(`from ${this.kernel.input.sources[place.split(':')[0]].name}:${place.split(':')[1]}`);
    if (code.line[i]) phases.push(el('span', {}, `from line ${code.line[i]}: `, el('span', {class: 'code'}, this.kernel.ptx[code.line[i] - 1].trim())));
    const remarks = (this.kernel.remarksByLine.get(code.line[i]) || []).map(r => this.kernel.remarks[r]).map(r => el('span', {class: r.done ? 'done' : 'refused'}, `${r.done ? '✓' : '✗'} ${r.number}: ${r.text}`));
    return [...this.list('Comes from', phases), ...this.list('Remarks', remarks)];
  }

  registers(i) {
    const {code, why, valuesById} = this.kernel, values = valuesById.get(code.id[i]) || [];
    const note = (v, n) => el('details', {open: n === 0 && values.length < 3}, el('summary', {class: 'code'}, `${why.values[v].uniform ? 'u' : 'v'} ${why.values[v].text.split('\n')[0]}`), el('pre', {}, why.values[v].text.split('\n').slice(1).join('\n')));
    return values.length ? [el('h3', {}, 'Values before allocation'), ...values.map(note)] : [];
  }

  // --- remarks

  listRemarks() {
    const words = byId('remark-filter').value.toLowerCase().split(/\s+/).filter(Boolean), {remarks} = this.kernel;
    const text = r => `${r.number} ${r.line} ${r.done ? 'done' : 'refused'} ${r.message}`.toLowerCase();
    this.remarkOrder = remarks.map((_, i) => i).filter(i => words.every(word => text(remarks[i]).includes(word)));
    byId('remark-count').textContent = `${this.remarkOrder.length} of ${remarks.length}`;
    this.remarks.setCount(this.remarkOrder.length);
  }

  renderRemark(i, row) {
    const remark = this.kernel.remarks[this.remarkOrder[i]];
    row.title = remark.text;
    row.append(el('span', {class: 'mark'}, remark.done ? '✓' : '✗'), el('span', {class: 'number'}, remark.number), el('span', {class: 'number'}, remark.line || ''), el('span', {class: remark.done ? null : 'dim'}, remark.text));
  }

  chooseRemark(i) {
    const remark = this.kernel.remarks[this.remarkOrder[i]];
    if (remark.line) this.panes.selectLine(remark.line, 'elsewhere');
  }

  // --- registers

  async listValues() {
    await this.kernel.loadWhy();
    const words = byId('value-filter').value.toLowerCase().split(/\s+/).filter(Boolean), {values, peaks} = this.kernel.why;
    this.valueOrder = values.map((_, i) => i).filter(i => words.every(word => values[i].text.toLowerCase().includes(word)));
    byId('value-count').textContent = `${this.valueOrder.length} of ${values.length} values`;
    this.values.setCount(this.valueOrder.length);
    if (!byId('value-text').textContent) byId('value-text').textContent = peaks.join('\n');
  }

  renderValue(i, row) {
    const value = this.kernel.why.values[this.valueOrder[i]];
    row.append(el('span', {class: 'mark' + (value.uniform ? ' uniform' : '')}, value.uniform ? 'u' : 'v'), value.text.split('\n')[0]);
  }

  chooseValue(i) {
    const value = this.kernel.why.values[this.valueOrder[i]], places = value.ids.flatMap(id => this.kernel.sassById.get(id) || []);
    byId('value-text').textContent = value.text;
    if (places.length) this.panes.select({line: this.kernel.code.line[places[0]], exact: places, same: [], ids: value.ids}, 'elsewhere');
  }

  // --- the run

  run() {
    const {run} = this.kernel.head, tab = document.querySelector('[data-tab="run"]');
    tab.hidden = !run;
    if (!run) return;
    const {code} = this.kernel, heats = this.kernel.heats();
    const table = (head, rows) => el('table', {class: 'figures'}, el('tr', {}, ...head.map(name => el('th', {class: 'dim'}, name))), ...rows.map(row => el('tr', {}, ...row.map(cell => el('td', {class: typeof cell === 'number' ? 'n' : null}, typeof cell === 'number' ? count(cell) : cell)))));
    const total = heats['stall cycles'].reduce((a, b) => a + b, 0) || 1;
    const hottest = heats['stall cycles'].map((_, i) => i).sort((a, b) => heats['stall cycles'][b] - heats['stall cycles'][a]).slice(0, 12).filter(i => heats['stall cycles'][i]);
    byId('tab-run').replaceChildren(el('div', {class: 'headline'}, `${run.launch}: grid ${run.grid.join(' × ')}, block ${run.block.join(' × ')}${run.completed ? '' : ', did not complete'}`),
      el('p', {class: 'dim'}, 'Counts are those of the emulator. Cycles are its estimates: good to compare two versions of a kernel, not a kernel with a clock.'),
      el('div', {class: 'columns'}, el('div', {}, el('h3', {}, 'Where warps stall'), table(['cycles', 'share', 'executed', 'instruction'], hottest.map(i => [heats['stall cycles'][i], (heats['stall cycles'][i] / total * 100).toFixed(1) + ' %', run.executed[i], this.goTo(i)]))),
        el('div', {}, el('h3', {}, 'Figures'), table(['', ''], run.figures))));
  }
}
