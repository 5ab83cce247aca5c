'use strict';
// A list of rows of equal height. Only the visible rows are in the page.

class RowList {
  /// `render(index, row)` fills the element of a row; `select(index)` is called when the user chooses one.
  constructor(element, {render, select, label, after, rowHeight = 18}) {
    this.element = element;
    this.render = render;
    this.onSelect = select;
    this.after = after;
    this.rowHeight = rowHeight;
    this.count = 0;
    this.selected = -1;
    this.space = el('div', {class: 'space'});
    element.append(this.space);
    element.tabIndex = 0;
    element.setAttribute('role', 'listbox');
    element.setAttribute('aria-label', label);
    element.addEventListener('scroll', () => this.schedule());
    element.addEventListener('keydown', event => this.key(event));
    element.addEventListener('click', event => {
      const row = event.target.closest('.row');
      if (row && this.space.contains(row)) this.choose(Number(row.dataset.index));
    });
    new ResizeObserver(() => this.schedule()).observe(element);
  }

  setCount(count) {
    this.count = count;
    this.space.style.height = count * this.rowHeight + 'px';
    if (this.selected >= count) this.selected = -1;
    this.draw();
  }

  schedule() {
    if (this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() => {
      this.isScheduled = false;
      this.draw();
    });
  }

  visible() {
    const first = Math.floor(this.element.scrollTop / this.rowHeight);
    return [Math.max(first - 4, 0), Math.min(first + Math.ceil(this.element.clientHeight / this.rowHeight) + 4, this.count)];
  }

  draw() {
    if (!this.element.clientHeight) return;
    const [first, end] = this.visible();
    const rows = [];
    for (let i = first; i < end; ++i) {
      const row = el('div', {class: 'row', role: 'option', id: `${this.element.id}-${i}`, 'data-index': i, 'aria-setsize': this.count, 'aria-posinset': i + 1, 'aria-selected': i === this.selected ? 'true' : 'false'});
      row.style.top = i * this.rowHeight + 'px';
      this.render(i, row);
      if (i === this.selected) row.classList.add('sel');
      rows.push(row);
    }
    this.space.replaceChildren(...rows);
    if (this.selected >= 0) this.element.setAttribute('aria-activedescendant', `${this.element.id}-${this.selected}`);
    if (this.after) this.after(first, end);
  }

  reveal(index, isCentred) {
    const top = index * this.rowHeight, height = this.element.clientHeight;
    if (top >= this.element.scrollTop && top + this.rowHeight <= this.element.scrollTop + height) return;
    const above = isCentred || Math.abs(top - this.element.scrollTop) > 2 * height ? height / 3 : top < this.element.scrollTop ? 0 : height - this.rowHeight - 1;
    this.element.scrollTop = Math.max(top - above, 0);
  }

  /// Marks a row as selected, without calling `select`.
  mark(index) {
    this.selected = index;
    if (index >= 0) this.reveal(index, true);
    this.draw();
  }

  choose(index) {
    if (this.count === 0) return;
    this.selected = Math.min(Math.max(index, 0), this.count - 1);
    this.reveal(this.selected);
    this.draw();
    if (this.onSelect) this.onSelect(this.selected);
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const page = Math.max(Math.floor(this.element.clientHeight / this.rowHeight) - 1, 1);
    const from = this.selected < 0 ? Math.floor(this.element.scrollTop / this.rowHeight) - 1 : this.selected;
    const to = {ArrowDown: from + 1, j: from + 1, ArrowUp: from - 1, k: from - 1, PageDown: from + page, PageUp: from - page, Home: 0, End: this.count - 1, Enter: this.selected}[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.choose(to);
  }
}
