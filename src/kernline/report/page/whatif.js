// What if: a row whose values can be changed, its decision, and the part of each feature in it.
const FIRST_CONTROLS = 12;
const MOST_FOUND = 8;
const MOST_SCORES = 6;

class WhatIf {
  constructor(model, data, charts) {
    this.model = model;
    this.data = data;
    this.charts = charts;
    this.rows = data.rows.map((row) => new Row(model, row));
    this.rowChoice = document.getElementById("row-choice");
    this.classChoice = document.getElementById("row-class");
    this.search = document.getElementById("row-search");
    this.list = document.getElementById("row-parts");
    this.controls = new Map();
    data.rows.forEach((row, i) => this.rowChoice.append(newElement("option", { value: String(i) }, row.label)));
    if (this.classChoice) {
      model.problems.forEach((name, p) => this.classChoice.append(newElement("option", { value: String(p) }, name)));
      this.classChoice.addEventListener("change", () => this.listParts());
    }
    this.rowChoice.addEventListener("change", () => this.choose(Number(this.rowChoice.value)));
    document.getElementById("row-reset").addEventListener("click", () => this.reset());
    document.getElementById("row-more").addEventListener("click", () => this.showMore());
    this.search.addEventListener("input", () => this.find());
    this.choose(0);
  }

  get problem() {
    return this.classChoice ? Number(this.classChoice.value) : 0;
  }

  get outcome() {
    return this.data.task === "regression" ? "prediction" : "score";
  }

  choose(number) {
    this.row = this.rows[number];
    this.rowChoice.value = String(number);
    this.row.reset();
    if (this.classChoice) this.classChoice.value = String(this.best(this.row.scores()));
    this.listParts();
  }

  reset() {
    this.row.reset();
    this.listParts();
  }

  best(scores) {
    return scores.indexOf(Math.max(...scores));
  }

  // Controls for the features with the largest parts.
  listParts() {
    const parts = this.row.parts();
    const strength = (place) => Math.abs(parts.get(place)[this.problem]);
    this.order = [...parts.keys()].filter((place) => this.model.isColumn(place) || strength(place) > 0);
    this.order.sort((a, b) => strength(b) - strength(a) || a - b);
    this.controls.clear();
    this.list.replaceChildren();
    this.showMore();
    this.find();
  }

  showMore() {
    const shown = this.order.filter((place) => !this.controls.has(place)).slice(0, FIRST_CONTROLS);
    shown.forEach((place) => this.addControl(place));
    document.getElementById("row-more").hidden = this.order.every((place) => this.controls.has(place));
    this.update();
  }

  addControl(place, first = false) {
    if (this.controls.has(place)) return;
    const control = new Control(this, place);
    this.controls.set(place, control);
    if (first) this.list.prepend(control.element);
    else this.list.append(control.element);
  }

  // Features by name, to add their controls.
  find() {
    const wanted = this.search.value.trim().toLowerCase();
    const found = [];
    const { model } = this;
    for (let place = 0; wanted && place < model.size && found.length < MOST_FOUND; place++) {
      if (model.isColumn(place) && model.exact[place] && model.name(place).toLowerCase().includes(wanted)) found.push(place);
    }
    const items = found.map((place) => {
      const button = newElement("button", { type: "button" }, "Change ", nameElement(model.name(place)));
      button.addEventListener("click", () => {
        this.row.touched.add(place);
        this.addControl(place, true);
        this.update();
        this.controls.get(place).focus();
      });
      return newElement("li", {}, button);
    });
    const none = wanted && !items.length ? [newElement("li", {}, "No feature that can be changed here has this name.")] : [];
    document.getElementById("row-found").replaceChildren(...items, ...none);
  }

  changed(place, value) {
    this.row.set(place, value);
    this.update();
  }

  update() {
    const parts = this.row.parts();
    const scores = this.row.scores(parts);
    const { problem, model } = this;
    let largest = 0;
    for (const part of parts.values()) largest = Math.max(largest, Math.abs(part[problem]));
    let listed = 0;
    for (const [place, control] of this.controls) {
      const part = parts.has(place) ? parts.get(place)[problem] : 0;
      listed += part;
      control.show(part * model.units[problem], largest ? part / largest : 0);
    }
    const others = scores[problem] / model.units[problem] - model.intercepts[problem] - listed;
    document.getElementById("row-others").textContent =
      `All other features: ${signed(others * model.units[problem])}. ` +
      `${model.isCentred ? `Mean ${this.outcome} of the training rows` : "Intercept"}: ${signed(model.intercepts[problem] * model.units[problem])}.`;
    this.showScores(scores);
  }

  showScores(scores) {
    const output = document.getElementById("row-decision");
    const { classes, task } = this.data;
    const best = task === "binary" ? Number(scores[0] > 0) : this.best(scores);
    const shown = task === "regression" ? this.problem : task === "binary" ? 0 : best;
    const text = task === "regression" ? "Prediction: " : "Decision: ";
    const scored = nameElement(this.model.problems[shown]);
    const label = task === "regression" ? [] : [nameElement(classes[best]), ", score of ", scored, " "];
    output.replaceChildren(text, ...label, newElement("strong", {}, fixed(scores[shown], 6)));
    output.dataset.scores = JSON.stringify([...scores]);
    const original = this.row.data.scores;
    const list = document.getElementById("row-scores");
    if (!list) return;
    const order = [...scores.keys()].sort((a, b) => scores[b] - scores[a]).slice(0, MOST_SCORES);
    list.replaceChildren(
      ...order.map((p) =>
        newElement(
          "tr",
          {},
          newElement("th", { scope: "row" }, nameElement(this.model.problems[p])),
          newElement("td", { class: "number" }, fixed(scores[p], 6)),
          newElement("td", { class: "number" }, signed(scores[p] - original[p])),
        ),
      ),
    );
  }
}

// A number with so many digits after the point; large ones have an exponent, as their digits would widen the page.
function fixed(value, digits) {
  return Math.abs(value) < 1e9 ? value.toFixed(digits) : value.toExponential(digits);
}

function signed(value) {
  const rounded = fixed(value, 4);
  if (Number(rounded) === 0) return "0.0000";
  return value < 0 ? rounded.replace("-", "−") : `+${rounded}`;
}

// One feature: its value, how to change it, and its part.
class Control {
  constructor(owner, place) {
    this.owner = owner;
    this.place = place;
    this.model = owner.model;
    this.id = `part-${place}`;
    this.part = newElement("span", { class: "part number" });
    this.bar = newElement("span", { class: "signed-bar", "aria-hidden": "true" });
    this.fields = this.newFields();
    const name = newElement("span", { class: "part-name", id: `${this.id}-name` }, nameElement(this.model.name(place)));
    this.element = newElement(
      "li",
      { class: "control" },
      name,
      newElement("span", { class: "fields" }, ...this.fields),
      newElement("span", { class: "signed-track" }, this.bar),
      this.part,
    );
  }

  get value() {
    return this.owner.row.values[this.place];
  }

  focus() {
    if (this.fields.length) this.fields[0].focus();
  }

  newFields() {
    if (!this.model.isColumn(this.place)) return [newElement("span", { class: "note" }, "follows its two features")];
    if (!this.model.isNumber[this.place]) return this.levelFields();
    return this.isZeroOrOne() ? this.choiceOf([0, 1], ["0", "1"]) : this.numberFields();
  }

  // Whether the training rows have 0 and 1 only, as of a flag. Values beyond them must not count, or they can be typed.
  isZeroOrOne() {
    const { model, place } = this;
    const known = (x) => x === 0 || x === 1;
    if (!model.functions.clips || model.valueAt(place, 1) !== 1 || !(known(this.value) || Number.isNaN(this.value))) return false;
    const booleans = decoded(model.functions.booleans);
    if (booleans) return Boolean(booleans[model.column[place]]);
    const density = densityOf(model, place);
    return density !== null && density.x.length === 2 && density.x.every(known);
  }

  numberFields() {
    const { low, high } = this.range();
    const label = `${this.model.name(this.place)}`;
    const slider = newElement("input", { type: "range", step: "any", min: String(low), max: String(high), "aria-label": label });
    const number = newElement("input", { type: "number", step: "any", "aria-label": `${label}, as a number` });
    const show = () => {
      slider.value = String(Number.isNaN(this.value) ? low : this.value);
      number.value = Number.isNaN(this.value) ? "" : String(this.value);
    };
    slider.addEventListener("input", () => {
      number.value = slider.value;
      this.owner.changed(this.place, Number(slider.value));
    });
    number.addEventListener("input", () => {
      if (number.value === "" && !this.model.readsMissing(this.place)) return;
      const value = number.value === "" ? NaN : Number(number.value);
      if (!Number.isNaN(value)) slider.value = String(value);
      this.owner.changed(this.place, value);
    });
    if (this.model.readsMissing(this.place)) number.placeholder = "missing";
    show();
    return [slider, number];
  }

  range() {
    const { model, place } = this;
    let [low, high] = model.limits(place) || [model.valueAt(place, 0), model.valueAt(place, 1)];
    if (!model.functions.clips) [low, high] = linearRange(model, place);
    const own = this.value;
    if (Number.isFinite(own)) [low, high] = [Math.min(low, own), Math.max(high, own)];
    return { low, high };
  }

  levelFields() {
    const levels = this.model.levelsOf(this.place);
    const axis = levels ? levels.axes[0] : { points: null, names: [] };
    const points = Array.from(decoded(axis.points) || []);
    const names = axis.names || points.map(shortNumber);
    const unseen = points.length ? Math.max(...points) + 1 : 0;
    return this.choiceOf([...points, unseen], [...names, "(another level)"]);
  }

  // A list of values to choose from; one that it does not have is shown as the last.
  choiceOf(values, names) {
    const select = newElement("select", { "aria-label": this.model.name(this.place) });
    names.forEach((name, i) => select.append(newElement("option", { value: String(values[i]) }, name)));
    if (this.model.readsMissing(this.place)) select.append(newElement("option", { value: "NaN" }, "(missing)"));
    const known = values.includes(this.value);
    select.value = Number.isNaN(this.value) ? "NaN" : String(known ? this.value : values[values.length - 1]);
    select.addEventListener("change", () => this.owner.changed(this.place, Number(select.value)));
    return [select];
  }

  show(part, share) {
    this.part.textContent = signed(part);
    this.bar.style.width = `${(50 * Math.min(1, Math.abs(share))).toFixed(1)}%`;
    this.bar.classList.toggle("negative", part < 0);
  }
}
