'use strict';
// The graphical tabs: register pressure, control flow.

class PressureChart {
  constructor(panes) {
    this.panes = panes;
  }

  show(kernel) {
    this.kernel = kernel;
    if (this.chart) this.chart.destroy();
    this.chart = null;
  }

  /// A piece of the line, for the legend.
  keyOf({borderColor, borderDash}) {
    const canvas = el('canvas', {width: 40, height: 8}), context = canvas.getContext('2d');
    context.strokeStyle = borderColor();
    context.lineWidth = 2;
    context.setLineDash(borderDash || []);
    context.moveTo(0, 4);
    context.lineTo(40, 4);
    context.stroke();
    return canvas;
  }

  /// Called when the tab becomes visible, because a chart needs a size.
  draw() {
    if (this.chart) return this.chart.update();
    const {code, head} = this.kernel, {classes, reserved, maxWarps} = head.occupancy;
    const series = (file, label, name, dash) => ({label, data: code.live.map((live, i) => ({x: i, y: live[file]})), borderColor: () => color(name), backgroundColor: () => color(name), borderWidth: 1.6, borderDash: dash, pointRadius: 0, stepped: true});
    const most = code.live.reduce((m, live) => Math.max(m, live[0]), 0);
    // The class of the peak, the lower ones, and the next higher one.
    const limits = classes.map(c => ({at: c.registers - reserved, warps: c.warps})).filter(c => c.warps > 0).sort((a, b) => a.at - b.at);
    const shown = limits.filter((c, i) => c.at <= most || i === limits.findIndex(l => l.at >= most));
    const lines = {
      id: 'occupancyClasses',
      afterDatasetsDraw: chart => {
        const {ctx, chartArea, scales} = chart;
        ctx.save();
        ctx.font = '11px system-ui, sans-serif';
        ctx.strokeStyle = color('dim');
        let lastLabel = Infinity;
        for (const {at, warps} of [...shown].reverse()) {
          const y = scales.y.getPixelForValue(at);
          if (y < chartArea.top - 1) continue;
          ctx.setLineDash([2, 4]);
          ctx.beginPath();
          ctx.moveTo(chartArea.left, y);
          ctx.lineTo(chartArea.right, y);
          ctx.stroke();
          // Labels that would overlap are left out; their lines are drawn.
          if (Math.abs(y - lastLabel) < 15) continue;
          lastLabel = y;
          const label = `up to ${at} live (${at + reserved} registers): ${warps} of ${maxWarps} warps`, width = ctx.measureText(label).width;
          ctx.fillStyle = color('back');
          ctx.fillRect(chartArea.right - width - 8, y - 7, width + 6, 14);
          ctx.fillStyle = color('dim');
          ctx.fillText(label, chartArea.right - width - 5, y + 4);
        }
        if (this.panes.index >= 0) {
          const x = scales.x.getPixelForValue(this.panes.index);
          ctx.setLineDash([]);
          ctx.strokeStyle = color('accent');
          ctx.strokeRect(x - 1, chartArea.top, 2, chartArea.bottom - chartArea.top);
        }
        ctx.restore();
      }
    };
    this.chart = new Chart(byId('pressure'), {
      type: 'line',
      data: {datasets: [series(0, 'R', 's1'), series(1, 'UR (uniform)', 's2', [7, 3]), series(2, 'P', 's3', [2, 2]), series(3, 'UP (uniform)', 's4', [10, 3, 2, 3])]},
      options: {
        parsing: false, maintainAspectRatio: false, responsive: true, normalized: true,
        interaction: {mode: 'nearest', axis: 'x', intersect: false},
        onClick: event => {
          const i = Math.round(this.chart.scales.x.getValueForPixel(event.x));
          if (i >= 0 && i < this.kernel.count) this.panes.goTo(i);
        },
        scales: {
          x: {type: 'linear', min: 0, max: Math.max(this.kernel.count - 1, 1), title: {display: true, text: 'instruction'}, ticks: {callback: i => hex(i * 16)}},
          y: {min: 0, suggestedMax: shown.length ? shown[shown.length - 1].at * 1.08 : undefined, title: {display: true, text: 'live registers'}}
        },
        plugins: {
          decimation: {enabled: true, algorithm: 'min-max'},
          legend: {labels: {usePointStyle: true, pointStyleWidth: 40, generateLabels: chart => Chart.defaults.plugins.legend.labels.generateLabels(chart).map(label => ({...label, pointStyle: this.keyOf(chart.data.datasets[label.datasetIndex])}))}},
          tooltip: {callbacks: {title: items => `${hex(items[0].parsed.x * 16)} ${this.kernel.code.text[items[0].parsed.x]}`}}
        }
      },
      plugins: [lines]
    });
  }
}

/// Larger graphs are shown only around the selected block: their layout takes too long and is not readable.
const kMostBlocks = 220, kNearBlocks = 60;

class FlowGraph {
  constructor(panes) {
    this.panes = panes;
    this.zoom = 1;
    byId('flow-of').addEventListener('change', () => this.draw());
    byId('zoom-in').addEventListener('click', () => this.setZoom(this.zoom * 1.25));
    byId('zoom-out').addEventListener('click', () => this.setZoom(this.zoom / 1.25));
    byId('zoom-fit').addEventListener('click', () => this.fit());
  }

  show(kernel) {
    this.kernel = kernel;
    this.drawn = null;
    byId('flow').replaceChildren();
    this.listForms();
  }

  listForms() {
    if (!this.kernel) return;
    const select = byId('flow-of'), before = select.value;
    const state = this.kernel.states[this.panes.state];
    select.replaceChildren(el('option', {value: 'sass'}, 'SASS'), ...(state && state.form === 'ori' ? [el('option', {value: 'ori'}, 'Ori after ' + this.kernel.phaseName(state))] : []));
    if ([...select.options].some(option => option.value === before)) select.value = before;
  }

  /// [{title, lines, to: [[block, kind]], first, ids}] of the selected form.
  blocks() {
    const {code, head, history} = this.kernel, run = head.run;
    if (byId('flow-of').value !== 'ori')
      return code.blocks.map(([first, end, to], b) => ({
        key: 's' + b, title: `${code.labels[first] || (b ? '' : 'entry')} ${hex(first * 16)}–${hex((end - 1) * 16)}`.trim(),
        lines: [plural(end - first, 'instruction'), ...(run ? [`executed ${shortCount(run.executed[first] || 0)}×`] : [])], to, first, end,
        heat: run ? run.executed.slice(first, end).reduce((sum, _, k) => sum + run.scoreboardStalls[first + k] + run.barrierStalls[first + k] + run.fixedStalls[first + k], 0) : 0
      }));
    const blocks = [], numbers = new Map();
    for (const row of this.kernel.rowsOf(this.panes.state)) {
      const block = this.kernel.blockRows.get(row);
      if (block) {
        numbers.set(-1 - history.rows.id[row], blocks.length);
        blocks.push({key: 'o' + row, title: '.L' + (-1 - history.rows.id[row]), lines: [], to: block.to, depth: block.depth, count: 0, ids: new Set(), heat: 0});
      } else if (blocks.length) {
        const last = blocks[blocks.length - 1];
        ++last.count;
        last.ids.add(history.rows.id[row]);
        if (last.first === undefined) last.first = (this.kernel.sassById.get(history.rows.id[row]) || [])[0];
      }
    }
    blocks.forEach((block, b) => {
      block.lines = [plural(block.count, 'instruction'), ...(block.depth ? [`loop depth ${block.depth}`] : [])];
      block.to = block.to.filter(to => numbers.has(to)).map((to, n) => [numbers.get(to), numbers.get(to) === b + 1 && (n > 0 || block.to.length === 1) ? 'next' : 'taken']);
    });
    return blocks;
  }

  isSelected(block) {
    if (block.ids) return [...this.panes.ids].some(id => block.ids.has(id));
    return this.panes.index >= block.first && this.panes.index < block.end;
  }

  draw() {
    this.listForms();
    const all = this.blocks(), chosen = Math.max(all.findIndex(block => this.isSelected(block)), 0);
    let kept = all.map((_, b) => b);
    byId('flow-note').textContent = plural(all.length, 'block');
    if (all.length > kMostBlocks) {
      kept = this.around(all, chosen);
      byId('flow-note').textContent = `${kept.length} of ${all.length} blocks, around the selected one`;
    }
    const form = byId('flow-of').value + this.panes.state * (byId('flow-of').value === 'ori') + ':' + kept.join();
    if (this.drawn !== form) this.layOut(all, new Set(kept));
    this.drawn = form;
    for (const [b, node] of this.nodes) node.classList.toggle('sel', this.isSelected(all[b]) && (this.panes.index >= 0 || this.panes.ids.size > 0));
    const node = this.nodes.get(chosen);
    if (node && this.panes.index >= 0) node.scrollIntoView({block: 'nearest', inline: 'nearest'});
  }

  around(all, chosen) {
    const from = all.map(() => []);
    all.forEach((block, b) => block.to.forEach(([to]) => from[to].push(b)));
    const seen = new Set([chosen]), queue = [chosen];
    while (queue.length && seen.size < kNearBlocks) {
      const b = queue.shift();
      for (const next of [...all[b].to.map(([to]) => to), ...from[b]])
        if (!seen.has(next) && seen.size < kNearBlocks) {
          seen.add(next);
          queue.push(next);
        }
    }
    return [...seen].sort((a, b) => a - b);
  }

  layOut(all, kept) {
    const graph = new dagre.graphlib.Graph({multigraph: true});
    graph.setGraph({nodesep: 26, ranksep: 34, edgesep: 14, marginx: 12, marginy: 12});
    graph.setDefaultEdgeLabel(() => ({}));
    const kLine = 16, kLetter = 7.4;
    for (const b of kept) {
      const block = all[b];
      graph.setNode(b, {width: Math.max(block.title.length, ...block.lines.map(line => line.length)) * kLetter + 18, height: (1 + block.lines.length) * kLine + 12});
    }
    for (const b of kept)
      all[b].to.forEach(([to, kind], n) => kept.has(to) && graph.setEdge(String(b), String(to), {kind, isFork: all[b].to.length > 1, width: 34, height: 12, labelpos: 'c'}, String(n)));
    dagre.layout(graph);
    const {width, height} = graph.graph(), hottest = Math.max(...all.map(block => block.heat), 1);
    const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'Control flow graph'});
    picture.append(svg('defs', {}, svg('marker', {id: 'tip', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto'}, svg('polygon', {points: '0,0 8,4 0,8', fill: 'context-stroke'}))));
    for (const name of graph.edges()) {
      const edge = graph.edge(name), points = edge.points;
      let path = `M${points[0].x} ${points[0].y}`;
      for (let i = 1; i < points.length - 1; ++i) path += `Q${points[i].x} ${points[i].y} ${(points[i].x + points[i + 1].x) / 2} ${(points[i].y + points[i + 1].y) / 2}`;
      path += `L${points[points.length - 1].x} ${points[points.length - 1].y}`;
      picture.append(svg('path', {d: path, class: edge.kind, 'marker-end': 'url(#tip)'}));
      if (edge.isFork && edge.x !== undefined) picture.append(svg('text', {x: edge.x, y: edge.y + 4, 'text-anchor': 'middle', class: 'edge-label'}, edge.kind));
    }
    this.nodes = new Map();
    for (const b of kept) {
      const {x, y, width: w, height: h} = graph.node(b), block = all[b];
      const node = svg('g', {class: 'node' + (b === 0 ? ' entry' : ''), tabindex: 0, role: 'button', 'aria-label': `${block.title}, ${block.lines.join(', ')}`, transform: `translate(${x - w / 2} ${y - h / 2})`}, svg('rect', {width: w, height: h, rx: 4}));
      if (block.heat) node.append(svg('rect', {class: 'heat', width: Math.max(w * block.heat / hottest, 1), height: 5}));
      [block.title, ...block.lines].forEach((line, n) => node.append(svg('text', {x: 9, y: 18 + n * kLine, class: n ? 'edge-label' : ''}, line)));
      const choose = () => block.first !== undefined && this.panes.goTo(block.first);
      node.addEventListener('click', choose);
      node.addEventListener('keydown', event => event.key === 'Enter' && choose());
      picture.append(node);
      this.nodes.set(b, node);
    }
    this.size = [width, height];
    byId('flow').replaceChildren(picture);
    this.setZoom(1);
    this.fit();
  }

  setZoom(zoom) {
    this.zoom = Math.min(Math.max(zoom, 0.1), 3);
    const picture = byId('flow').firstChild;
    if (!picture) return;
    picture.setAttribute('width', this.size[0] * this.zoom);
    picture.setAttribute('height', this.size[1] * this.zoom);
  }

  fit() {
    const {clientWidth, clientHeight} = byId('flow');
    // The whole graph if it is then readable; else as wide as the tab.
    const whole = Math.min((clientWidth - 4) / this.size[0], (clientHeight - 4) / this.size[1], 1);
    this.setZoom(whole > 0.55 ? whole : Math.min((clientWidth - 16) / this.size[0], 1));
  }
}
