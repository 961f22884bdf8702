// Start: connect the parts of the page with its data.
function connectClassCurves(data, charts) {
  const choice = document.getElementById("curve-class");
  const draw = () => {
    const curve = data.curves[choice ? Number(choice.value) : 0];
    charts.add(document.getElementById("roc-chart"), () => drawRoc(curve));
    charts.add(document.getElementById("precision-chart"), () => drawPrecision(curve));
    if (curve.calibration) charts.add(document.getElementById("calibration-chart"), () => drawCalibration(curve));
  };
  if (choice) {
    data.curves.forEach((curve, i) => choice.append(newElement("option", { value: String(i) }, curve.name)));
    choice.addEventListener("change", draw);
  }
  draw();
}

function connectRegression(data, charts) {
  data.regression.forEach((output, k) => {
    charts.add(document.getElementById(`dots-chart-${k}`), () => drawDots(output));
    charts.add(document.getElementById(`errors-chart-${k}`), () => drawErrors(output));
  });
}

function connectConvergence(data, charts) {
  const chart = document.getElementById("convergence-chart");
  const choice = document.getElementById("convergence-by");
  const draw = () =>
    charts.add(chart, () => drawConvergence(data.convergence, data.problems, choice && choice.value === "seconds"));
  if (choice) choice.addEventListener("change", draw);
  draw();
}

// Links from rows with errors to "What if".
function connectRows(whatIf) {
  for (const button of document.querySelectorAll("button[data-row]")) {
    button.addEventListener("click", () => {
      whatIf.choose(Number(button.dataset.row));
      const heading = document.getElementById("what-if-heading");
      heading.scrollIntoView();
      document.getElementById("row-choice").focus();
    });
  }
}

function start() {
  const data = readData("report-data");
  Bokeh.logger.set_level("off"); // set_log_level would log that it was called
  const charts = new Charts();
  if (data.curves && data.curves.length) connectClassCurves(data, charts);
  if (data.regression) connectRegression(data, charts);
  if (data.confusion) {
    const chart = document.getElementById("confusion-chart");
    charts.add(chart, () => drawConfusion(data.confusion, data.labels, chart.clientWidth), confusionHeight(data.labels));
  }
  if (data.convergence.length) connectConvergence(data, charts);
  if (data.functions) {
    const model = new Model(data);
    model.seen = (place) => data.rows.length ? whatIfValues(model, data.rows, place) : [];
    charts.add(document.getElementById("importance-chart"), () => drawImportance(model), importanceHeight(model));
    new FeatureList(model, charts);
    if (data.rows.length) connectRows(new WhatIf(model, data, charts));
  }
  document.documentElement.dataset.ready = "yes";
  performance.mark("ready");
}

// The values of a column in the rows of the page.
function whatIfValues(model, rows, place) {
  return rows.map((row) => {
    const at = decoded(row.columns).indexOf(place);
    return at < 0 || row.values[at] === null ? 0 : row.values[at];
  });
}

start();
