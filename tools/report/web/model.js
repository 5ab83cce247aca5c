'use strict';
// The page's data on one function: the parts of the report, and the links between them.

class Kernel {
  constructor(document, number, code, history, remarks) {
    this.document = document;
    this.number = number;
    this.head = document.functions[number];
    this.input = document.inputs[this.head.input] || {text: '', sources: [], locs: []};
    this.code = code;
    this.history = history;
    this.ptx = this.input.text.split('\n');
    this.states = history.states;
    this.sassByLine = groupBy(code.line.map(line => line || null));
    this.sassById = groupBy(code.id);
    this.sassByPlace = groupBy(code.loc.map(loc => this.placeOf(loc)));
    this.waitsOf = groupBy(code.waits.map(wait => wait[0]));
    this.waitedBy = groupBy(code.waits.map(wait => wait[1]));
    this.stallOf = new Map(code.stalls.map(stall => [stall[0], stall]));
    this.blockRows = new Map(history.blocks.map(block => [block.row, block]));
    this.remarks = mergedRemarks(remarks);
    this.remarksByLine = groupBy(this.remarks.map(remark => remark.line || null));
    this.touched = code.text.map((_, i) => [new Set(code.reads[i]), new Set(code.writes[i])]);
    this.rowCache = [];
    this.why = null;
  }

  get count() { return this.code.text.length; }

  /// The register data, decompressed on demand.
  async loadWhy() {
    if (this.why) return this.why;
    this.why = await unpack(`data-${this.number}-why`);
    this.valuesById = new Map();
    this.why.values.forEach((value, i) => {
      for (const id of value.ids) this.valuesById.set(id, [...(this.valuesById.get(id) || []), i]);
    });
    return this.why;
  }

  /// "file:line" of a `.loc`, by its number from 1; nothing for 0.
  placeOf(loc) {
    const place = loc ? this.input.locs[loc - 1] : null;
    return place ? place[0] + ':' + place[1] : null;
  }

  phaseOf(state) {
    return state.phase === null ? {number: '', name: 'As read', stage: 'modules', why: 'the PTX, with all that it leaves to be understood'} : this.document.phases[state.phase];
  }

  phaseName(state) {
    const phase = this.phaseOf(state);
    return (phase.number ? phase.number + ' ' : '') + phase.name;
  }

  /// The rows (indices into history.rows) of a state.
  rowsOf(state) {
    if (state < 0) return new Uint32Array(0);
    if (this.rowCache[state]) return this.rowCache[state];
    let known = state;
    while (known > 0 && !this.rowCache[known - 1]) --known;
    for (let s = known; s <= state; ++s) {
      const before = s ? this.rowCache[s - 1] : new Uint32Array(0);
      const edits = this.states[s].edits;
      if (!edits.length) {
        this.rowCache[s] = before;
        continue;
      }
      const rows = [];
      let at = 0;
      for (const [place, removed, added] of edits) {
        for (; at < place; ++at) rows.push(before[at]);
        for (const row of added) rows.push(row);
        at += removed;
      }
      for (; at < before.length; ++at) rows.push(before[at]);
      this.rowCache[s] = Uint32Array.from(rows);
    }
    return this.rowCache[state];
  }

  /// The rows of a state aligned with those of the previous one: [before, after] with -1 for none. Rows of one
  /// instruction are aligned.
  pairsOf(state) {
    const before = this.rowsOf(state - 1), after = this.rowsOf(state), ids = this.history.rows.id;
    const pairs = [];
    let b = 0, a = 0;
    if (state > 0 && this.states[state - 1].form !== this.states[state].form)
      return Array.from(after, row => [-1, row]);
    for (const [place, removed, added] of this.states[state].edits) {
      for (; b < place; ++b, ++a) pairs.push([before[b], after[a]]);
      const bEnd = b + removed, aEnd = a + added.length;
      const later = new Map();
      for (let i = a; i < aEnd; ++i) if (ids[after[i]] !== null) later.set(ids[after[i]], i);
      while (b < bEnd || a < aEnd) {
        const other = b < bEnd ? later.get(ids[before[b]]) : undefined;
        if (b < bEnd && (other === undefined || other < a)) pairs.push([before[b++], -1]);
        else if (b < bEnd && other === a) pairs.push([before[b++], after[a++]]);
        else pairs.push([-1, after[a++]]);
      }
    }
    for (; b < before.length; ++b, ++a) pairs.push([before[b], after[a]]);
    return pairs;
  }

  /// Heats of the instructions by name; empty without a launch.
  heats() {
    const run = this.head.run;
    if (!run) return null;
    return {
      'stall cycles': run.executed.map((_, i) => run.scoreboardStalls[i] + run.barrierStalls[i] + run.fixedStalls[i]),
      'waiting for scoreboards': run.scoreboardStalls,
      'waiting for barriers': run.barrierStalls,
      'fixed stalls': run.fixedStalls,
      'executed': run.executed,
      'lanes': run.lanes
    };
  }

  blockAt(index) {
    let low = 0, high = this.code.blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.code.blocks[middle][0] <= index) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/// Merges equal remarks on the same line into one, with `times`.
function mergedRemarks(remarks) {
  const known = new Map();
  for (const remark of remarks) {
    const key = [remark.number, remark.line, remark.done, remark.message].join('\n'), first = known.get(key);
    if (first) ++first.times;
    else known.set(key, {...remark, times: 1});
  }
  return [...known.values()].map(remark => ({...remark, text: remark.message + (remark.times > 1 ? ` (${remark.times} times)` : '')}));
}

/// The positions of each value of a list, except null.
function groupBy(list) {
  const groups = new Map();
  list.forEach((key, i) => {
    if (key === null) return;
    const group = groups.get(key);
    if (group) group.push(i);
    else groups.set(key, [i]);
  });
  return groups;
}
