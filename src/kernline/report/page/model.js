// The model: the decision value of a row and the part of each function in it, as the library computes them.
// A function is known by its place in the list of features, most important first.
class Model {
  constructor(data) {
    const functions = data.functions;
    this.functions = functions;
    this.problems = data.problems;
    this.task = data.task;
    this.intercepts = data.intercepts;
    this.units = data.units;
    this.numbers = decoded(functions.numbers);
    this.exact = decoded(functions.exact);
    this.isNumber = decoded(functions.isNumber);
    this.importance = decoded(functions.importance);
    this.strongest = decoded(functions.strongest);
    this.offsets = decoded(functions.offsets); // of exact functions, if they are centred
    this.isComplete = this.numbers.length === functions.nFunctions && this.exact.every((flag) => flag);
    this.column = new Int32Array(this.size).fill(-1);
    this.slot = new Int32Array(this.size).fill(-1);
    this.drawnSlot = new Int32Array(this.size).fill(-1);
    this.offsetSlot = new Int32Array(this.size).fill(-1);
    this.placeSlots();
    this.terms = functions.terms.map((term) => new TableTerm(term, this.nProblems));
    this.pairs = functions.pairs.map((pair) => new PairTerm(pair, this.nProblems));
    this.tables = new Map();
    for (const table of [...this.terms, ...this.pairs]) {
      if (!this.tables.has(table.place)) this.tables.set(table.place, []);
      this.tables.get(table.place).push(table);
    }
    this.prepareScaling();
  }

  get size() {
    return this.numbers.length;
  }

  get nProblems() {
    return this.problems.length;
  }

  placeSlots() {
    let column = 0;
    let slot = 0;
    let drawn = 0;
    let exact = 0;
    for (let place = 0; place < this.size; place++) {
      if (this.isColumn(place)) this.column[place] = column++;
      if (this.exact[place]) this.offsetSlot[place] = exact++;
      if (!this.isNumber[place]) continue;
      if (this.exact[place]) this.slot[place] = slot++;
      else this.drawnSlot[place] = drawn++;
    }
  }

  prepareScaling() {
    const scaling = this.functions.scaling;
    if (scaling.counts) {
      this.edgeStart = starts(decoded(scaling.counts));
      this.edges = decoded(scaling.edges);
      this.levels = Float64Array.from(decoded(scaling.levels), (level) => level / scaling.steps);
    } else {
      this.origins = decoded(scaling.offsets);
      this.factors = decoded(scaling.factors);
    }
    const codes = this.functions.codes;
    this.thresholds = codes && decoded(codes.thresholds);
    this.codeUnits = codes && decoded(codes.units);
  }

  get isCentred() {
    return this.offsets !== null;
  }

  // The mean of an exact function over the training rows, which is subtracted if functions are centred.
  offset(place, problem) {
    return this.offsets ? this.offsets[this.offsetSlot[place] * this.nProblems + problem] : 0;
  }

  isColumn(place) {
    return this.numbers[place] < this.functions.nFeatures;
  }

  name(place) {
    return this.functions.names ? this.functions.names[place] : String(this.numbers[place]);
  }

  // What an effect is on: the score of a class, or a prediction. Without a problem, those of all.
  effectOn(problem) {
    if (problem === undefined) return `Effect on the ${this.task === "regression" ? "predictions" : "scores"}`;
    const name = this.problems[problem];
    if (this.task !== "regression") return `Effect on the score, towards “${shortened(name, 30)}”`;
    return this.nProblems > 1 ? `Effect on ${name}` : "Effect on the prediction";
  }

  kind(place) {
    if (!this.isColumn(place)) return "pair";
    return this.isNumber[place] ? "number" : "category";
  }

  // The table of a category's levels, if the page has it.
  levelsOf(place) {
    const found = (this.tables.get(place) || []).find((table) => table.axes[0].kind === "levels");
    return found && !this.isNumber[place] ? found : null;
  }

  // Whether a missing value is allowed in this column.
  readsMissing(place) {
    return this.functions.gaps.kind !== "error" || this.missingTerm(place) !== undefined;
  }

  missingTerm(place) {
    return (this.tables.get(place) || []).find((table) => table.axes[0].kind === "missing");
  }

  // x as the model's u, in single precision, as the core computes it.
  unit(place, x) {
    const j = this.column[place];
    if (this.factors) return Math.fround((x - (this.origins ? this.origins[j] : 0)) * this.factors[j]);
    const begin = this.edgeStart[j];
    const n = this.edgeStart[j + 1] - begin;
    const at = begin + Math.max(0, countAtOrBelow(this.edges, x, begin, begin + n) - 1);
    if (x < this.edges[at]) return 0;
    const isLast = at + 1 >= begin + n;
    const slope = isLast ? 0 : (this.levels[at + 1] - this.levels[at]) / (this.edges[at + 1] - this.edges[at]);
    return Math.fround(this.levels[at] + (x - this.edges[at]) * (Number.isFinite(slope) ? slope : 0));
  }

  // The values that become these u.
  valueAt(place, u) {
    const j = this.column[place];
    if (this.factors) {
      const origin = this.origins ? this.origins[j] : 0;
      return this.factors[j] ? origin + u / this.factors[j] : origin;
    }
    const [begin, end] = [this.edgeStart[j], this.edgeStart[j + 1]];
    const at = begin + clamp(countAtOrBelow(this.levels, u, begin, end) - 1, 0, Math.max(0, end - begin - 2));
    if (at + 1 >= end || this.levels[at + 1] === this.levels[at]) return this.edges[at];
    const share = clamp((u - this.levels[at]) / (this.levels[at + 1] - this.levels[at]), 0, 1);
    return this.edges[at] + share * (this.edges[at + 1] - this.edges[at]);
  }

  // The least and the largest training value of a number; null if they are not known, or equal.
  limits(place) {
    const [low, high] = this.ends(place);
    return low < high ? [low, high] : null;
  }

  // The only training value of a number; null if there are several, or they are not known.
  constant(place) {
    const [low, high] = this.ends(place);
    return low === high ? low : null;
  }

  // The least and the largest training value, NaN if they are not known.
  ends(place) {
    const limits = decoded(this.functions.limits);
    const j = this.column[place];
    if (!limits || j < 0 || 2 * j >= limits.length) return [NaN, NaN];
    const ends = [limits[2 * j], limits[2 * j + 1]];
    return ends.every(Number.isFinite) ? ends : [NaN, NaN];
  }

  // f of a number that is exact, for all problems, added to `out`.
  addCurve(place, x, out) {
    const u = this.unit(place, x);
    const { kind, width, steps } = this.functions.read;
    const weights = decoded(this.functions.weights);
    const first = this.slot[place] * this.nProblems * width;
    const add = (vector) => {
      for (let p = 0; p < this.nProblems; p++) {
        for (let k = 0; k < width; k++) out[p] += vector[k] * weights[first + p * width + k];
      }
    };
    if (this.thresholds) {
      const code = countAtOrBelow(this.thresholds, u);
      if (code === 0) return;
      if (kind === "rows") {
        add(decoded(this.functions.read.rows).subarray(code * width, (code + 1) * width));
        return;
      }
      const position = Math.floor(code / steps);
      const share = (code % steps) / steps;
      for (let p = 0; p < this.nProblems; p++) {
        const at = first + p * width + position;
        out[p] += (1 - share) * weights[at] + (share ? share * weights[at + 1] : 0);
      }
      return;
    }
    const value = this.functions.clips ? clamp(u, 0, 1) : clamp(u, -1e18, 1e18);
    if (value === 0) return;
    if (kind === "value") add([value]);
    else add(this.powers(value));
  }

  powers(u) {
    const { width, shift } = this.functions.read;
    const logarithm = Math.fround(Math.log(u + shift));
    const vector = new Float32Array(width);
    vector[0] = 1;
    for (let k = 1; k < width; k++) vector[k] = vector[k - 1] * logarithm;
    return vector;
  }

  // f at the values of a row, for all problems; null if the page does not hold the function.
  part(place, values) {
    if (!this.exact[place]) return null;
    const out = new Float64Array(this.nProblems);
    if (this.slot[place] >= 0) {
      let x = values[place];
      if (Number.isNaN(x) && !this.missingTerm(place)) x = this.valueOfGap(place);
      if (!Number.isNaN(x)) this.addCurve(place, x, out);
    }
    for (const table of this.tables.get(place) || []) table.add(values, out);
    return out.map((score, p) => score - this.offset(place, p));
  }

  valueOfGap(place) {
    const gaps = this.functions.gaps;
    return gaps.values ? decoded(gaps.values)[this.column[place]] : 0;
  }
}

// A table of scores of one column, or of two: of levels, bins or missing values.
class TableTerm {
  constructor(term, nProblems) {
    this.place = term.place;
    this.columns = term.columns;
    this.axes = term.axes;
    this.scores = decoded(term.scores);
    this.counts = decoded(term.counts); // training rows in each cell, if the model keeps them
    this.nProblems = nProblems;
  }

  add(values, out) {
    let cell = 0;
    for (let i = 0; i < this.axes.length; i++) {
      const position = positionOn(this.axes[i], values[this.columns[i]]);
      if (position < 0) return;
      cell = cell * sizeOf(this.axes[i]) + position;
    }
    for (let p = 0; p < this.nProblems; p++) out[p] += this.scores[cell * this.nProblems + p];
  }
}

function sizeOf(axis) {
  if (axis.kind === "missing") return 1;
  return decoded(axis.points).length + (axis.kind === "bins" ? 1 : 0);
}

function positionOn(axis, x) {
  if (axis.kind === "missing") return Number.isNaN(x) ? 0 : -1;
  if (Number.isNaN(x)) return -1;
  const points = decoded(axis.points);
  const n = countAtOrBelow(points, x);
  if (axis.kind === "bins") return n;
  return n > 0 && points[n - 1] === x ? n - 1 : -1;
}

// A table of two columns, bilinear between the places of their axes.
class PairTerm {
  constructor(pair, nProblems) {
    this.place = pair.place;
    this.columns = pair.columns;
    this.axes = pair.axes;
    this.values = decoded(pair.values);
    this.nProblems = nProblems;
  }

  add(values, out) {
    const [a, b] = this.axes.map((axis, i) => placeOn(axis, values[this.columns[i]]));
    const [i, j] = [a, b].map((place, side) => Math.min(Math.floor(place), this.axes[side].size - 1));
    for (const [di, wa] of [[0, 1 - (a - i)], [1, a - i]]) {
      for (const [dj, wb] of [[0, 1 - (b - j)], [1, b - j]]) {
        if (wa * wb === 0) continue;
        for (let p = 0; p < this.nProblems; p++) out[p] += wa * wb * this.at(i + di, j + dj, p);
      }
    }
  }

  at(i, j, problem) {
    return this.values[(i * (this.axes[1].size + 1) + j) * this.nProblems + problem];
  }
}

function placeOn(axis, x) {
  if (Number.isNaN(x)) return axis.size;
  const points = decoded(axis.points);
  const places = decoded(axis.places);
  const n = countAtOrBelow(points, x);
  if (!axis.isNumber) return n > 0 && points[n - 1] === x ? places[n - 1] : axis.size;
  if (n === 0) return places[0];
  if (n === points.length) return places[n - 1];
  const slope = (places[n] - places[n - 1]) / (points[n] - points[n - 1]);
  return slope * (x - points[n - 1]) + places[n - 1];
}

// A row whose values can be changed.
class Row {
  constructor(model, data) {
    this.model = model;
    this.data = data;
    this.original = new Float64Array(model.size);
    const columns = decoded(data.columns);
    data.values.forEach((value, i) => {
      this.original[columns[i]] = value === null ? NaN : value;
    });
    this.given = new Set(columns);
    this.values = this.original.slice();
    this.touched = new Set();
    this.known = new Map(); // parts that have not changed
    // What functions add that the page does not hold: they do not change.
    this.rest = new Float64Array(model.nProblems);
    if (!model.isComplete) {
      const known = this.sums();
      for (let p = 0; p < model.nProblems; p++) this.rest[p] = data.scores[p] / model.units[p] - known[p];
    }
  }

  reset() {
    this.values.set(this.original);
    this.touched.clear();
    this.known.clear();
  }

  set(place, value) {
    this.values[place] = value;
    this.touched.add(place);
    for (const known of [...this.known.keys()]) {
      if (known === place || !this.model.isColumn(known)) this.known.delete(known);
    }
  }

  // Functions that may add something: all if they are centred, else those of columns with a value, and of pairs.
  *active() {
    for (let place = 0; place < this.model.size; place++) {
      if (!this.model.exact[place]) continue;
      if (this.model.isCentred || !this.model.isColumn(place) || this.given.has(place) || this.touched.has(place)) yield place;
    }
  }

  // The part of each function, by its place.
  parts() {
    const found = new Map();
    for (const place of this.active()) {
      if (!this.known.has(place)) this.known.set(place, this.model.part(place, this.values));
      found.set(place, this.known.get(place));
    }
    return found;
  }

  sums(parts = this.parts()) {
    const out = Float64Array.from(this.model.intercepts);
    for (const part of parts.values()) {
      for (let p = 0; p < out.length; p++) out[p] += part[p];
    }
    return out.map((sum, p) => sum + this.rest[p]);
  }

  // Decision values of classes, or predictions, in the unit of y.
  scores(parts = this.parts()) {
    return this.sums(parts).map((sum, p) => sum * this.model.units[p]);
  }
}
