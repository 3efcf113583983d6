// The page's "Explore" section: any metric by any factors, drawn from the JSON beside it. No library, no network.
//
// State is the address's hash; every control writes it, and everything shown is drawn from it. Means, intervals and the best set
// follow the same formulas as the Rust side, with its quantiles of Student's t.
(() => {
  "use strict";
  const root = document.documentElement;
  // Left where a test and a person can see it.
  addEventListener("error", (event) => { root.dataset.error = event.message; });

  const data = JSON.parse(document.getElementById("explore-data").textContent);
  const section = document.getElementById("explore");
  const form = section.querySelector("form");
  const part = (name) => section.querySelector("[data-part=" + name + "]");
  const VIEWS = ["compare", "map", "latency", "time"];
  const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "currentColor"];
  const DASHES = ["", "7 3", "2 3", "9 3 2 3"];
  const GAP = 14;

  // ---- Elements -------------------------------------------------------------------------------------------------------------
  const build = (space) => (name, attributes = {}, ...children) => {
    const element = space ? document.createElementNS(space, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  };
  const html = build("");
  const svg = build("http://www.w3.org/2000/svg");
  const text = (x, y, words, attributes = {}) => svg("text", { x: round1(x), y: round1(y), ...attributes }, words);
  const faint = (x, y, words, anchor) => text(x, y, words, { "text-anchor": anchor, "fill-opacity": 0.72 });
  const line = (x1, y1, x2, y2, attributes) =>
    svg("path", { d: `M${round1(x1)} ${round1(y1)}L${round1(x2)} ${round1(y2)}`, stroke: "currentColor", ...attributes });
  const round1 = (value) => Math.round(value * 10) / 10;
  const colour = (index) => COLOURS[index % COLOURS.length];
  const dash = (index) => DASHES[Math.floor(index / COLOURS.length) % DASHES.length] || undefined;

  /// Seven shapes: circle, square, diamond, triangle up, triangle down, plus, bar.
  function shape(index, x, y, r) {
    const polygon = (...points) => "M" + points.map(([dx, dy]) => `${round1(x + dx * r)} ${round1(y + dy * r)}`).join("L") + "z";
    switch (index % COLOURS.length) {
      case 0: return `M${round1(x - r)} ${round1(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
      case 1: return polygon([-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]);
      case 2: return polygon([0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]);
      case 3: return polygon([0, -1.2], [1.15, 0.9], [-1.15, 0.9]);
      case 4: return polygon([0, 1.2], [1.15, -0.9], [-1.15, -0.9]);
      case 5: return polygon([-.4, -1.2], [.4, -1.2], [.4, -.4], [1.2, -.4], [1.2, .4], [.4, .4], [.4, 1.2], [-.4, 1.2], [-.4, .4], [-1.2, .4], [-1.2, -.4], [-.4, -.4]);
      default: return polygon([-1.2, -0.5], [1.2, -0.5], [1.2, 0.5], [-1.2, 0.5]);
    }
  }
  const mark = (index, x, y, r = 5) =>
    svg("path", { d: shape(index, x, y, r), fill: colour(index), stroke: "currentColor", "stroke-width": 0.8 });
  /// What can be reached by keyboard and says what it is: `row` and `column` decide where the arrow keys lead.
  function speaking(element, panel, row, column, tip) {
    const attributes = { class: "point", role: "img", "aria-label": tip, "data-tip": tip, "data-at": [panel, row, column], tabindex: -1 };
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  }

  // ---- Numbers, as number.rs shows them ---------------------------------------------------------------------------------------
  function figure(value) {
    if (!Number.isFinite(value)) return "–";
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size < 1e-4) return value.toExponential(2);
    const decimals = Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(size))));
    const [whole, fraction] = size.toFixed(decimals).split(".");
    return (value < 0 ? "−" : "") + whole.replace(/\B(?=(\d{3})+$)/g, ",") + (fraction ? "." + fraction : "");
  }
  const withUnit = (metric, value) => figure(value) + (metric.unit ? " " + metric.unit : "");
  const percent = (share) => `${+(share * 100).toPrecision(3)} %`;
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

  // ---- Axes, as chart.rs has them --------------------------------------------------------------------------------------------
  function axis(low, high, from, to, kind = "fitting") {
    const logarithmic = kind === "log" || (kind === "fitting" && low > 0 && high / low > 4);
    if (logarithmic) {
      const air = kind === "log" ? 1 : Math.max((high / low) ** 0.04, 1.01);
      [low, high] = [low / air, high * air];
    } else if (kind !== "exact") {
      const air = high > low ? (high - low) * 0.04 : Math.max(Math.abs(low), 1) * 0.04;
      [low, high] = [low - air, high + air];
    }
    const share = (value) => (logarithmic ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
    const at = (value) => from + (to - from) * Math.min(1, Math.max(0, share(value)));
    return { at, logarithmic, ticks: logarithmic ? logarithmicTicks(low, high) : straightTicks(low, high) };
  }
  function straightTicks(low, high) {
    const rough = (high - low) / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough * 0.999) || 10 * power;
    const ticks = [];
    for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9 && ticks.length < 50; i += 1) ticks.push(+(i * step).toPrecision(12));
    return ticks;
  }
  function logarithmicTicks(low, high) {
    const all = (steps) => {
      const ticks = [];
      for (let decade = Math.floor(Math.log10(low)); decade <= Math.ceil(Math.log10(high)); decade += 1) {
        ticks.push(...steps.map((step) => +(step * 10 ** decade).toPrecision(3)));
      }
      return ticks.filter((tick) => tick >= low && tick <= high);
    };
    const ticks = [[1, 2, 5], [1, 3], [1]].map(all).find((found) => found.length <= 7) || all([1]);
    return ticks.filter((_, index) => index % Math.ceil(ticks.length / 7) === 0);
  }
  const tickLabel = (tick) => (Math.abs(tick) >= 1e4 ? figure(tick) : String(+tick.toPrecision(6)).replace("-", "−"));

  // ---- State and address -----------------------------------------------------------------------------------------------------
  const workload = () => data.workloads.find((found) => found.name === state.workload);
  const factors = () => workload().factors;
  const factor = (path) => factors().find((found) => found.path === path);
  const metricsOf = (name) => data.metrics.filter((metric) => data.scenarios.some((s, i) => s.workload === name && metric.values[i].length));
  const metric = () => data.metrics.find((found) => found.name === state.metric);
  const own = (scenario) => scenario.workload === state.workload && !scenario.control;
  data.scenarios.forEach((scenario, index) => { scenario.index = index; });

  const encode = (value) => encodeURIComponent(value).replace(/%2F/g, "/").replace(/%3A/g, ":");
  /// Whatever is missing or unknown gets its default: an address from another page can do no harm.
  function settled(wanted) {
    const choose = (value, known, otherwise) => (known.includes(value) ? value : otherwise);
    const next = { only: wanted.only || {} };
    next.workload = choose(wanted.workload, data.workloads.map((found) => found.name), data.workloads[0].name);
    next.view = choose(wanted.view, VIEWS.filter((view) => isPossible(view, next.workload)), "compare");
    const { primary, factors } = data.workloads.find((found) => found.name === next.workload);
    const paths = factors.map((found) => found.path);
    next.metric = choose(wanted.metric, metricsOf(next.workload).map((found) => found.name), primary);
    next.x = choose(wanted.x, paths, paths.find((path) => path !== wanted.series) ?? "");
    next.series = choose(wanted.series, [...paths, ""], paths.find((path) => path !== next.x) ?? "");
    next.panels = choose(wanted.panels, [...paths, ""], "");
    // A factor has one place; where nothing lies along an axis, that one is free.
    const taken = ["compare", "map"].includes(next.view) ? [next.x] : [];
    if (taken.includes(next.series)) next.series = "";
    if ([...taken, next.series].includes(next.panels)) next.panels = "";
    const operations = operationsOf(next.workload);
    next.operation = choose(wanted.operation, operations, operations[0] || "");
    const rates = ratesOf(next.workload);
    next.rate = choose(wanted.rate, rates, rates[0] || "");
    next.below = choose(wanted.below, rates, "");
    return next;
  }
  /// Whether there is anything that a view could show of a workload.
  function isPossible(view, name) {
    if (view === "map") return data.workloads.find((found) => found.name === name).factors.length > 1;
    return view === "compare" || (view === "latency" ? operationsOf(name) : ratesOf(name)).length > 0;
  }
  const ofWorkload = (name) => (index) => data.scenarios[index].workload === name;
  const operationsOf = (name) => Object.keys(data.latencies).filter((operation) => Object.keys(data.latencies[operation]).some(ofWorkload(name)));
  const ratesOf = (name) => data.series.filter((found) => Object.keys(found.lines).some(ofWorkload(name))).map((found) => found.name);
  function fromAddress() {
    const wanted = { only: {} };
    for (const pair of location.hash.slice(1).split("&")) {
      const [key, value] = pair.split("=");
      if (value === undefined) continue;
      try {
        if (key.startsWith("only.")) wanted.only[decodeURIComponent(key.slice(5))] = value ? value.split(",").map(decodeURIComponent) : [];
        else wanted[decodeURIComponent(key)] = decodeURIComponent(value);
      } catch { /* A broken escape: as if it were not there. */ }
    }
    return settled(wanted);
  }
  function toAddress() {
    const keys = { compare: ["metric", "x", "series", "panels"], map: ["metric", "x", "series", "panels"], latency: ["operation", "series", "panels"], time: ["rate", "below", "series"] };
    const pairs = ["view", ...(data.workloads.length > 1 ? ["workload"] : []), ...keys[state.view]].map((key) => `${key}=${encode(state[key])}`);
    for (const { path } of factors()) {
      if (state.only[path]) pairs.push(`only.${encode(path)}=${state.only[path].map(encode).join(",")}`);
    }
    return "#" + pairs.join("&");
  }

  // ---- Groups and their figures ----------------------------------------------------------------------------------------------
  const levelOf = (scenario, path) => scenario.levels[factors().findIndex((found) => found.path === path)];
  function shown() {
    const kept = ({ path, levels }, scenario) => !state.only[path] || state.only[path].includes(levels[levelOf(scenario, path)]);
    return data.scenarios.filter((scenario) => own(scenario) && factors().every((found) => kept(found, scenario)));
  }
  /// Levels of a factor that are left after filtering, with their place among all; one without a name where no factor is chosen.
  function levels(path, scenarios) {
    const found = factor(path);
    if (!found) return [{ name: "", said: "", index: -1 }];
    return found.levels.map((name, index) => ({ name, said: found.labels[index], index })).filter(({ index }) => scenarios.some((s) => levelOf(s, path) === index));
  }
  const at = (scenarios, path, level) => (path ? scenarios.filter((scenario) => levelOf(scenario, path) === level.index) : scenarios);
  const label = (scenario) => scenario.label + (scenario.doesNotFlush ? ` (${data.mark})` : "");
  /// Its levels alone, where there is no room for the names of settings.
  const short = (scenario) => place(...factors().map((found, index) => found.levels[scenario.levels[index]])) + (scenario.doesNotFlush ? "†" : "");
  const isLogarithmic = (scenarios) => scenarios.every((scenario) => metric().values[scenario.index].every((value) => value === null || value > 0));

  /// Mean over the scenarios of a group in each round in which all that ever yielded a value did; over rounds a t interval.
  function summary(scenarios, logarithmic) {
    const values = (scenario) => metric().values[scenario.index];
    const alive = scenarios.filter((scenario) => values(scenario).some((value) => value !== null));
    const made = { scenarios, alive, doesNotFlush: scenarios.some((scenario) => scenario.doesNotFlush), rounds: [] };
    if (!alive.length) return made;
    // Of what claims rest on, 0 is a load that stalled, and makes the mean 0.
    const [into, back] = logarithmic || metric().claimed ? [Math.log, Math.exp] : [(value) => value, (value) => value];
    const count = Math.max(...alive.map((scenario) => values(scenario).length));
    for (let round = 0; round < count; round += 1) {
      const found = alive.map((scenario) => values(scenario)[round] ?? null);
      made.rounds.push(found.includes(null) ? null : mean(found.map(into)));
    }
    const complete = made.rounds.filter((value) => value !== null);
    const alone = (scenario) => mean(values(scenario).filter((value) => value !== null).map(into));
    const centre = complete.length ? mean(complete) : mean(alive.map(alone));
    made.count = complete.length;
    made.mean = back(centre);
    if (logarithmic && complete.length > 1) {
      const half = (quantileFor(data.t, complete.length) * deviation(complete)) / Math.sqrt(complete.length);
      [made.low, made.high] = [back(centre - half), back(centre + half)];
    }
    return made;
  }
  /// From a list by degrees of freedom, which ends where more of them make no difference.
  const quantileFor = (list, rounds) => list[Math.min(rounds - 1, list.length) - 1] ?? Infinity;
  /// Of logarithms; no figure is known better than the resolution says.
  function deviation(values) {
    const centre = mean(values);
    return Math.max(data.resolution, Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1)));
  }
  /// The cells that can't be told from the best (F8), each pair by the rounds in which both have a value.
  function bestSet(cells) {
    const sign = metric().better === "less" ? -1 : 1;
    const [, quantiles] = data.best.find(([count]) => count >= cells.length) || [0, []];
    const ahead = (a, b) => {
      const all = a.rounds.map((value, round) => sign * ((value ?? NaN) - (b.rounds[round] ?? NaN)));
      const known = all.filter((difference) => !Number.isNaN(difference));
      if (known.length < 2) return Infinity;
      return mean(known) + (quantileFor(quantiles, known.length) * deviation(known)) / Math.sqrt(known.length);
    };
    return cells.filter((cell) => cells.every((other) => other === cell || ahead(cell, other) >= 0));
  }
  const place = (...names) => names.filter(Boolean).join(" · ") || "all scenarios";
  const dagger = (found) => (found.doesNotFlush ? "†" : "");
  const hasFailed = (found) => found.scenarios.some((scenario) => scenario.failed > 0);
  function told(found, name) {
    if (found.mean === undefined && !hasFailed(found)) return `${name}: no value yet`;
    if (found.mean === undefined) return `${name}: failed in every round${found.scenarios[0].failure ? ": " + found.scenarios[0].failure : ""}`;
    const interval = found.low === undefined ? "" : ` (${figure(found.low)}–${figure(found.high)})`;
    const flush = found.doesNotFlush ? ", " + data.mark : "";
    return `${name}: ${withUnit(metric(), found.mean)}${interval}, ${count(found.alive.length, "scenario")}, ${count(found.count, "round")}${flush}`;
  }
  /// Names cut in the middle to so many letters; where that makes two look alike, with their numbers.
  function fitted(names, room) {
    const letters = Math.max(4, Math.floor(room));
    const head = Math.ceil(letters / 2);
    const cut = (name) => (name.length > letters ? name.slice(0, head) + "…" + name.slice(name.length - (letters - head - 1)) : name);
    const short = names.map(cut);
    return new Set(short).size === new Set(names).size ? short : names.map((name, index) => cut(`${index + 1} ${name}`));
  }
  const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

  // ---- The four charts -------------------------------------------------------------------------------------------------------
  /// Everything that a chart of groups shows: panels of series of points.
  function cross() {
    const scenarios = shown();
    const logarithmic = isLogarithmic(scenarios);
    const [across, down, apart] = [state.x, state.series, state.panels].map((path) => levels(path, scenarios));
    const points = [];
    apart.forEach((panel, p) => down.forEach((series, row) => across.forEach((x, column) => {
      const group = at(at(at(scenarios, state.panels, panel), state.series, series), state.x, x);
      if (group.length) points.push({ ...summary(group, logarithmic), p, row, column, name: place(x.said, series.said, panel.said) });
    })));
    return { scenarios, across, down, apart, points, logarithmic, measured: points.filter((point) => point.mean !== undefined) };
  }
  /// Whether all groups average over the same levels of the other factors; if not, they differ in more than what is shown.
  function isBalanced(points) {
    const others = factors().map(({ path }) => path).filter((path) => ![state.x, state.series, state.panels].includes(path));
    const key = (point) => point.alive.map((scenario) => others.map((path) => levelOf(scenario, path))).sort().join(";");
    return new Set(points.map(key)).size < 2;
  }
  function extremes(measured) {
    const sorted = [...measured].sort((a, b) => b.mean - a.mean);
    const [most, least] = [sorted[0], sorted[sorted.length - 1]];
    const say = (words, point) => `${words} ${point.name} with ${withUnit(metric(), point.mean)}`;
    if (!most) return "no values";
    if (most === least) return say("only", most);
    if (metric().better === "less") return `${say("best", least)}, ${say("worst", most)}`;
    return metric().better === "more" ? `${say("best", most)}, ${say("worst", least)}` : `${say("most", most)}, ${say("least", least)}`;
  }
  const by = (path, words) => (path ? `, ${words} ${factor(path).name}` : "");
  function groupNotes({ points, measured, logarithmic }) {
    const notes = [logarithmic ? `Geometric means over what is left, with ${percent(data.confidence)} intervals over rounds.` : metric().claimed ? "Geometric means without intervals: where a trial's figure is 0, as it stalled, so is the mean." : "Arithmetic means without intervals: some values are 0."];
    if (!isBalanced(measured)) notes.push("Not every point averages over the same combinations of the other factors: compare with care, or filter.");
    const failed = points.filter((point) => point.mean === undefined && hasFailed(point)).length;
    if (failed) notes.push(`${count(failed, "point")} without a value: every trial failed.`);
    if (points.some((point) => point.doesNotFlush)) notes.push(data.daggerNote);
    return notes;
  }
  function groupTable({ points }) {
    const names = [state.x, state.series, state.panels].filter(Boolean);
    const unit = metric().unit ? `, ${metric().unit}` : "";
    const heads = [...names.map((path) => factor(path).name), metric().words + unit, "low", "high", "rounds", "scenarios", "failed trials", "mark"];
    const number = (value) => (value === undefined ? "–" : { shown: figure(value), value: value });
    const rows = points.map((point) => [
      ...names.map((path) => factor(path).levels[levelOf(point.scenarios[0], path)]),
      number(point.mean), number(point.low), number(point.high), point.count || 0, point.scenarios.length,
      point.scenarios.reduce((sum, scenario) => sum + scenario.failed, 0), point.doesNotFlush ? data.mark : "",
    ]);
    return { heads, rows };
  }

  function compare(width) {
    const found = cross();
    const { down, apart, measured } = found;
    const size = panelSize(width, apart.length);
    // Intervals of two or three rounds can span decades; then the means keep most of the room.
    const means = measured.map((point) => point.mean);
    const low = Math.max(Math.min(...measured.map((point) => point.low ?? point.mean)), found.logarithmic ? Math.min(...means) / 2 : -Infinity);
    const high = Math.min(Math.max(...measured.map((point) => point.high ?? point.mean)), found.logarithmic ? Math.max(...means) * 2 : Infinity);
    const notes = groupNotes(found);
    if (measured.some((point) => point.low < low || point.high > high)) notes.push("An interval without an end mark goes on beyond the picture.");
    const panels = measured.length ? apart.map((panel, p) => comparePanel(found, panel, p, size, [low, high])) : [];
    const title = `${metric().words} by ${factor(state.x)?.name || "nothing"}${by(state.series, `${down.length} series of`)}${by(state.panels, `${apart.length} panels of`)}`;
    return {
      panels, legend: state.series ? down.map((level, index) => ({ name: level.name, index })) : [], title,
      says: `${title}: ${extremes(measured)}.`, notes, table: groupTable(found),
    };
  }
  function comparePanel({ across, down, points, logarithmic }, panel, p, width, [low, high]) {
    const [left, top] = [64, panel.name ? 30 : 12];
    const band = (width - left - 8) / across.length;
    const longest = Math.max(...across.map((level) => level.name.length)) * 7.6;
    const turned = longest > band - 4;
    const bottom = top + 230;
    const height = bottom + (turned ? Math.min(longest, 130) * 0.72 + 22 : 26) + 20;
    const y = axis(low, high, bottom, top, logarithmic ? "fitting" : "straight");
    const chart = frame(width, height, place(metric().words, panel.said));
    if (panel.name) chart.append(text(left, 16, panel.said, { "font-weight": 600 }));
    gridY(chart, y, left, width - 8);
    fitted(across.map((level) => level.name), 20).forEach((name, column) => {
      const middle = left + (column + 0.5) * band;
      chart.append(turned
        ? text(0, 0, name, { transform: `translate(${round1(middle + 4)} ${bottom + 14}) rotate(-40)`, "text-anchor": "end", "fill-opacity": 0.72 })
        : faint(middle, bottom + 18, name, "middle"));
    });
    const unit = metric().unit ? ` · ${metric().words}, ${metric().unit}` : ` · ${metric().words}`;
    chart.append(faint(width / 2, height - 6, (factor(state.x)?.name || "") + unit + (y.logarithmic ? ", log" : ""), "middle"));
    const step = Math.min((band * 0.72) / down.length, 18);
    const xOf = ({ row, column }) => left + (column + 0.5) * band + (row - (down.length - 1) / 2) * step;
    const here = points.filter((point) => point.p === p);
    if (factor(state.x)?.ordered) {
      down.forEach((_, row) => {
        const way = here.filter((point) => point.row === row && point.mean !== undefined);
        chart.append(path(way.map((point) => [xOf(point), y.at(point.mean)]), row, 1.8));
      });
    }
    for (const point of here) {
      const x = xOf(point);
      const tip = told(point, point.name);
      if (point.mean === undefined) {
        chart.append(speaking(text(x, bottom - 3, "×", { "text-anchor": "middle", "font-weight": 700 }), p, point.row, point.column, tip));
        continue;
      }
      const [centre, from, to] = [point.mean, point.low, point.high].map((value) => y.at(value));
      if (point.low !== undefined) {
        chart.append(line(x, from, x, to, { "stroke-width": 1.4 }));
        if (point.low >= low) chart.append(line(x - 3.5, from, x + 3.5, from, { "stroke-width": 1.4 }));
        if (point.high <= high) chart.append(line(x - 3.5, to, x + 3.5, to, { "stroke-width": 1.4 }));
      }
      chart.append(speaking(mark(point.row, x, centre), p, point.row, point.column, tip));
      if (point.doesNotFlush) chart.append(text(x + 7, centre - 4, "†"));
    }
    return chart;
  }

  function map(width) {
    const found = cross();
    const { apart, points, measured, logarithmic } = found;
    const judged = logarithmic && metric().better !== "neither";
    const size = panelSize(width, apart.length);
    const values = measured.map((point) => (logarithmic ? Math.log(point.mean) : point.mean));
    const centre = mean(values);
    const reach = Math.max(1e-12, ...values.map((value) => Math.abs(value - centre)));
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const sign = metric().better === "less" ? -1 : 1;
    const tone = (point) => {
      const value = logarithmic ? Math.log(point.mean) : point.mean;
      return judged ? diverging((sign * (value - centre)) / reach) : cividis(high > low ? (value - low) / (high - low) : 0.5);
    };
    const best = judged ? bestSet(measured) : [];
    const panels = measured.length ? apart.map((panel, p) => mapPanel(found, panel, p, size, tone, best)) : [];
    const title = `${metric().words} by ${factor(state.x)?.name || "nothing"} (across)${state.series ? ` and ${factor(state.series).name} (down)` : ""}${by(state.panels, `${apart.length} maps of`)}`;
    const table = groupTable(found);
    table.heads.push("may be the best");
    table.rows.forEach((row, index) => row.push(judged ? (best.includes(points[index]) ? "yes" : "no") : ""));
    const notes = groupNotes(found);
    notes.push(judged
      ? `Blue is better than the mean of all cells, orange worse; hatched cells can't be told from the best (${percent(data.confidence)} confidence for all together).`
      : "Bright is more, dark is less; which is better can't be said of this metric, or some values are 0.");
    return { panels, legend: [], title, says: `${title}: ${extremes(measured)}${judged ? `; ${count(best.length, "cell")} may be the best` : ""}.`, notes, table };
  }
  function mapPanel({ across, down, points }, panel, p, width, tone, best) {
    const left = Math.min(130, Math.max(20, ...down.map((level) => level.name.length * 7.6 + 12)));
    const [top, row] = [panel.name ? 72 : 48, 36];
    const band = (width - left - 4) / across.length;
    const chart = frame(width, top + row * down.length + 6, place(metric().words, panel.said));
    if (panel.name) chart.append(text(4, 16, panel.said, { "font-weight": 600 }));
    chart.append(faint(4, top - 29, `${factor(state.series)?.name || ""} ↓`, "start"), faint(width - 4, top - 29, `${factor(state.x)?.name || ""} →`, "end"));
    const names = (levels, room) => fitted(levels.map((level) => level.name), room / 7.6);
    names(across, band).forEach((name, column) => chart.append(faint(left + (column + 0.5) * band, top - 9, name, "middle")));
    names(down, left - 8).forEach((name, index) => chart.append(faint(left - 6, top + (index + 0.5) * row + 4, name, "end")));
    for (const point of points.filter((found) => found.p === p)) {
      const [x, y] = [left + point.column * band, top + point.row * row];
      const tip = told(point, point.name) + (best.includes(point) ? ", may be the best" : "");
      const cell = svg("g");
      if (point.mean === undefined) {
        cell.append(svg("rect", { x: round1(x), y, width: round1(band - 2), height: row - 2, fill: "none", stroke: "currentColor", "stroke-dasharray": "3 3" }));
        cell.append(faint(x + band / 2, y + row / 2 + 4, hasFailed(point) ? "failed" : "–", "middle"));
      } else {
        const [fill, ink] = tone(point);
        const words = figure(point.mean) + dagger(point);
        const room = Math.min(band - 2, words.length * 8 + 8);
        cell.append(svg("rect", { x: round1(x), y, width: round1(band - 2), height: row - 2, fill }));
        if (best.includes(point)) cell.append(hatch(x, y, band - 2, row - 2, ink), svg("rect", { x: round1(x + (band - 2 - room) / 2), y: y + 8, width: round1(room), height: 18, fill }));
        cell.append(text(x + band / 2 - 1, y + row / 2 + 4, words, { "text-anchor": "middle", fill: ink, "font-size": room < words.length * 8 ? 10 : undefined }));
      }
      chart.append(speaking(cell, p, point.row, point.column, tip));
    }
    return chart;
  }
  function hatch(x, y, width, height, stroke) {
    let d = "";
    for (let reach = 8; reach < width + height; reach += 8) {
      const [x1, y1] = reach <= width ? [reach, 0] : [width, reach - width];
      const [x2, y2] = reach <= height ? [0, reach] : [reach - height, height];
      d += `M${round1(x + x1)} ${round1(y + y1)}L${round1(x + x2)} ${round1(y + y2)}`;
    }
    return svg("path", { d, stroke, "stroke-opacity": 0.55, class: "hatch" });
  }
  const inked = (parts) => [`rgb(${parts.map((value) => Math.round(Math.min(255, Math.max(0, value)))).join(",")})`, 0.299 * parts[0] + 0.587 * parts[1] + 0.114 * parts[2] < 118 ? "#fff" : "#000"];
  function diverging(position) {
    const end = position < 0 ? [213, 94, 0] : [0, 114, 178];
    return inked(end.map((value) => 255 + (value - 255) * Math.min(1, Math.abs(position))));
  }
  /// Cividis (Nuñez, Anderton, Renslow 2018) by the polynomials of d3-scale-chromatic.
  function cividis(t) {
    return inked([
      -4.54 - t * (35.34 - t * (2381.73 - t * (6402.7 - t * (7024.72 - t * 2710.57)))),
      32.49 + t * (170.73 + t * (52.82 - t * (131.46 - t * (176.58 - t * 67.37)))),
      81.24 + t * (442.36 - t * (2482.43 - t * (6167.24 - t * (6614.94 - t * 2475.67)))),
    ]);
  }

  /// Scenarios as series: coloured by a factor's level, or each by itself.
  function coloured(scenarios) {
    const down = levels(state.series, scenarios);
    const index = (scenario) => (state.series ? down.findIndex((level) => level.index === levelOf(scenario, state.series)) : scenarios.indexOf(scenario));
    const legend = state.series ? down.map((level, place) => ({ name: level.name, index: place })) : scenarios.map((scenario, place) => ({ name: label(scenario), index: place }));
    return { index, legend };
  }

  function latency(width) {
    const microseconds = data.latencies[state.operation] || {};
    const scenarios = shown().filter((scenario) => microseconds[scenario.index]);
    const apart = levels(state.panels, scenarios);
    const scale = unitOf(Math.max(...scenarios.flatMap((scenario) => microseconds[scenario.index])));
    const curves = Object.fromEntries(scenarios.map(({ index }) => [index, microseconds[index].map((value) => value / scale.divisor)]));
    const all = Object.values(curves).flat();
    const { index, legend } = coloured(scenarios);
    const size = panelSize(width, apart.length);
    const far = data.tails[Math.max(...scenarios.map((scenario) => curves[scenario.index].length)) - 1];
    const draw = (panel, p) => {
      const [left, top] = [64, panel.name ? 30 : 12];
      const bottom = top + 260;
      const chart = frame(size, bottom + 46, place(`Latency of ${state.operation}`, panel.said));
      if (panel.name) chart.append(text(left, 16, panel.said, { "font-weight": 600 }));
      const x = axis(1, Math.max(far, 10), left, size - 24, "log");
      const y = axis(Math.min(...all), Math.max(...all), bottom, top);
      gridY(chart, y, left, size - 8);
      for (const tail of LABELLED.filter((found) => found <= far * 1.01)) {
        chart.append(line(x.at(tail), top, x.at(tail), bottom, { "stroke-opacity": 0.15 }), faint(x.at(tail), bottom + 17, quantile(tail), "middle"));
      }
      chart.append(faint(size / 2, bottom + 38, `share of operations that took at most so long · ${scale.unit}`, "middle"));
      at(scenarios, state.panels, panel).forEach((scenario, row) => {
        const curve = curves[scenario.index];
        chart.append(path(curve.map((value, i) => [x.at(data.tails[i]), y.at(value)]), index(scenario), 1.8));
        curve.forEach((value, i) => {
          const column = LABELLED.indexOf(data.tails[i]);
          const tip = () => `${label(scenario)}: ${quantile(data.tails[i])} of operations within ${withUnit(scale, value)}`;
          if (column >= 0) chart.append(speaking(mark(index(scenario), x.at(data.tails[i]), y.at(value), 4), p, row, column, tip()));
        });
      });
      return chart;
    };
    const title = `Latency of ${state.operation} by quantile, ${count(scenarios.length, "scenario")}${by(state.series, "coloured by")}${by(state.panels, `${apart.length} panels of`)}`;
    const tails = LABELLED.filter((tail) => tail <= far * 1.01);
    const rows = scenarios.map((scenario) => [label(scenario), ...tails.map((tail) => {
      const value = curves[scenario.index][data.tails.indexOf(tail)];
      return value === undefined ? "–" : { shown: figure(value), value };
    })]);
    const median = (scenario) => curves[scenario.index][data.tails.indexOf(100)] ?? Infinity;
    const [first] = [...scenarios].sort((a, b) => median(a) - median(b));
    const best = first && Number.isFinite(median(first)) ? `: lowest p99 ${label(first)} with ${withUnit(scale, median(first))}` : "";
    return {
      panels: scenarios.length ? apart.map(draw) : [], legend, title, says: `${title}${best}.`,
      notes: ["All runs of a scenario merged; a quantile is drawn where at least ten operations lie beyond it.", ...data.sample],
      table: { heads: ["scenario", ...tails.map((tail) => `${quantile(tail)}, ${scale.unit}`)], rows },
    };
  }
  const LABELLED = [2, 10, 100, 1e3, 1e4, 1e5, 1e6];
  const quantile = (tail) => `${(100 * (1 - 1 / tail)).toFixed(Math.max(0, Math.round(Math.log10(tail)) - 2))} %`;
  const unitOf = (largest) => (largest >= 1e6 ? { unit: "s", divisor: 1e6 } : largest >= 1e3 ? { unit: "ms", divisor: 1e3 } : { unit: "µs", divisor: 1 });

  /// A line's values from two letters each: 4,095 steps from its series' lowest to its highest.
  function decoded(letters, series) {
    const values = [];
    for (let i = 0; i < letters.length; i += 2) {
      const [a, b] = [data.letters.indexOf(letters[i]), data.letters.indexOf(letters[i + 1])];
      values.push(a < 0 ? null : series.low + ((a * 64 + b) / 4095) * (series.high - series.low));
    }
    return values;
  }
  function time(width) {
    const rate = data.series.find((found) => found.name === state.rate);
    const below = data.series.find((found) => found.name === state.below);
    const scenarios = rate ? shown().filter((scenario) => rate.lines[scenario.index]) : [];
    const { index } = coloured(scenarios);
    const lines = scenarios.map((scenario) => rate.lines[scenario.index].map(([round, begins, seconds, letters, marks]) => ({ round, begins, seconds, values: decoded(letters, rate), marks: marks || [[], []] })));
    const from = Math.min(0, ...lines.flat().map((found) => found.begins));
    const to = Math.max(1, ...lines.flat().map((found) => found.begins + found.seconds));
    const size = panelSize(width, Math.max(2, scenarios.length), 300);
    const names = fitted(scenarios.map(short), (size - 28) / 7.6);
    const draw = (scenario, p) => {
      const [left, top, bottom] = [64, 28, 150];
      const height = bottom + (below ? 44 : 26);
      const chart = frame(size, height, `${label(scenario)}: ${rate.words}`);
      const x = axis(from, to, left, size - 8, "exact");
      const y = axis(Math.min(0, rate.low), rate.high * 1.03, bottom, top, "exact");
      if (from < 0) chart.append(svg("rect", { class: "warm", x: left, y: top, width: round1(x.at(0) - left), height: bottom - top, fill: "currentColor", "fill-opacity": 0.1 }));
      gridY(chart, y, left, size - 8);
      chart.append(mark(index(scenario), 10, 11, 4.5), text(20, 16, names[p]));
      for (const tick of x.ticks) chart.append(faint(x.at(tick), height - 6, tickLabel(tick) + (tick === 0 ? " s" : ""), "middle"));
      const opacity = Math.min(0.85, Math.max(0.3, 2 / lines[p].length));
      lines[p].forEach((found, row) => {
        const points = found.values.map((value, i) => (value === null ? null : [x.at(found.begins + (i * found.seconds) / found.values.length), y.at(value)]));
        const way = path(points.filter(Boolean), index(scenario), 1.4, opacity);
        if (!way) return;
        const known = found.values.filter((value) => value !== null);
        const tip = `${label(scenario)}, round ${found.round + 1}${found.begins < 0 ? ", warm-up" : ""}: mean ${withUnit(rate, mean(known))}, lowest ${withUnit(rate, Math.min(...known))}, highest ${withUnit(rate, Math.max(...known))}`;
        chart.append(speaking(way, p, row, 0, tip));
        found.marks.forEach((seconds, kind) => seconds.forEach((second) => {
          const tip = `${label(scenario)}, round ${found.round + 1}, ${second} s: ${SIGNS[kind].tip}`;
          if (kind === 0) chart.append(line(x.at(second), top, x.at(second), bottom, { "stroke-opacity": 0.6, "stroke-dasharray": "4 3" }));
          chart.append(speaking(sign(kind, x.at(second), kind === 0 ? top : bottom - 3), p, row, second + 1, tip));
        }));
      });
      if (below) chart.append(strip(below, scenario, x, bottom + 6));
      return chart;
    };
    const rounds = Math.max(0, ...lines.map((found) => new Set(found.map((one) => one.round)).size));
    const title = rate ? `${rate.words}, second by second, ${count(scenarios.length, "scenario")}, ${count(rounds, "round")} each${by(state.series, "coloured by")}` : "Nothing was recorded second by second";
    const rows = scenarios.flatMap((scenario, p) => lines[p].map((found) => {
      const known = found.values.filter((value) => value !== null);
      const number = (value) => ({ shown: figure(value), value });
      return [label(scenario), found.round + 1, found.begins < 0 ? "warm-up" : "measured", found.seconds, number(mean(known)), number(Math.min(...known)), number(Math.max(...known)), ...found.marks.map((seconds) => seconds.join(" "))];
    }));
    const unit = rate?.unit ? `, ${rate.unit}` : "";
    const notes = [`One line a run; all panels have the same axes${unit}.`, ...(from < 0 ? ["Shaded: the warm-up before the measured window, which begins at 0 s."] : []), ...(rate?.sample ? [rate.sample] : [])];
    if (scenarios.some((scenario) => scenario.doesNotFlush)) notes.push(data.daggerNote);
    if (below) notes.push(`The strip below each panel is ${below.words}: dark where it is high, up to ${withUnit(below, below.high)}.`);
    return {
      panels: scenarios.map(draw), legend: state.series ? coloured(scenarios).legend : [], title, says: `${title}.`, notes,
      signs: SIGNS.map((_, kind) => kind).filter((kind) => lines.flat().some((found) => found.marks[kind].length)),
      table: { heads: ["scenario", "round", "run", "seconds", `mean${unit}`, `lowest${unit}`, `highest${unit}`, ...SIGNS.map((found) => found.head)], rows },
    };
  }
  /// Moments that are marked: dark like text and told apart by their shapes, as colours are the scenarios'.
  const SIGNS = [{ shape: 2, tip: "another level from here on", head: "another level from, s" }, { shape: 3, tip: "long flushes", head: "long flushes at, s" }];
  const sign = (kind, x, y) => svg("path", { d: shape(SIGNS[kind].shape, x, y, 3.4), fill: "currentColor" });
  /// A second series as a strip of cells, the mean of all drawn rounds: what else went on when the line dips.
  function strip(series, scenario, x, top) {
    const group = svg("g", { class: "strip" });
    const lines = (series.lines[scenario.index] || []).map(([, begins, seconds, letters]) => ({ begins, seconds, values: decoded(letters, series) }));
    for (const found of lines) {
      const step = found.seconds / found.values.length;
      found.values.forEach((value, i) => {
        const share = value === null || series.high <= series.low ? 0 : (value - series.low) / (series.high - series.low);
        const [left, right] = [x.at(found.begins + i * step), x.at(found.begins + (i + 1) * step)];
        if (share > 0.004) group.append(svg("rect", { x: round1(left), y: top, width: round1(Math.max(1, right - left)), height: 10, fill: "currentColor", "fill-opacity": round1((share * 9) / lines.length + 0.5) / 10 }));
      });
    }
    return group;
  }

  // ---- Drawing what they share -----------------------------------------------------------------------------------------------
  function panelSize(width, panels, least = 330) {
    if (panels === 1) return Math.min(width, 760);
    const columns = Math.max(1, Math.min(panels, Math.floor((width + GAP) / (least + GAP))));
    return Math.floor((width - GAP * (columns - 1)) / columns);
  }
  const frame = (width, height, name) =>
    svg("svg", { viewBox: `0 0 ${Math.round(width)} ${Math.round(height)}`, width: Math.round(width), role: "group", "aria-label": name, "font-family": "system-ui,sans-serif", "font-size": 13, fill: "currentColor" });
  function gridY(chart, y, left, right) {
    for (const tick of y.ticks) chart.append(line(left, y.at(tick), right, y.at(tick), { "stroke-opacity": 0.15 }), faint(left - 6, y.at(tick) + 4.5, tickLabel(tick), "end"));
  }
  function path(points, index, width, opacity = 0.9) {
    if (!points.length) return null;
    // A single second is a dot.
    const d = "M" + points.map(([x, y]) => `${round1(x)} ${round1(y)}`).join("L") + (points.length === 1 ? "h.1" : "");
    return svg("path", { d, fill: "none", "stroke-linecap": "round", stroke: colour(index), "stroke-width": width, "stroke-opacity": opacity, "stroke-dasharray": dash(index), "stroke-linejoin": "round" });
  }

  const DRAW = { compare, map, latency, time };
  function render() {
    const chart = part("chart");
    const made = DRAW[state.view](Math.max(280, chart.clientWidth));
    chart.replaceChildren(...(made.panels.length ? made.panels : [html("p", { class: "note" }, "Nothing to draw: tick more levels, or choose another metric.")]));
    chart.querySelector(".point")?.setAttribute("tabindex", 0);
    part("summary").textContent = made.says;
    part("notes").textContent = made.notes.join(" ");
    const legendName = state.series && made.legend.length ? [html("li", {}, factor(state.series).name + ":")] : [];
    part("legend").replaceChildren(...legendName, ...made.legend.map(({ name, index }) => {
      const symbol = svg("svg", { width: 30, height: 14, viewBox: "0 0 30 14", "aria-hidden": "true" });
      symbol.append(line(0, 7, 30, 7, { stroke: colour(index), "stroke-width": 1.8, "stroke-dasharray": dash(index) }), mark(index, 15, 7, 4.5));
      return html("li", {}, symbol, name);
    }), ...(made.signs || []).map((kind) => {
      const symbol = svg("svg", { width: 14, height: 14, viewBox: "0 0 14 14", "aria-hidden": "true" });
      symbol.append(sign(kind, 7, 7));
      return html("li", {}, symbol, data.signs[kind]);
    }));
    fillTable(made.table);
    part("csv").download = `${data.study}-${state.view}.csv`;
    part("csv").href = "data:text/csv;charset=utf-8," + encodeURIComponent(csv(made.table));
  }
  function fillTable({ heads, rows }) {
    const cell = (value) => (typeof value === "object" ? html("td", { "data-v": value.value }, value.shown) : html("td", { class: typeof value === "string" && "words" }, String(value)));
    part("table").replaceChildren(
      html("thead", {}, html("tr", {}, ...heads.map((head) => html("th", { scope: "col" }, head)))),
      html("tbody", {}, ...rows.map((row) => html("tr", {}, ...row.map(cell)))),
    );
  }
  function csv({ heads, rows }) {
    const quoted = (value) => (/[",\n]/.test(value) ? `"${value.replace(/"/g, '""')}"` : value);
    return [heads, ...rows].map((row) => row.map((value) => quoted(String(typeof value === "object" ? value.value : value))).join(",")).join("\r\n") + "\r\n";
  }

  // ---- Controls --------------------------------------------------------------------------------------------------------------
  function options(name, list, value) {
    const select = form.elements[name];
    select.replaceChildren(...list.map(([key, words]) => html("option", { value: key, selected: key === value }, words)));
    select.value = value;
    select.closest("label").hidden = !select.dataset.views.split(" ").includes(state.view) || list.length < 2;
  }
  function control() {
    const paths = factors().map((found) => [found.path, found.name]);
    for (const radio of form.elements.view) {
      radio.checked = radio.value === state.view;
      radio.disabled = !isPossible(radio.value, state.workload);
    }
    const purpose = { compare: ["Along the axis", "Series"], map: ["Columns", "Rows"], latency: ["", "Colour"], time: ["", "Colour"] }[state.view];
    ["x", "series"].forEach((name, index) => { form.elements[name].closest("label").firstChild.data = purpose[index]; });
    options("workload", data.workloads.map((found) => [found.name, found.name]), state.workload);
    options("metric", metricsOf(state.workload).map((found) => [found.name, found.words + (found.unit ? `, ${found.unit}` : "")]), state.metric);
    options("x", paths, state.x);
    options("series", [["", "none"], ...paths], state.series);
    options("panels", [["", "none"], ...paths], state.panels);
    options("operation", operationsOf(state.workload).map((name) => [name, name.replace(/_/g, " ")]), state.operation);
    const rates = data.series.filter((found) => ratesOf(state.workload).includes(found.name)).map((found) => [found.name, found.words]);
    options("rate", rates, state.rate);
    options("below", [["", "none"], ...rates], state.below);
    part("filters").replaceChildren(...factors().map((found) => html("fieldset", {}, html("legend", {}, found.name), ...found.levels.map((level) => {
      const box = html("input", { type: "checkbox", name: "only." + found.path, value: level });
      box.checked = !state.only[found.path] || state.only[found.path].includes(level);
      return html("label", {}, box, level);
    }))));
  }
  function changed(event) {
    const { name, value } = event.target;
    const next = { ...state, only: { ...state.only } };
    if (name.startsWith("only.")) {
      const boxes = [...form.querySelectorAll("input[type=checkbox]")].filter((box) => box.name === name);
      const ticked = boxes.filter((box) => box.checked).map((box) => box.value);
      if (ticked.length === boxes.length) delete next.only[name.slice(5)];
      else next.only[name.slice(5)] = ticked;
    } else {
      next[name] = value;
      if (name === "workload") next.only = {};
      // A factor that is taken from another place leaves its own for it.
      for (const place of ["x", "series", "panels"]) {
        if (value && place !== name && next[place] === value) next[place] = state[name];
      }
    }
    state = settled(next);
    history.replaceState(null, "", toAddress());
    // Boxes stay as they are, so that the focus stays on the one that was ticked.
    if (!name.startsWith("only.")) control();
    render();
  }
  const MOVES = { ArrowRight: [2, 1], ArrowLeft: [2, -1], ArrowDown: [1, 1], ArrowUp: [1, -1] };
  /// Arrows lead along a series and from series to series; what has the focus says its figures.
  function move(event) {
    const from = event.target.closest(".point");
    if (!from || !MOVES[event.key]) return;
    event.preventDefault();
    const [which, way] = MOVES[event.key];
    const place = (point) => point.dataset.at.split(",").map(Number);
    const here = place(from);
    // Sorted by panel, series and column for steps along a series; by column first for steps across.
    const order = which === 2 ? [0, 1, 2] : [2, 0, 1];
    const difference = (a, b) => order.map((key) => a[key] - b[key]).find((step) => step) || 0;
    const ahead = [...part("chart").querySelectorAll(".point")].filter((point) => difference(place(point), here) * way > 0);
    const [next] = ahead.sort((a, b) => difference(place(a), place(b)) * way);
    if (!next) return;
    from.setAttribute("tabindex", -1);
    next.setAttribute("tabindex", 0);
    next.focus();
  }
  async function copyLink() {
    const address = location.href.split("#")[0] + toAddress();
    const field = part("address");
    try {
      await navigator.clipboard.writeText(address);
      part("copied").textContent = "Copied.";
    } catch {
      field.hidden = false;
      field.value = address;
      field.select();
      part("copied").textContent = "Copy the address below.";
    }
  }

  let state = fromAddress();
  form.addEventListener("change", changed);
  form.addEventListener("submit", (event) => event.preventDefault());
  part("chart").addEventListener("keydown", move);
  part("copy").addEventListener("click", copyLink);
  addEventListener("hashchange", () => { state = fromAddress(); control(); render(); });
  let drawn = 0;
  new ResizeObserver(() => {
    const { clientWidth } = part("chart");
    if (Math.abs(clientWidth - drawn) > 8) { drawn = clientWidth; render(); }
  }).observe(part("chart"));
  form.hidden = part("result").hidden = false;
  control();
  drawn = part("chart").clientWidth;
  render();
  if (location.hash.includes("view=")) section.scrollIntoView();
  root.dataset.explore = "ready";
})();
