"use strict";
(() => {
  const data = JSON.parse(document.getElementById("page-data").textContent);
  const NS = "http://www.w3.org/2000/svg";
  const comma = (value, places) =>
    value.toLocaleString("en-US", {
      minimumFractionDigits: places, maximumFractionDigits: places, roundingMode: "halfEven",
    });

  function number(value) {
    if (value === null || Number.isNaN(value)) return "–";
    const size = Math.abs(value);
    let words = comma(value, size < 10 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0);
    if (size > 0 && size < 0.0005) words = value.toExponential(1);
    if (size >= 1e7) words = String(Number(value.toPrecision(3)).toExponential()).replace("+", "");
    return words.replaceAll("-", "−");
  }
  const count = (value) => comma(value, Number.isInteger(value) ? 0 : 1);
  const part = (some, all) => (all ? some / all : null);
  function share(some, all) {
    if (!all) return "–";
    const percent = (100 * some) / all;
    return comma(percent, percent > 0 && percent < 1 ? 2 : 1).replaceAll(",", "") + " %";
  }

  function makeTip(plot) {
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    plot.append(tip);
    return tip;
  }

  function pointsOf(chart) {
    const [left, right, bottom, top] = chart.frame;
    const at = (value, [low, high], isLog) =>
      isLog ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : (value - low) / (high - low);
    const across = (value) => left + at(value, chart.x, chart.log[0]) * (right - left);
    const up = (value) => bottom + at(value, chart.y, chart.log[1]) * (top - bottom);
    const inside = (y) => y >= top - 1 && y <= bottom + 1;
    return chart.series.flatMap((series, which) =>
      series.x.map((x, place) => ({ series, which, place, x: across(x), y: up(series.y[place]) }))
    ).filter((point) => inside(point.y));
  }

  function nearest(points, x, y) {
    let best = null, least = Infinity;
    for (const point of points) {
      const away = (point.x - x) ** 2 + (point.y - y) ** 2;
      if (away < least) [best, least] = [point, away];
    }
    return best;
  }

  function describe(chart, point) {
    const { series, place } = point;
    const x = chart.names.length ? chart.names[series.x[place]] : number(series.x[place]);
    const lines = [`${chart.words[0]} ${x}`, `${chart.words[1]} ${number(series.y[place])}`];
    if (chart.words[2] && series.third.length) {
      const third = series.third[place];
      lines.push(`${chart.words[2]} ${third === null ? "above every score" : number(third)}`);
    }
    return lines;
  }

  function show(svg, tip, cursor, chart, point) {
    cursor.setAttribute("cx", point.x);
    cursor.setAttribute("cy", point.y);
    cursor.parentNode.removeAttribute("visibility");
    const name = document.createElement("b");
    name.textContent = point.series.name;
    tip.replaceChildren(name, ...describe(chart, point).flatMap((line, nth) => (nth ? [document.createElement("br"), line] : [line])));
    tip.hidden = false;
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    const room = tip.parentNode.clientWidth;
    const wanted = point.x * scale + 12;
    const left = wanted + tip.offsetWidth > room ? point.x * scale - tip.offsetWidth - 12 : wanted;
    tip.style.left = `${Math.max(0, left)}px`;
    tip.style.top = `${Math.max(0, point.y * scale - tip.offsetHeight - 8)}px`;
  }

  function pick(which) {
    for (const svg of document.querySelectorAll("#curves svg[data-chart]")) {
      svg.classList.toggle("picked", which !== null);
      for (const line of svg.querySelectorAll("[data-series]")) {
        line.classList.toggle("chosen", line.dataset.series === String(which));
      }
    }
    for (const row of document.querySelectorAll("[data-series-row]")) {
      row.classList.toggle("lit", row.dataset.seriesRow === String(which));
    }
  }

  function follow(svg) {
    const chart = data.charts[svg.dataset.chart];
    const points = pointsOf(chart);
    if (!points.length) return;
    const tip = makeTip(svg.parentNode);
    const group = document.createElementNS(NS, "g");
    const cursor = document.createElementNS(NS, "circle");
    cursor.setAttribute("r", 4);
    group.setAttribute("class", "cursor");
    group.setAttribute("visibility", "hidden");
    group.append(cursor);
    svg.append(group);
    let at = null;
    const go = (point) => {
      at = point;
      show(svg, tip, cursor, chart, point);
    };
    const leave = () => {
      tip.hidden = true;
      group.setAttribute("visibility", "hidden");
      at = null;
    };
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / box.width;
      go(nearest(points, (event.clientX - box.left) * scale, (event.clientY - box.top) * scale));
    });
    svg.addEventListener("pointerleave", leave);
    svg.addEventListener("blur", leave);
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.key === "Escape") leave();
      if (!step) return;
      event.preventDefault();
      const next = at ? points.indexOf(at) + step : 0;
      go(points[Math.min(points.length - 1, Math.max(0, next))]);
    });
  }

  function outcomes(sweep, place) {
    const at = sweep.thresholds[place], said = { threshold: at === null ? "above every score" : number(at) };
    for (const [side, one] of Object.entries(sweep.sides)) {
      const [tp, fp, fn, tn] = [one.tp[place], one.fp[place], one.fn[place], one.tn[place]];
      const all = tp + fp + fn + tn;
      const each = {
        found: `${count(tp)} of ${count(tp + fn)}`, falsely: `${count(fp)} of ${count(fp + tn)}`,
        flagged: `${count(tp + fp)} (${share(tp + fp, all)})`, cost: number(costOf(sweep, one, place)),
        precision: number(part(tp, tp + fp)), recall: number(part(tp, tp + fn)),
        f1: number(part(2 * tp, 2 * tp + fp + fn)), fpr: number(part(fp, fp + tn)),
        accuracy: number(part(tp + tn, all)),
      };
      for (const [key, words] of Object.entries(each)) said[`${side}_${key}`] = words;
    }
    return said;
  }
  function costOf(sweep, one, place) {
    const all = one.tp[place] + one.fp[place] + one.fn[place] + one.tn[place];
    return part(sweep.price[0] * one.fp[place] + sweep.price[1] * one.fn[place], all);
  }

  function cheapest(sweep) {
    let best = 0;
    const cost = (place) => costOf(sweep, sweep.sides.cv, place);
    for (let place = 1; place < sweep.thresholds.length; place += 1) if (cost(place) < cost(best)) best = place;
    return best;
  }

  function markCost(sweep, place) {
    const chart = data.charts.cost, mark = document.querySelector("[data-cost-mark]");
    const [left, right, bottom, top] = chart.frame, at = sweep.thresholds[place];
    mark.replaceChildren();
    if (at === null) return;
    const circle = document.createElementNS(NS, "circle");
    const cost = costOf(sweep, sweep.sides.cv, place);
    const y = bottom + ((cost - chart.y[0]) / (chart.y[1] - chart.y[0])) * (top - bottom);
    circle.setAttribute("cx", left + ((at - chart.x[0]) / (chart.x[1] - chart.x[0])) * (right - left));
    if (y < top) return; // the curve is cut off there
    circle.setAttribute("cy", y);
    circle.setAttribute("r", 5);
    const group = document.createElementNS(NS, "g");
    group.setAttribute("class", "dots s1");
    group.append(circle);
    mark.append(group);
  }

  function slide(sweep) {
    const slider = document.getElementById("threshold-slider"), last = sweep.thresholds.length - 1;
    const move = () => {
      const place = last - Number(slider.value), said = outcomes(sweep, place);
      for (const field of document.querySelectorAll("[data-out]")) field.textContent = said[field.dataset.out];
      slider.setAttribute("aria-valuetext", `${said.threshold}, ${said.cv_found} found, ${said.cv_falsely} falsely, cost per row ${said.cv_cost}`);
      markCost(sweep, place);
    };
    slider.addEventListener("input", move);
    for (const button of document.querySelectorAll("[data-go]")) {
      button.addEventListener("click", () => {
        slider.value = last - (button.dataset.go === "chosen" ? sweep.chosen : cheapest(sweep));
        move();
      });
    }
    slider.closest(".slider").hidden = false;
    slider.value = last - sweep.chosen;
    move();
  }

  function sortBy(board, heading, key) {
    const falling = heading.getAttribute("aria-sort") === "ascending";
    for (const other of board.querySelectorAll("thead th")) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const value = (row) => (key in row.dataset ? Number(row.dataset[key]) : Infinity);
    for (const body of board.tBodies) {
      const rows = [...body.rows];
      rows.sort((one, two) => (falling ? -1 : 1) * (value(one) - value(two) || 0));
      body.append(...rows);
    }
  }

  function sortable(board) {
    for (const heading of board.querySelectorAll("thead th")) {
      const key = heading.dataset.sort;
      if (!key) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = heading.textContent;
      button.addEventListener("click", () => sortBy(board, heading, key));
      heading.replaceChildren(button);
    }
  }

  document.querySelectorAll("svg[data-chart]").forEach(follow);
  for (const row of document.querySelectorAll("[data-series-row]")) {
    for (const event of ["pointerenter", "focus"]) row.addEventListener(event, () => pick(row.dataset.seriesRow));
    for (const event of ["pointerleave", "blur"]) row.addEventListener(event, () => pick(null));
  }
  document.querySelectorAll("[data-sortable]").forEach(sortable);
  if (data.slider) slide(data.slider);
})();
