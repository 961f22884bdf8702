// The list of features: search, sort, pages, and the chart of the chosen one.
const PAGE_ROWS = 15;

function newElement(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class" || key.includes("-") || key === "role" || key === "for") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children);
  return element;
}

// A name as text that does not change the direction of what is around it.
function nameElement(text) {
  return newElement("bdi", {}, text);
}

function newSparkline(path, isBars) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 100 28");
  svg.setAttribute("class", isBars ? "sparkline bars" : "sparkline");
  svg.setAttribute("aria-hidden", "true");
  if (path) {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    line.setAttribute("d", path);
    svg.append(line);
  }
  return svg;
}

class FeatureList {
  constructor(model, charts) {
    this.model = model;
    this.charts = charts;
    this.body = document.querySelector("#feature-list tbody");
    this.search = document.getElementById("feature-search");
    this.choice = document.getElementById("feature-class");
    this.status = document.getElementById("feature-count");
    this.sort = { key: "importance", ascending: false };
    this.page = 0;
    this.chosen = 0;
    this.places = [...Array(model.size).keys()];
    this.largest = model.importance.reduce((a, b) => Math.max(a, b), 0) || 1;
    this.connect();
    this.update();
    this.choose(0);
  }

  connect() {
    this.search.addEventListener("input", () => this.update());
    for (const button of document.querySelectorAll("#feature-list th button")) {
      button.addEventListener("click", () => this.sortBy(button.dataset.key));
    }
    document.getElementById("feature-previous").addEventListener("click", () => this.turn(-1));
    document.getElementById("feature-next").addEventListener("click", () => this.turn(1));
    if (this.choice) {
      this.model.problems.forEach((name, p) => this.choice.append(newElement("option", { value: String(p) }, name)));
      this.choice.addEventListener("change", () => this.draw());
    }
  }

  lowerNames() {
    this.lower = this.lower || this.places.map((place) => this.model.name(place).toLowerCase());
    return this.lower;
  }

  update() {
    const wanted = this.search.value.trim().toLowerCase();
    const all = [...Array(this.model.size).keys()];
    this.places = all;
    this.places = wanted ? all.filter((place) => this.lowerNames()[place].includes(wanted)) : all;
    this.order();
    this.page = 0;
    this.render();
  }

  order() {
    const { key, ascending } = this.sort;
    if (key === "importance") {
      if (ascending) this.places.reverse();
      return;
    }
    const sign = ascending ? 1 : -1;
    const collator = new Intl.Collator(undefined, { numeric: true });
    const compare = {
      name: (a, b) => collator.compare(this.model.name(a), this.model.name(b)),
      number: (a, b) => this.model.numbers[a] - this.model.numbers[b],
    }[key];
    this.places.sort((a, b) => sign * compare(a, b));
  }

  sortBy(key) {
    const same = this.sort.key === key;
    this.sort = { key, ascending: same ? !this.sort.ascending : key !== "importance" };
    for (const button of document.querySelectorAll("#feature-list th button")) {
      const direction = this.sort.ascending ? "ascending" : "descending";
      button.closest("th").setAttribute("aria-sort", button.dataset.key === key ? direction : "none");
    }
    this.update();
  }

  turn(step) {
    const last = Math.max(0, Math.ceil(this.places.length / PAGE_ROWS) - 1);
    this.page = clamp(this.page + step, 0, last);
    this.render();
  }

  render() {
    const first = this.page * PAGE_ROWS;
    const shown = this.places.slice(first, first + PAGE_ROWS);
    this.body.replaceChildren(...shown.map((place) => this.row(place)));
    const end = first + shown.length;
    const total = this.places.length;
    this.status.textContent = total ? `${first + 1}–${end} of ${total.toLocaleString("en")}` : "No feature has this name.";
    document.getElementById("feature-previous").disabled = this.page === 0;
    document.getElementById("feature-next").disabled = end >= total;
  }

  row(place) {
    const button = newElement("button", { type: "button", class: "link" }, nameElement(this.model.name(place)));
    button.setAttribute("aria-pressed", String(place === this.chosen));
    button.dataset.place = place;
    button.addEventListener("click", () => this.choose(place));
    const share = this.model.importance[place] / this.largest;
    const bar = newElement("span", { class: "bar", "aria-hidden": "true" });
    bar.style.width = `${(100 * share).toFixed(1)}%`;
    const value = newElement("span", {}, this.model.importance[place].toPrecision(3));
    return newElement(
      "tr",
      {},
      newElement("td", { class: "number" }, this.model.isColumn(place) ? String(this.model.numbers[place]) : "pair"),
      newElement("th", { scope: "row" }, button),
      newElement("td", { class: "with-bar" }, value, newElement("span", { class: "track" }, bar)),
      newElement("td", {}, newSparkline(sparkline(this.model, place), this.model.kind(place) === "category")),
    );
  }

  choose(place) {
    this.chosen = place;
    for (const button of this.body.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.place) === place));
    }
    this.draw();
  }

  draw() {
    const place = this.chosen;
    const { model } = this;
    document.getElementById("feature-name").replaceChildren(nameElement(model.name(place)));
    const kinds = { number: "A number", category: "A category", pair: "A pair of features" };
    const form = { 1: "exact", 0: `drawn from rounded points, for its strongest ${model.task === "regression" ? "outputs" : "classes"}` }[model.exact[place]];
    const choice = this.choice ? this.choice.value : "strongest";
    const shown = model.kind(place) === "number" ? undefined : problemOf(model, place, choice);
    const effect = model.effectOn(model.nProblems > 1 ? shown : 0);
    document.getElementById("feature-facts").textContent =
      `${kinds[model.kind(place)]}. Rank ${place + 1} of ${model.functions.nFunctions.toLocaleString("en")} by importance` +
      ` (${model.importance[place].toPrecision(3)}). ${effect}.${model.isComplete ? "" : ` The curve is ${form}.`}`;
    const chart = document.getElementById("feature-chart");
    chart.setAttribute("aria-label", `${model.name(place)}: ${effect}. The table below has the numbers.`);
    this.charts.add(chart, () => drawFunction(model, place, choice), functionHeight(model, place));
    document.getElementById("density-note").hidden = model.kind(place) !== "number" || !densityOf(model, place);
    this.fillTable(place, choice);
  }

  // The chart as a table, for those who do not see it.
  fillTable(place, choice) {
    const { model } = this;
    const head = document.querySelector("#feature-table thead");
    const body = document.querySelector("#feature-table tbody");
    const { columns, rows } = functionTable(model, place, choice);
    const cells = columns.map((name) => newElement("th", { scope: "col" }, nameElement(name)));
    head.replaceChildren(newElement("tr", {}, ...cells));
    body.replaceChildren(
      ...rows.map(([name, ...values]) =>
        newElement(
          "tr",
          {},
          newElement("th", { scope: "row" }, nameElement(name)),
          ...values.map((value) => newElement("td", { class: "number" }, shortNumber(value))),
        ),
      ),
    );
  }
}

const TABLE_ROWS = 20;
const TABLE_COLUMNS = 12;

function functionTable(model, place, choice) {
  const kind = model.kind(place);
  if (kind === "number") {
    const curve = curveOf(model, place);
    if (!curve) return { columns: ["Value"], rows: [] };
    const shown = shownProblems(curve, choice).slice(0, TABLE_COLUMNS);
    const step = Math.ceil(curve.x.length / TABLE_ROWS);
    const at = curve.x.map((_, i) => i).filter((i) => i % step === 0 || i === curve.x.length - 1);
    return {
      columns: ["Value", ...shown.map((i) => model.problems[curve.problems[i]])],
      rows: at.map((i) => [shortNumber(curve.x[i]), ...shown.map((p) => curve.f[p][i])]),
    };
  }
  if (kind === "category") {
    const levels = levelsOf(model, place);
    const shown = model.problems.map((_, p) => p).slice(0, TABLE_COLUMNS);
    const counted = levels && levels.counts ? ["Training rows"] : [];
    const counts = (i) => (counted.length ? [levels.counts[i]] : []);
    const effects = (i) => shown.map((p) => levels.effects[i][p]);
    const rows = levels ? levels.names.map((name, i) => [name, ...counts(i), ...effects(i)]) : [];
    return { columns: ["Level", ...counted, ...shown.map((p) => model.problems[p])], rows };
  }
  const pair = pairAt(model, place);
  if (!pair) return { columns: ["Value"], rows: [] };
  const problem = problemOf(model, place, choice);
  const [across, up] = pair.axes.map(placesOf);
  const effect = (i, j) => pair.at(i, j, problem) - model.offset(place, problem);
  return { columns: ["", ...up], rows: across.map((name, i) => [name, ...up.map((_, j) => effect(i, j))]) };
}
