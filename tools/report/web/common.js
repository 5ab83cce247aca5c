'use strict';
// Shared by both pages: elements, packed data, themes.

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'class') node.className = value;
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children)
    if (child !== undefined && child !== null) node.append(child);
  return node;
}

function svg(tag, attributes, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const byId = id => document.getElementById(id);

function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/// A part of the document (page.cpp packs them).
async function unpack(id) {
  const stream = new Blob([bytesOfBase64(byId(id).textContent)]).stream().pipeThrough(new DecompressionStream('deflate'));
  return JSON.parse(await new Response(stream).text());
}

// Number.toLocaleString() creates a formatter for each call, which takes most of the time of a page with many numbers.
const kNumberFormat = new Intl.NumberFormat('en-US', {maximumFractionDigits: 2});

function count(number) {
  return kNumberFormat.format(number);
}

/// Short form: 1234567 -> 1.23M
function shortCount(number) {
  for (const [unit, name] of [[1e9, 'G'], [1e6, 'M'], [1e4, 'k']])
    if (number >= unit) return (number / (name === 'k' ? 1e3 : unit)).toPrecision(3) + name;
  return String(Math.round(number));
}

function plural(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
}

function hex(offset) {
  return offset.toString(16).padStart(4, '0');
}

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}

/// Light or dark: the system's setting, unless the user has chosen. `changed` is then called, too.
function setUpTheme(changed) {
  const root = document.documentElement;
  const system = matchMedia('(prefers-color-scheme: dark)');
  const set = theme => {
    root.dataset.theme = theme;
    changed();
  };
  const fromAddress = new URLSearchParams(location.hash.slice(1)).get('theme');
  root.dataset.theme = fromAddress || (system.matches ? 'dark' : 'light');
  let isChosen = Boolean(fromAddress);
  system.addEventListener('change', () => isChosen || set(system.matches ? 'dark' : 'light'));
  const toggle = () => {
    isChosen = true;
    set(root.dataset.theme === 'dark' ? 'light' : 'dark');
  };
  byId('theme').addEventListener('click', toggle);
  return toggle;
}

function setUpCharts() {
  Chart.defaults.font.family = 'system-ui, "DejaVu Sans", sans-serif';
  Chart.defaults.animation = false;
  Chart.defaults.color = () => color('text');
  Chart.defaults.borderColor = () => color('line');
}
