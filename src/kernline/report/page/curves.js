// Charts of one function: curves of a number, bars of a category, a heat map of a pair.
const MOST_LEVELS = 40;

// Points of the curves of a number: x, and f for each of the problems that the page has.
function curveOf(model, place) {
  if (model.slot[place] >= 0) return exactCurve(model, place);
  if (model.drawnSlot[place] >= 0) return drawnCurve(model, place);
  return null;
}

function exactCurve(model, place) {
  const { read, clips } = model.functions;
  let units = Array.from({ length: 65 }, (_, i) => i / 64);
  if (model.codeUnits && read.kind === "hats") units = model.codeUnits.filter((_, code) => code % read.steps === 0);
  else if (model.codeUnits) {
    const stride = Math.max(1, Math.floor(model.codeUnits.length / 256));
    units = model.codeUnits.filter((_, code) => code % stride === 0);
  }
  let x = [...new Set(Array.from(units, (u) => model.valueAt(place, u)))];
  if (!clips) x = linearRange(model, place);
  if (model.edges && clips) x = [...new Set([...x, ...edgesOf(model, place)])];
  x.sort((a, b) => a - b);
  x = withinLimits(model, place, x);
  const f = model.problems.map(() => new Float64Array(x.length));
  x.forEach((value, i) => {
    const out = new Float64Array(model.nProblems);
    model.addCurve(place, value, out);
    out.forEach((score, p) => {
      f[p][i] = score - model.offset(place, p);
    });
  });
  return { x, f, problems: model.problems.map((_, p) => p), steps: read.kind === "rows" };
}

// The values between the limits of the training rows, with the limits. A scale may begin at zero, far from all rows.
function withinLimits(model, place, x) {
  const only = model.constant(place);
  if (only !== null) return [only];
  const limits = model.limits(place);
  if (!limits) return x;
  const [low, high] = limits.map((limit) => clamp(limit, x[0], x[x.length - 1]));
  return low < high ? [low, ...x.filter((value) => value > low && value < high), high] : x;
}

// y at a value, linear between points.
function interpolated(x, y, value) {
  const at = clamp(countAtOrBelow(x, value), 1, x.length - 1);
  const share = x[at] > x[at - 1] ? clamp((value - x[at - 1]) / (x[at] - x[at - 1]), 0, 1) : 0;
  return y[at - 1] + share * (y[at] - y[at - 1]);
}

function edgesOf(model, place) {
  const j = model.column[place];
  return model.edges.subarray(model.edgeStart[j], model.edgeStart[j + 1]);
}

// A linear kernel has no range of its own: that of the training rows, or of the rows of the page.
function linearRange(model, place) {
  const density = densityOf(model, place);
  const x = density ? density.x : [];
  const ends = [0, 1, ...x, ...(model.seen ? model.seen(place) : [])].filter(Number.isFinite);
  const low = Math.min(...ends);
  const high = Math.max(...ends);
  return [low, high];
}

function drawnCurve(model, place) {
  const drawn = model.functions.drawn;
  const n = drawn.perFunction;
  const first = model.drawnSlot[place] * n;
  const units = decoded(drawn.units);
  const points = decoded(drawn.points);
  const known = Array.from(units, (u) => model.valueAt(place, u));
  const x = withinLimits(model, place, known);
  const problems = Array.from(decoded(drawn.problems).subarray(first, first + n));
  const f = problems.map((_, i) => {
    const low = decoded(drawn.low)[first + i];
    const high = decoded(drawn.high)[first + i];
    const begin = (first + i) * units.length;
    const steps = points.subarray(begin, begin + units.length);
    const all = Float64Array.from(steps, (step) => low + (step / 255) * (high - low));
    return x === known ? all : Float64Array.from(x, (value) => interpolated(known, all, value));
  });
  return { x, f, problems, steps: false };
}

// Where the training rows lie: values and counts, if the model keeps them.
function densityOf(model, place) {
  const density = model.functions.density;
  const j = model.column[place];
  if (!density || j < 0) return null;
  density.starts = density.starts || starts(decoded(density.entries));
  if (j + 1 >= density.starts.length) return null;
  const [begin, end] = [density.starts[j], density.starts[j + 1]];
  const counts = Array.from(decoded(density.counts).subarray(begin, end));
  let x = Array.from(decoded(density.units).subarray(begin, end), (u) => model.valueAt(place, u));
  const stored = counts.reduce((a, b) => a + b, 0);
  if (model.isNumber[place] && !model.missingTerm(place) && stored < density.rows) {
    x.unshift(model.valueAt(place, 0));
    counts.unshift(density.rows - stored);
  }
  const limits = model.isNumber[place] && model.limits(place);
  if (limits) x = x.map((value) => clamp(value, ...limits)); // the middle of a cell may lie beyond them
  return counts.length ? { x, counts } : null;
}

// The problems to draw: a number, "strongest" or "all".
function shownProblems(curve, choice) {
  if (choice === "all") return curve.problems.map((_, i) => i);
  if (choice !== "strongest") {
    const found = curve.problems.indexOf(Number(choice));
    return found < 0 ? [] : [found];
  }
  const spread = curve.f.map((values) => Math.max(...values) - Math.min(...values));
  const order = spread.map((_, i) => i).sort((a, b) => spread[b] - spread[a]);
  return order.slice(0, 3).sort((a, b) => a - b);
}

function drawCurve(model, place, choice, mark) {
  const curve = curveOf(model, place);
  if (!curve) return null;
  const shown = shownProblems(curve, choice);
  const one = model.task === "regression" ? "output" : "class";
  const figure = newFigure({
    x: model.functions.names ? shortened(model.name(place), 60) : `Feature ${model.name(place)}`,
    y: model.effectOn(shown.length === 1 ? curve.problems[shown[0]] : undefined),
    height: functionHeight(model, place),
    tooltips: [["value", "@x"], ["effect", "@y{0.0000}"], ...(model.nProblems > 1 ? [[one, "@name"]] : [])],
    hover: { mode: "vline", line_policy: "nearest" },
    x_range: new Bokeh.DataRange1d(),
  });
  drawDensity(model, place, figure);
  shown.forEach((i, order) => {
    const name = model.problems[curve.problems[i]];
    const source = newSource({ x: curve.x, y: Array.from(curve.f[i]), name: curve.x.map(() => name) });
    const style = { source, line_width: 2.5, line_color: colour(order), line_dash: dash(order) };
    if (model.nProblems > 1 && shown.length <= 12) style.legend_label = shortened(name, 24);
    if (curve.x.length === 1) figure.scatter({ field: "x" }, { field: "y" }, { ...style, size: 8, fill_color: colour(order) });
    else if (curve.steps) figure.step({ field: "x" }, { field: "y" }, "after", style);
    else figure.line({ field: "x" }, { field: "y" }, style);
  });
  if (model.nProblems > 1 && shown.length && shown.length <= 12) {
    styleLegend(figure, { nrows: shown.length > 6 ? 2 : 1, label_text_font_size: "12px" });
    figure.add_layout(figure.legend, "above");
  }
  if (mark !== undefined && Number.isFinite(mark)) {
    figure.add_layout(
      new Bokeh.Span({ location: mark, dimension: "height", line_color: cssColour("ink"), line_dash: "dashed" }),
    );
  }
  return figure;
}

// Training rows as thin bars at the bottom, on a scale of their own.
function drawDensity(model, place, figure) {
  const density = densityOf(model, place);
  if (!density) return;
  const most = Math.max(...density.counts);
  const height = density.counts.map((count) => Math.sqrt(count / most));
  figure.extra_y_ranges = { rows: new Bokeh.Range1d({ start: 0, end: 5 }) };
  const bars = figure.segment({
    x0: { field: "x" },
    x1: { field: "x" },
    y0: 0,
    y1: { field: "height" },
    source: newSource({ x: density.x, height }),
    line_width: 5,
    line_color: cssColour("muted"),
    line_alpha: 0.45,
    y_range_name: "rows",
  });
  for (const tool of figure.toolbar.tools) {
    if (tool instanceof Bokeh.HoverTool) tool.renderers = figure.renderers.filter((one) => one !== bars);
  }
}

// The levels of a category with their effects, and the missing value.
function levelsOf(model, place) {
  const table = model.levelsOf(place);
  if (!table) return null;
  const axis = table.axes[0];
  const names = [...(axis.names || Array.from(decoded(axis.points), (point) => shortNumber(point)))];
  const centred = (scores) => scores.map((score, p) => score - model.offset(place, p));
  const effects = names.map((_, i) => centred(table.scores.subarray(i * model.nProblems, (i + 1) * model.nProblems)));
  const counts = table.counts && [...table.counts];
  const missing = model.missingTerm(place);
  if (missing) {
    names.push("missing");
    effects.push(centred(missing.scores.subarray(0, model.nProblems)));
    if (counts) counts.push(missing.counts[0]);
  }
  return { names, effects, counts };
}

function drawLevels(model, place, problem) {
  const levels = levelsOf(model, place);
  if (!levels) return null;
  let order = levels.names.map((_, i) => i);
  order.sort((a, b) => Math.abs(levels.effects[b][problem]) - Math.abs(levels.effects[a][problem]));
  order = order.slice(0, MOST_LEVELS);
  order.sort((a, b) => levels.effects[a][problem] - levels.effects[b][problem]);
  const label = order.map((i, at) => `${shortened(levels.names[i], 28)}${"\u200b".repeat(at)}`);
  const effect = order.map((i) => levels.effects[i][problem]);
  const figure = newFigure({
    x: model.effectOn(problem),
    height: functionHeight(model, place),
    y_range: new Bokeh.FactorRange({ factors: label }),
    tooltips: [["level", "@name"], ["effect", "@effect{0.0000}"], ...(levels.counts ? [["training rows", "@rows"]] : [])],
  });
  const data = { label, effect, name: order.map((i) => levels.names[i]), fill: effect.map((f) => diverging(f < 0 ? -1 : 1)) };
  if (levels.counts) data.rows = order.map((i) => levels.counts[i]);
  figure.hbar({
    y: { field: "label" },
    right: { field: "effect" },
    left: 0,
    height: 0.7,
    source: newSource(data),
    fill_color: { field: "fill" },
    line_color: null,
  });
  return figure;
}

// Names of the places on an axis of a pair.
function placesOf(axis) {
  const points = decoded(axis.points);
  const places = decoded(axis.places);
  const names = Array.from({ length: axis.size + 1 }, () => "");
  points.forEach((point, i) => {
    if (Number.isInteger(places[i])) names[places[i]] = axis.names ? axis.names[i] : shortNumber(point);
  });
  names[axis.size] = "other";
  return names;
}

function drawPair(model, place, problem) {
  const pair = pairAt(model, place);
  if (!pair) return null;
  const sides = pair.axes.map((axis, side) =>
    placesOf(axis).map((name, i) => name || `${model.name(pair.columns[side])} ${i}`),
  );
  const unique = sides.map((names) => names.map((name, i) => `${shortened(name, 20)}${"\u200b".repeat(i)}`));
  const cells = { x: [], y: [], a: [], b: [], effect: [], fill: [] };
  const effectAt = (i, j) => pair.at(i, j, problem) - model.offset(place, problem);
  const all = sides[0].flatMap((_, i) => sides[1].map((__, j) => Math.abs(effectAt(i, j))));
  const largest = Math.max(...all) || 1;
  sides[0].forEach((a, i) => {
    sides[1].forEach((b, j) => {
      const effect = effectAt(i, j);
      cells.x.push(unique[0][i]);
      cells.y.push(unique[1][j]);
      cells.a.push(a);
      cells.b.push(b);
      cells.effect.push(effect);
      cells.fill.push(diverging(effect / largest));
    });
  });
  const figure = newFigure({
    x: shortened(model.name(pair.columns[0]), 40),
    y: shortened(model.name(pair.columns[1]), 40),
    height: functionHeight(model, place),
    x_range: new Bokeh.FactorRange({ factors: unique[0] }),
    y_range: new Bokeh.FactorRange({ factors: unique[1] }),
    tooltips: [["across", "@a"], ["up", "@b"], ["effect", "@effect{0.0000}"]],
  });
  figure.rect({ field: "x" }, { field: "y" }, 1, 1, {
    source: newSource(cells),
    fill_color: { field: "fill" },
    line_color: cssColour("paper"),
  });
  for (const axis of figure.xaxis) axis.major_label_orientation = 0.7;
  for (const grid of [...figure.xgrid, ...figure.ygrid]) grid.grid_line_color = null;
  return figure;
}

// The problem of a chart of levels or pairs, which shows one: the chosen one, or the strongest.
function problemOf(model, place, choice) {
  return Number.isInteger(Number(choice)) && choice !== "" ? Number(choice) : model.strongest[place];
}

function pairAt(model, place) {
  return (model.tables.get(place) || []).find((table) => table instanceof PairTerm);
}

function functionHeight(model, place) {
  const kind = model.kind(place);
  if (kind === "number") return 320;
  if (kind === "category") {
    const levels = levelsOf(model, place);
    return 70 + 22 * Math.min(MOST_LEVELS, levels ? levels.names.length : 0);
  }
  const pair = pairAt(model, place);
  return Math.max(260, 90 + 24 * (pair ? placesOf(pair.axes[1]).length : 0));
}

function drawFunction(model, place, choice, mark) {
  const kind = model.kind(place);
  if (kind === "number") return drawCurve(model, place, choice, mark);
  const problem = problemOf(model, place, choice);
  return kind === "category" ? drawLevels(model, place, problem) : drawPair(model, place, problem);
}

// A small picture of the strongest curve, as a path of an SVG of 100 by 28.
function sparkline(model, place) {
  let values = null;
  if (model.kind(place) === "number") {
    const curve = curveOf(model, place);
    if (curve) {
      const i = Math.max(0, curve.problems.indexOf(model.strongest[place]));
      const [low, high] = [curve.x[0], curve.x[curve.x.length - 1]];
      values = curve.x.map((x, k) => [high > low ? (x - low) / (high - low) : 0.5, curve.f[i][k]]);
    }
  } else if (model.kind(place) === "category") {
    const levels = levelsOf(model, place);
    const last = levels ? Math.max(1, levels.names.length - 1) : 1;
    values = levels && levels.effects.map((effect, k) => [k / last, effect[model.strongest[place]]]);
  }
  if (!values || values.length < 2) return null;
  const isCategory = model.kind(place) === "category";
  const effects = values.map(([, f]) => f).concat(isCategory ? [0] : []);
  const [least, most] = [Math.min(...effects), Math.max(...effects)];
  const across = (x) => (x * 96 + 2).toFixed(1);
  const up = (f) => (26 - ((f - least) / (most - least || 1)) * 24).toFixed(1);
  if (isCategory) return values.map(([x, f]) => `M${across(x)} ${up(0)}V${up(f)}`).join("");
  return values.map(([x, f], k) => `${k ? "L" : "M"}${across(x)} ${up(f)}`).join("");
}
