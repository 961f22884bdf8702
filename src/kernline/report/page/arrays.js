// Data of the page: JSON, and arrays in it, which are decoded on first use.
const ARRAY_TYPES = { u1: Uint8Array, u2: Uint16Array, f4: Float32Array, f8: Float64Array };

function readData(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

function decoded(packed) {
  if (!packed) return null;
  if (!packed.values) {
    const text = atob(packed.data);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    packed.values = new ARRAY_TYPES[packed.type](bytes.buffer);
    packed.data = null;
  }
  return packed.values;
}

// Where each group begins, given the sizes of the groups.
function starts(counts) {
  const out = new Uint32Array(counts.length + 1);
  for (let i = 0; i < counts.length; i++) out[i + 1] = out[i] + counts[i];
  return out;
}

// The number of sorted values, begin to end, that are at or below x.
function countAtOrBelow(sorted, x, begin = 0, end = sorted.length) {
  let low = begin;
  let high = end;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low - begin;
}

function clamp(x, low, high) {
  return Math.min(Math.max(x, low), high);
}
