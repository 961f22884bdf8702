// Charts by Bokeh. Each is drawn when it comes into view, again when the colours change, and all before printing.
const PALETTE = {
  // Okabe and Ito's colours, which the colour-blind can tell apart, darker or lighter to suit the background.
  light: ["#0072b2", "#b34700", "#00755a", "#a3457c", "#8a6500", "#2b7fa8", "#5a5a5a"],
  dark: ["#56b4e9", "#f0883e", "#2fc49b", "#e59ac6", "#e6c229", "#9ecbe8", "#b8b8b8"],
};
const DASHES = ["solid", "dashed", "dotted", "dotdash"];
// What speaks against a class, nothing, and what speaks for it: as in the displays, and in the style sheet.
const DIVERGING = {
  light: ["#b34700", "#f4f4f4", "#0072b2"],
  dark: ["#f0883e", "#2a2e33", "#56b4e9"],
};

const darkScheme = window.matchMedia("(prefers-color-scheme: dark)");

function scheme() {
  return darkScheme.matches ? "dark" : "light";
}

function cssColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function colour(number) {
  const colours = PALETTE[scheme()];
  return colours[number % colours.length];
}

function dash(number) {
  return DASHES[Math.floor(number / PALETTE.light.length) % DASHES.length];
}

// The colour of a value between −1 and 1.
function diverging(value) {
  const stops = DIVERGING[scheme()].map((text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)));
  const [from, to] = value < 0 ? [stops[1], stops[0]] : [stops[1], stops[2]];
  const share = Math.min(1, Math.abs(value));
  return `rgb(${from.map((part, i) => Math.round(part + share * (to[i] - part))).join(",")})`;
}

function shortNumber(value) {
  if (value === null || Number.isNaN(value)) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  return String(Number(value.toPrecision(4))).replace("-", "−");
}

// Text of a chart: not too long, and no formula, whatever it contains.
function shortened(text, length) {
  const letters = [...text];
  const short = letters.length > length ? `${letters.slice(0, length - 1).join("")}…` : text;
  return short.replaceAll("$$", "$\u200b$").replace(/\\([()[\]])/g, "\\\u200b$1");
}

class Charts {
  constructor() {
    this.all = new Map();
    this.observer = new IntersectionObserver(
      (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => this.draw(entry.target)),
      { rootMargin: "100px" },
    );
    darkScheme.addEventListener("change", () => this.redraw());
    window.addEventListener("beforeprint", () => this.all.forEach((_, element) => this.draw(element)));
  }

  // Draw a chart in an element when it is seen; `make` returns a Bokeh figure, or null for none. The element is as high as
  // the chart from the start: what lies below must not move away from a click.
  add(element, make, height = 260) {
    if (!element) return;
    this.remove(element);
    element.style.minHeight = `${height}px`;
    this.all.set(element, { make, height, view: null });
    this.observer.observe(element);
  }

  // Draw the chart of an element that is in view already.
  replace(element, make, height) {
    this.add(element, make, height);
    this.draw(element);
  }

  draw(element) {
    const chart = this.all.get(element);
    if (!chart || chart.view) return;
    this.observer.unobserve(element);
    const figure = chart.make();
    if (!figure) return;
    chart.view = Bokeh.Plotting.show(figure, element);
  }

  remove(element) {
    const chart = this.all.get(element);
    if (chart && chart.view) chart.view.then((view) => view.remove());
    this.all.delete(element);
    element.replaceChildren();
  }

  redraw() {
    for (const [element, { make, height, view }] of [...this.all]) {
      if (view) this.replace(element, make, height);
    }
  }
}

function newFigure(options) {
  const { x = "", y = "", tooltips, height = 260, ...rest } = options;
  const ink = cssColour("ink");
  const line = cssColour("line");
  const figure = Bokeh.Plotting.figure({
    height,
    sizing_mode: "stretch_width",
    toolbar_location: null,
    tools: tooltips ? [new Bokeh.HoverTool({ tooltips, ...(options.hover || {}) })] : [],
    background_fill_color: null,
    border_fill_color: null,
    outline_line_color: null,
    ...Object.fromEntries(Object.entries(rest).filter(([key]) => key !== "hover")),
  });
  const style = {
    axis_label_text_color: ink,
    major_label_text_color: ink,
    axis_label_text_font_style: "normal",
    axis_line_color: line,
    major_tick_line_color: line,
    minor_tick_line_color: null,
  };
  for (const axis of figure.xaxis) axis.setv({ ...style, axis_label: x });
  for (const axis of figure.yaxis) axis.setv({ ...style, axis_label: y });
  for (const grid of [...figure.xgrid, ...figure.ygrid]) grid.grid_line_color = line;
  return figure;
}

function styleLegend(figure, options = {}) {
  const legend = figure.legend;
  legend.setv({
    background_fill_color: cssColour("paper"),
    background_fill_alpha: 0.8,
    border_line_color: null,
    label_text_color: cssColour("ink"),
    ...options,
  });
}

function newSource(data) {
  return new Bokeh.ColumnDataSource({ data });
}

function diagonal(figure) {
  figure.line([0, 1], [0, 1], { line_color: cssColour("muted"), line_dash: "dashed" });
}

function drawRoc(curve) {
  const figure = newFigure({
    x: "False positive rate",
    y: "True positive rate",
    tooltips: [["false positive rate", "@x{0.000}"], ["true positive rate", "@y{0.000}"]],
  });
  diagonal(figure);
  const [x, y] = curve.roc;
  figure.line({ field: "x" }, { field: "y" }, { source: newSource({ x, y }), line_width: 2, line_color: colour(0) });
  return figure;
}

function drawPrecision(curve) {
  const figure = newFigure({
    x: "Recall",
    y: "Precision",
    tooltips: [["recall", "@x{0.000}"], ["precision", "@y{0.000}"]],
    y_range: [0, 1.02],
  });
  const [x, y] = curve.precision;
  figure.line({ field: "x" }, { field: "y" }, { source: newSource({ x, y }), line_width: 2, line_color: colour(0) });
  return figure;
}

function drawCalibration(curve) {
  const figure = newFigure({
    x: "Predicted probability",
    y: "Share of rows of the class",
    tooltips: [["predicted", "@x{0.000}"], ["share", "@y{0.000}"], ["rows", "@rows"]],
  });
  diagonal(figure);
  const [x, y, rows] = curve.calibration;
  const source = newSource({ x, y, rows });
  figure.line({ field: "x" }, { field: "y" }, { source, line_width: 2, line_color: colour(0) });
  figure.scatter({ field: "x" }, { field: "y" }, { source, size: 8, color: colour(0) });
  return figure;
}

function drawDots({ dots }) {
  const [x, y] = dots;
  const figure = newFigure({ x: "True value", y: "Prediction", tooltips: [["true", "@x"], ["predicted", "@y"]] });
  const ends = [Math.min(...x), Math.max(...x)];
  figure.line(ends, ends, { line_color: cssColour("muted"), line_dash: "dashed" });
  figure.scatter({ field: "x" }, { field: "y" }, { source: newSource({ x, y }), size: 5, alpha: 0.5, color: colour(0) });
  return figure;
}

function drawErrors({ errors }) {
  const [edges, rows] = errors;
  const source = newSource({ left: edges.slice(0, -1), right: edges.slice(1), rows, zero: rows.map(() => 0) });
  const figure = newFigure({
    x: "Prediction − true value",
    y: "Rows",
    tooltips: [["from", "@left"], ["to", "@right"], ["rows", "@rows"]],
  });
  figure.quad({ field: "left" }, { field: "right" }, { field: "zero" }, { field: "rows" }, {
    source,
    fill_color: colour(0),
    line_color: cssColour("paper"),
  });
  return figure;
}

function drawConvergence(histories, problems, bySeconds) {
  const measure = histories[0].measure === "gap" ? "Duality gap" : "Mean loss";
  const figure = newFigure({
    x: bySeconds ? "Seconds" : "Epoch",
    y: measure,
    y_axis_type: "log",
    tooltips: [["problem", "@name"], [bySeconds ? "seconds" : "epoch", "@x"], [measure.toLowerCase(), "@y"]],
  });
  histories.forEach((history, i) => {
    const x = bySeconds ? history.seconds : history.epoch;
    const name = x.map(() => problems[history.problem] ?? String(history.problem));
    const source = newSource({ x, y: history.value, name });
    const style = { source, line_color: colour(i), line_dash: dash(i), line_width: 2 };
    figure.line({ field: "x" }, { field: "y" }, style);
    if (x.length === 1) figure.scatter({ field: "x" }, { field: "y" }, { source, size: 8, color: colour(i) });
  });
  return figure;
}

const IMPORTANT = 15; // features in the chart of importance, at most

function importanceHeight(model) {
  return 60 + 22 * Math.min(IMPORTANT, model.size);
}

function drawImportance(model) {
  const places = [...Array(Math.min(IMPORTANT, model.size)).keys()].reverse();
  const label = (place) => `${place + 1}. ${shortened(model.name(place), 24)}`;
  const data = {
    y: places.map(label),
    right: places.map((place) => model.importance[place]),
    name: places.map((place) => model.name(place)),
  };
  const figure = newFigure({
    x: "Importance",
    height: importanceHeight(model),
    y_range: new Bokeh.FactorRange({ factors: data.y }),
    x_range: new Bokeh.DataRange1d({ start: 0 }),
    tooltips: [["feature", "@name"], ["importance", "@right{0.0000}"]],
  });
  figure.hbar({
    y: { field: "y" },
    right: { field: "right" },
    left: 0,
    height: 0.7,
    source: newSource(data),
    fill_color: colour(0),
    line_color: null,
  });
  for (const grid of figure.ygrid) grid.grid_line_color = null;
  return figure;
}

const LABEL_PIXELS = 14;
const LABEL_ROOM = 150; // of the labels of an axis, and its name

// Class names on an axis of so many pixels: all of them, or every second, third, ... as many as it has room for.
function nameTicks(axis, names, pixels) {
  const step = Math.max(1, Math.ceil((names.length * LABEL_PIXELS) / Math.max(LABEL_PIXELS, pixels - LABEL_ROOM)));
  const ticks = names.map((_, i) => i).filter((i) => i % step === 0);
  axis.ticker = new Bokeh.FixedTicker({ ticks, minor_ticks: [] });
  axis.major_label_overrides = new Map(ticks.map((i) => [i, shortened(names[i], 16)]));
  axis.major_label_text_font_size = "11px";
}

function confusionHeight(names) {
  return clamp(names.length * LABEL_PIXELS + LABEL_ROOM, 480, 960);
}

function drawConfusion(confusion, names, width) {
  const rows = decoded(confusion);
  const n = names.length;
  const cells = { x: [], y: [], true: [], found: [], rows: [], fill: [] };
  const totals = Array.from({ length: n }, (_, i) => rows.subarray(i * n, (i + 1) * n).reduce((a, b) => a + b, 0));
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      const count = rows[i * n + j];
      if (!count) continue;
      cells.x.push(j);
      cells.y.push(i);
      cells.true.push(names[i]);
      cells.found.push(names[j]);
      cells.rows.push(count);
      cells.fill.push(diverging((i === j ? 1 : -1) * Math.sqrt(count / Math.max(1, totals[i]))));
    }
  }
  const height = confusionHeight(names);
  const figure = newFigure({
    x: "Predicted class",
    y: "True class",
    height,
    tooltips: [["true", "@true"], ["predicted", "@found"], ["rows", "@rows"]],
    x_range: [-0.5, n - 0.5],
    y_range: [n - 0.5, -0.5],
  });
  figure.rect({ field: "x" }, { field: "y" }, 1, 1, { source: newSource(cells), fill_color: { field: "fill" }, line_color: null });
  for (const axis of figure.xaxis) {
    nameTicks(axis, names, width);
    axis.major_label_orientation = "vertical";
  }
  for (const axis of figure.yaxis) nameTicks(axis, names, height);
  for (const grid of [...figure.xgrid, ...figure.ygrid]) grid.grid_line_color = null;
  return figure;
}
