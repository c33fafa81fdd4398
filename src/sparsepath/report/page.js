"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const sizes = data.sizes;
  const shown = data.shown, errors = shown.values, errorsSe = shown.se;
  const name = shown.name === "error" ? (data.honest ? "error" : data.criterion) : shown.name;
  const kind = data.honest ? `${name} on new data` : name;
  const minimum = shown.chosen_by && !["RMSE", shown.chosen_by].includes(shown.name) ? `least ${shown.chosen_by}` : "least error";
  let place = sizes.indexOf(data.chosen);

  const make = (tag, text, attributes = {}) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  };
  const draw = (tag, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const brief = (value) => {
    if (value === null || value === undefined) return "";
    const size = Math.abs(value);
    if (size >= 1e4) return Math.round(value).toLocaleString("en");
    if (size !== 0 && size < 1e-4) return value.toExponential(3).replace(/\.?0*e\+?/, "e");
    return String(Number(value.toPrecision(5)));
  };
  const largestError = Math.max(...errors.filter((e) => e !== null).map(Math.abs), 0);
  const decimals = largestError > 0 ? Math.min(Math.max(3 - Math.floor(Math.log10(largestError)), 0), 8) : 3;
  const said = (e) => (e === null || e === undefined ? "" : shown.rate ? `${(100 * e).toFixed(1)} %` : largestError >= 1e4 ? brief(e) : e.toFixed(decimals));
  const names = (places) => places.map((p) => data.features[p]).join(", ");

  // The curve ----------------------------------------------------------------------------------
  // As wide as its place, so that letters have their size on a phone too.
  const W = Math.min(Math.max(at("curve").clientWidth || 640, 300), 720), H = Math.max(260, Math.round(0.56 * W));
  const LEFT = 62, RIGHT = 14, TOP = 14, BOTTOM = 42;
  const first = sizes[0], last = Math.max(sizes[sizes.length - 1], first + 1);
  const x = (size) => LEFT + ((size - first) / (last - first)) * (W - LEFT - RIGHT);
  const drawn = [], criterion = shown.criterion;
  errors.forEach((e, k) => {
    if (e === null) return;
    const se = errorsSe[k] || 0;
    drawn.push(e, e - se, e + se);
  });
  (criterion || []).forEach((e) => { if (e !== null) drawn.push(e); });
  const byNull = new Map(data.null ? data.null.sizes.map((size, k) => [size, data.null.median[k]]) : []);
  byNull.forEach((e) => { if (e !== null) drawn.push(e); });
  // Logarithmic where one error, as that of the empty model, would press all others to the floor.
  const known = errors.filter((e) => e !== null), least = Math.min(...known);
  const logarithmic = least > 0 && Math.max(...known) > 10 * least;
  const scaled = (e) => (logarithmic ? Math.log10(Math.max(e, least / 3)) : e);
  const heights = drawn.map(scaled), low = Math.min(...heights), high = Math.max(...heights);
  const room = (high - low || Math.abs(high) || 1) * 0.05;
  const y = (e) => TOP + ((high + room - scaled(e)) / (high - low + 2 * room)) * (H - TOP - BOTTOM);

  const line = (values) => values.map((e, k) => (e === null ? null : [x(sizes[k]), y(e)]))
    .filter((p) => p !== null).map((p, k) => (k ? "L" : "M") + p[0].toFixed(1) + " " + p[1].toFixed(1)).join("");

  function steps(from, to, count) {
    const rough = (to - from) / count, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
    const found = [];
    for (let v = Math.ceil(from / step) * step; v <= to + step * 1e-9; v += step) found.push(v);
    return found;
  }

  function decades() {
    const found = [], times = high - low > 3 ? [1] : [1, 2, 5];
    for (let p = Math.floor(low); p <= Math.ceil(high); p++) times.forEach((m) => found.push(m * 10 ** p));
    return found.filter((v) => Math.log10(v) >= low - room && Math.log10(v) <= high + room);
  }

  function curve() {
    const svg = draw("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label":
      `${kind} at sizes ${sizes[0]} to ${sizes[sizes.length - 1]}; the table of the path has the numbers` });
    const marks = logarithmic ? decades() : steps(low - room, high + room, 5);
    marks.forEach((v) => {
      svg.append(draw("line", { x1: LEFT, x2: W - RIGHT, y1: y(v), y2: y(v), class: "grid" }));
      svg.append(draw("text", { x: LEFT - 8, y: y(v) + 4, "text-anchor": "end", class: "faint" }, shown.rate ? `${Number((100 * v).toPrecision(3))} %` : brief(v)));
    });
    steps(first, last, W / 70).filter((v) => Number.isInteger(v)).forEach((v) => {
      svg.append(draw("text", { x: x(v), y: H - 22, "text-anchor": "middle", class: "faint" }, v));
    });
    svg.append(draw("text", { x: (LEFT + W - RIGHT) / 2, y: H - 4, "text-anchor": "middle" }, "number of features"));
    const top = [], bottom = [];
    errors.forEach((e, k) => {
      if (e === null || errorsSe[k] === null) return;
      top.push(`${x(sizes[k])},${y(e + errorsSe[k])}`);
      bottom.unshift(`${x(sizes[k])},${y(e - errorsSe[k])}`);
    });
    svg.append(draw("polygon", { points: [...top, ...bottom].join(" "), class: "band" }));
    if (data.null) svg.append(draw("path", { d: line(sizes.map((size) => byNull.get(size) ?? null)), class: "null" }));
    if (criterion) svg.append(draw("path", { d: line(criterion), class: "criterion" }));
    svg.append(draw("path", { d: line(errors), class: "honest" }));
    svg.append(draw("line", { id: "here", y1: TOP, y2: H - BOTTOM, class: "here" }));
    svg.append(draw("circle", { id: "dot", r: 5, fill: "var(--accent)" }));
    svg.addEventListener("click", (event) => {
      const box = svg.getBoundingClientRect();
      nearest(((event.clientX - box.left) / box.width) * W);
    });
    at("curve").append(svg);
    at("legend").textContent = data.honest
      ? `Line and band: ${kind} (${data.validation}) ± one standard error.` + (criterion ? ` Dashed: the same of the ${data.criterion}, which the search minimised (optimistic).` : "")
      : `${name}: from the criterion that the search minimised (${data.criterion}), not an error on new data.`;
    if (logarithmic) at("legend").textContent += " The scale is logarithmic.";
    if (data.null && data.null.median.some((e) => e !== null)) at("legend").textContent += ` Dotted: the same search on shuffled targets (median of ${data.null.shuffles}).`;
  }

  function nearest(position) {
    let best = 0;
    sizes.forEach((size, k) => {
      if (Math.abs(x(size) - position) < Math.abs(x(sizes[best]) - position)) best = k;
    });
    go(best);
  }

  // The map ------------------------------------------------------------------------------------
  const longest = Math.max(...data.features.map((name) => name.length), 4);
  const NAME = Math.min(7.2 * longest + 14, 230, 0.45 * at("map").clientWidth || 230), LETTERS = Math.floor((NAME - 14) / 6.4);
  const ROW = 20, CELL = Math.max(5, Math.min(26, (at("map").clientWidth - NAME - 10) / sizes.length || 26));
  function map() {
    const wanted = at("find").value.trim().toLowerCase();
    const rows = data.features.map((name, p) => [name, p])
      .filter(([name]) => name.toLowerCase().includes(wanted));
    const never = data.n_features - data.features.length;
    at("found").textContent = `${rows.length} of ${data.features.length} features that are selected at some size`
      + (never ? `; ${never.toLocaleString("en")} of ${data.n_features.toLocaleString("en")} are never selected` : "");
    const height = rows.length * ROW + 24, width = NAME + sizes.length * CELL + 8;
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
      style: `width:${width}px`, "aria-label": "features selected at each size" });
    rows.forEach(([name, p], r) => {
      const text = draw("text", { x: NAME - 8, y: r * ROW + 14, "text-anchor": "end" },
        name.length > LETTERS ? name.slice(0, LETTERS - 1) + "…" : name);
      text.append(draw("title", {}, name));
      svg.append(text);
      let from = null;
      for (let k = 0; k <= sizes.length; k++) {
        const inside = k < sizes.length && data.subsets[k].includes(p);
        if (inside && from === null) from = k;
        if (!inside && from !== null) {
          svg.append(draw("rect", { x: NAME + from * CELL, y: r * ROW + 2, width: (k - from) * CELL - 1,
            height: ROW - 4, rx: 2, class: data.subsets[place].includes(p) ? "bar in" : "bar" }));
          from = null;
        }
      }
    });
    const every = Math.ceil(26 / CELL);
    sizes.forEach((size, k) => {
      if (k % every === 0) svg.append(draw("text", { x: NAME + (k + 0.5) * CELL, y: height - 6, "text-anchor": "middle", class: "faint" }, size));
    });
    svg.append(draw("line", { x1: NAME + (place + 0.5) * CELL, x2: NAME + (place + 0.5) * CELL, y1: 0, y2: height - 20, class: "here" }));
    svg.addEventListener("click", (event) => {
      const box = svg.getBoundingClientRect();
      const k = Math.floor((((event.clientX - box.left) / box.width) * width - NAME) / CELL);
      if (k >= 0 && k < sizes.length) go(k);
    });
    at("map").replaceChildren(svg);
  }

  // One feature against the target ---------------------------------------------------------------
  const CLASS_COLOURS = ["--accent", "--other", "--third", "--fourth", "--fifth", "--sixth"];
  function sketch(p) {
    const of = data.sketches && data.sketches[p];
    if (!of) return "";
    const w = 132, h = 44, bars = 12, n = of.counts.length, step = w / n, top = h - bars - 2;
    const middle = (i) => (i + 0.5) * step, most = Math.max(...of.counts, 1);
    const svg = draw("svg", { viewBox: `0 0 ${w} ${h}`, class: "sketch", role: "img" });
    of.counts.forEach((rows, i) => svg.append(draw("rect", { x: i * step + 0.5, width: Math.max(step - 1, 0.5),
      y: h - (rows / most) * bars, height: (rows / most) * bars, class: "rows" })));
    const full = of.counts.map((rows, i) => i).filter((i) => of.counts[i] > 0);
    let told;
    if (of.shares && of.shares.length > 2) {
      full.forEach((i) => {
        let from = 0;
        of.shares.forEach((share, c) => {
          svg.append(draw("rect", { x: i * step + 0.5, width: Math.max(step - 1, 0.5), y: from * top, height: share[i] * top, style: `fill:var(${CLASS_COLOURS[c]})` }));
          from += share[i];
        });
      });
      told = full.map((i) => `${of.labels[i]}: ${data.classes.map((c, k) => `${c} ${Math.round(100 * of.shares[k][i])} %`).join(", ")}`);
    } else {
      const values = of.shares ? of.shares[of.shares.length - 1] : of.means, [low, high] = of.shares ? [0, 1] : data.target;
      const at = (v) => 2 + (1 - Math.min(Math.max((v - low) / (high - low || 1), 0), 1)) * (top - 4);
      const bars = of.category === true;
      if (of.quartiles && !bars) {
        const band = [...full.map((i) => [i, 1]), ...[...full].reverse().map((i) => [i, 0])];
        svg.append(draw("polygon", { points: band.map(([i, side]) => `${middle(i)},${at(of.quartiles[side][i])}`).join(" "), class: "middle" }));
      }
      if (bars) {
        full.forEach((i) => svg.append(draw("rect", { x: i * step + 1, width: Math.max(step - 2, 1), y: at(values[i]), height: Math.max(top - at(values[i]), 1), class: "dot" })));
      } else {
        svg.append(draw("polyline", { points: full.map((i) => `${middle(i)},${at(values[i])}`).join(" "), class: "mean" }));
        full.forEach((i) => svg.append(draw("circle", { cx: middle(i), cy: at(values[i]), r: 2, class: "dot" })));
      }
      told = full.map((i) => `${of.labels[i]}: ${of.shares ? Math.round(100 * values[i]) + " %" : brief(values[i])}`);
    }
    const text = `${data.features[p]} against the target; ${told.join("; ")}`;
    svg.setAttribute("aria-label", text);
    svg.append(draw("title", {}, text));
    return svg;
  }

  function weighed(weight, largest) {
    const cell = make("span", weight.toPrecision(2), { class: "weighed" });
    cell.append(bar(weight, largest));
    return cell;
  }

  function bar(value, largest) {
    const made = make("span", undefined, { class: value < 0 ? "weight minus" : "weight", "aria-hidden": "true" });
    made.style.width = `${(3 * Math.abs(value)) / (largest || 1)}em`;
    return made;
  }

  function explain() {
    const lines = [];
    if (data.weights) lines.push(`Weight: standardised coefficient (coefficient × standard deviation of the feature${data.by_target ? " ÷ standard deviation of the target" : ""}).`);
    if (data.rises) lines.push(data.rises.refitted
      ? `Increase without it: by how many percent the ${data.rises.kind} increases if the feature is removed and the others are refitted, for the recommended size. The search used these rows.`
      : `Increase without it: increase of the ${data.rises.kind} if the feature is fixed at its mean, without refitting, for the recommended size. The model was fitted to these rows.`);
    if (data.sketches) lines.push(`Against the target: grey bars are the number of rows, ${data.classes ? (data.classes.length > 2 ? `colours the shares of ${data.classes.join(", ")}` : `the line, or bars of categories, are the share of ${data.classes[data.classes.length - 1]}`) : data.survival ? "the line, or bars of categories, are events per unit of time" : "the line is the mean of the target, the band its middle half; of categories bars show the mean"}${data.rows_seen < data.n_samples ? `; of ${data.rows_seen.toLocaleString("en")} rows` : ""}.`);
    if (data.alike && data.alike.some((each) => each.length)) lines.push("Most alike: the most correlated numeric columns, which could replace the feature.");
    if (data.frequencies) lines.push("In half-samples: how often the feature is selected when the search is repeated on random halves of the rows. Interchangeable with: features selected instead.");
    lines.forEach((text) => at("explained").append(make("li", text)));
  }

  // One size -----------------------------------------------------------------------------------
  // Columns that have nothing to say are left out. Roles, since a phone shows rows as blocks.
  function table(node, head, rows) {
    const says = (cell) => cell !== "" && cell !== null && cell !== undefined;
    const told = head.map((_, c) => c === 0 || rows.some((cells) => says(cells[c])));
    head = head.filter((_, c) => told[c]);
    rows = rows.map((cells) => cells.filter((_, c) => told[c]));
    const top = make("thead", undefined, { role: "rowgroup" }), body = make("tbody", undefined, { role: "rowgroup" });
    const titles = make("tr", undefined, { role: "row" });
    head.forEach(([text, number]) => titles.append(make("th", text, { scope: "col", role: "columnheader", class: number ? "number" : "", "data-head": text })));
    top.append(titles);
    rows.forEach((cells) => {
      const row = make("tr", undefined, { role: "row" });
      cells.forEach((cell, c) => {
        const made = make(c ? "td" : "th", cell instanceof Node ? undefined : cell, { class: head[c][1] ? "number" : "", "data-head": head[c][0],
          role: c ? "cell" : "rowheader", ...(c ? {} : { scope: "row" }) });
        if (cell instanceof Node) made.append(cell);
        row.append(made);
      });
      body.append(row);
    });
    node.replaceChildren(top, body);
    return body;
  }

  function go(k) {
    place = k;
    const size = sizes[k], subset = data.subsets[k], before = k ? data.subsets[k - 1] : [];
    at("size").value = k;
    const chosen = size === data.chosen ? " (recommended)" : size === data.least ? ` (${minimum})` : "";
    at("size").setAttribute("aria-valuetext", `${size} features, ${kind} ${said(errors[k])}${chosen}`);
    at("size-said").textContent = `${size} of ${data.n_features.toLocaleString("en")}${chosen}`;
    at("h-chosen").textContent = size ? `The ${size === 1 ? "feature" : size + " features"} at this size` : "No feature";
    const told = [];
    if (errors[k] !== null) told.push(`${kind[0].toUpperCase()}${kind.slice(1)}: ${said(errors[k])}${errorsSe[k] === null ? "" : ` (standard error ${said(errorsSe[k])})`}${shown.beside && shown.beside_values[k] !== null ? `, ${shown.beside} ${shown.beside_values[k].toFixed(3)}` : ""}.`);
    if (data.honest && size === data.chosen && data.answer.length > 1) told.push(`The answer above is corrected for choosing the best of ${sizes.length} sizes; this is not.`);
    at("figures").textContent = told.join(" ");
    const added = subset.filter((p) => !before.includes(p)), gone = before.filter((p) => !subset.includes(p));
    at("changes").textContent = k === 0 ? "" : `Compared with the previous size: ${added.length ? "adds " + names(added) : "adds nothing"}${gone.length ? ", removes " + names(gone) : ""}.`;
    const stable = data.stability && data.stability.index[size];
    at("chance").textContent = [
      stable === null || stable === undefined ? "" : `Stability of this selection over ${data.stability.halves} random halves of the rows: ${stable.toFixed(2)} (1: the same features every time, 0: random).`,
      data.null && byNull.has(size) && size ? `On shuffled targets the same search reaches ${brief(byNull.get(size))} at this size (median); p = ${Number(data.null.p_value.toPrecision(3))} for the path.` : "",
    ].join(" ").trim();
    const coef = data.coef[k], often = data.frequencies && data.frequencies[size];
    const weights = data.weights && data.weights[k], rises = size === data.chosen ? data.rises : null;
    const groups = (data.stand_ins && data.stand_ins[size]) || [];
    const largest = weights ? Math.max(...weights.map(Math.abs), 0) : 0;
    const inUnits = (c, p) => {
      const per = data.units && data.units[p] ? ` per ${data.units[p]}` : "";
      if (!Array.isArray(c)) return brief(c) + per;
      const list = make("ul", undefined, { class: "parts" });
      const most = Math.max(...c.map(([, b]) => Math.abs(b)), 0);
      c.forEach(([label, b]) => {
        const item = make("li", `${label} ${brief(Number(b.toPrecision(3)))}${label === "value" ? per : ""}`);
        item.append(bar(b, most));
        list.append(item);
      });
      return list;
    };
    at("features").style.setProperty("--name", `${Math.min(longest + 2, 28)}ch`);
    const head = [["feature", false]];
    if (coef) head.push(["coefficient", coef.every((c) => !Array.isArray(c))]);
    if (weights) head.push(["weight", false]);
    if (rises) head.push(["increase without it", true]);
    if (data.sketches) head.push(["against the target", false]);
    if (data.alike) head.push(["most alike", false]);
    if (often) head.push(["in half-samples", true], ["interchangeable with", false]);
    head.push(["first at size", true]);
    table(at("features"), head, subset.map((p, i) => {
      const name = data.features[p], cells = [name];
      if (coef) cells.push(inUnits(coef[i], p));
      if (weights) cells.push(weighed(weights[i], largest));
      if (rises) cells.push(rises.values[i] === null ? "" : rises.refitted && data.errors[k] > 0 ? `${Number(((100 * rises.values[i]) / data.errors[k]).toPrecision(2)).toLocaleString("en")} %` : brief(rises.values[i]));
      if (data.sketches) cells.push(sketch(p));
      if (data.alike) cells.push(((data.alike[p]) || []).map(([other, r]) => `${other} (${r.toFixed(2)})`).join(", "));
      if (often) {
        const group = groups.find((g) => g.includes(name)) || [];
        cells.push(often[p] === null ? "" : `${Math.round(100 * often[p])} %`, group.filter((other) => other !== name).join(", "));
      }
      cells.push(sizes[data.subsets.findIndex((s) => s.includes(p))]);
      return cells;
    }));
    const mark = at("here"), dot = at("dot");
    mark.setAttribute("x1", x(size)); mark.setAttribute("x2", x(size));
    if (errors[k] !== null) { dot.setAttribute("cx", x(size)); dot.setAttribute("cy", y(errors[k])); }
    confusion(k);
    probabilities(k);
    downloads(size);
    byHand(size);
    [...at("path").tBodies[0].rows].forEach((row, r) => (r === k ? row.setAttribute("aria-current", "true") : row.removeAttribute("aria-current")));
    map();
  }

  const count = (size) => `${size} feature${size === 1 ? "" : "s"}`;

  function confusion(k) {
    const found = data.confusion && data.confusion[k];
    at("classes").hidden = !found;
    if (!found) return;
    const rows = (n) => n.toLocaleString("en", { maximumFractionDigits: 0 });
    const sum = (values) => values.reduce((a, b) => a + b, 0);
    const head = [["true class", false], ...data.labels.map((label) => [`predicted ${label}`, true]), ["found", true]];
    table(at("confusion"), head, found.map((row, c) => [data.labels[c], ...row.map(rows), sum(row) > 0 ? `${((100 * row[c]) / sum(row)).toFixed(1)} %` : ""]));
    at("right").textContent = data.labels.map((label, c) => {
      const called = sum(found.map((row) => row[c]));
      return called >= 0.5 ? `Of ${rows(called)} rows predicted as ${label}, ${((100 * found[c][c]) / called).toFixed(1)} % are.` : `No row is predicted as ${label}.`;
    }).join(" ");
  }

  // Both from tenths of the probability: a dot for each tenth, and for each threshold between them.
  function unitSquare(node, label, points, diagonal, across) {
    const side = 240, left = 46, bottom = 40, top = 8, w = side - left - 24, h = side - top - bottom;
    const svg = draw("svg", { viewBox: `0 0 ${side} ${side}`, role: "img", "aria-label": label, style: `max-width:${side + 60}px` });
    const px = (v) => left + v * w, py = (v) => top + (1 - v) * h;
    [0, 0.5, 1].forEach((v) => {
      svg.append(draw("line", { x1: left, x2: left + w, y1: py(v), y2: py(v), class: "grid" }));
      svg.append(draw("text", { x: left - 6, y: py(v) + 4, "text-anchor": "end", class: "faint" }, `${100 * v} %`));
      svg.append(draw("text", { x: px(v), y: side - 24, "text-anchor": "middle", class: "faint" }, `${100 * v} %`));
    });
    svg.append(draw("text", { x: left + w / 2, y: side - 6, "text-anchor": "middle" }, across));
    if (diagonal) svg.append(draw("line", { x1: px(0), y1: py(0), x2: px(1), y2: py(1), class: "here" }));
    svg.append(draw("polyline", { points: points.map((p) => `${px(p.x)},${py(p.y)}`).join(" "), class: "mean" }));
    points.forEach((p) => {
      const dot = draw("circle", { cx: px(p.x), cy: py(p.y), r: 3.5, class: "dot" });
      dot.append(draw("title", {}, p.told));
      svg.append(dot);
    });
    node.replaceChildren(svg);
  }

  function probabilities(k) {
    const found = data.reliability && data.reliability[k], label = data.labels && data.labels[1];
    at("probable").hidden = !found || !found.length;
    if (at("probable").hidden) return;
    const percent = (v) => `${(100 * v).toFixed(0)} %`, bins = found.filter(([, , n]) => n > 0);
    const all = bins.reduce((sum, [, share, n]) => sum + share * n, 0);
    at("h-reliability").textContent = `Are probabilities right? Share of ${label} (up) among rows with the same predicted probability; on the diagonal they are`;
    unitSquare(at("reliability"), `share of ${label} against its predicted probability`, bins.map(([mean, share, n]) => ({
      x: mean, y: share, told: `predicted ${percent(mean)}: ${percent(share)} of ${Math.round(n).toLocaleString("en")} rows are ${label}` })), true, `probability of ${label}`);
    const steps = [];
    for (let i = found.length - 1, called = 0, right = 0; i >= 0; i--) {
      called += found[i][2];
      right += found[i][1] * found[i][2];
      if (called > 0 && all > 0 && found[i][2] > 0) steps.push({ x: right / all, y: right / called, told: `probability from ${percent(i / found.length)}: ${percent(right / all)} of ${label} found, ${percent(right / called)} of those called ${label} are` });
    }
    at("h-recall").textContent = `Precision (up) and recall: share of rows called ${label} that are, and share of ${label} found, for thresholds of the probability`;
    unitSquare(at("recall"), `precision against recall of ${label}`, steps, false, `${label} found (recall)`);
  }

  // The path, downloads, run, prediction ---------------------------------------------------------
  function path() {
    const head = [["size", true], [kind, true], ["std. error", true], [shown.beside || "", true], ["enters", false], ["leaves", false], ["", false]];
    const body = table(at("path"), head, sizes.map((size, k) => {
      const subset = data.subsets[k], before = k ? data.subsets[k - 1] : [];
      const beside = shown.beside && shown.beside_values[k] !== null ? shown.beside_values[k].toFixed(3) : "";
      const cells = [size, said(errors[k]), said(errorsSe[k]), beside];
      cells.push(names(subset.filter((p) => !before.includes(p))), names(before.filter((p) => !subset.includes(p))));
      cells.push([size === data.chosen ? "recommended" : "", size === data.least ? minimum : ""].filter(Boolean).join(", "));
      return cells;
    }));
    [...body.rows].forEach((row, k) => row.addEventListener("click", () => go(k)));
  }

  function csv() {
    const formula = /^([=@\t\r].|[+-](?![\d.,]*\d(e[+-]?\d+)?$).)/is; // what a spreadsheet would compute
    const quote = (text) => `"${formula.test(text) ? "'" : ""}${text.replaceAll('"', '""')}"`;
    const lines = [["size", "error", "error_se", "error_kind", ...(data.honest ? ["honest_error", "honest_error_se"] : []), "features"].join(",")];
    sizes.forEach((size, k) => lines.push([size, data.errors[k], data.errors_se[k], data.error_kind,
      ...(data.honest ? [data.honest[k], data.honest_se[k]] : []), quote(data.subsets[k].map((p) => data.features[p]).join("; "))].join(",")));
    return lines.join("\n") + "\n";
  }

  const FILES = { c: "model.c", sql: "model.sql", javascript: "model.js", python: "model.py", json: "model.formula.json", onnx: "model.onnx" };
  function downloads(size) {
    const programs = data.programs[size] || {}, files = { "path.csv": csv, "path.json": () => JSON.stringify(data, null, 1) };
    const content = { onnx: (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)) };
    Object.entries(programs).forEach(([language, text]) => {
      files[FILES[language]] = () => (content[language] ? content[language](text) : text);
    });
    at("downloads").replaceChildren(...Object.entries(files).map(([name, content]) => {
      const link = make("a", `Download ${name}`, { href: "#", download: name });
      link.addEventListener("click", () => {
        link.href = URL.createObjectURL(new Blob([content()], { type: name.endsWith(".onnx") ? "application/octet-stream" : "text/plain" }));
      });
      return link;
    }));
    at("which").textContent = Object.keys(programs).length ? `The programs are the model with ${count(size)}, the size that the slider shows.`
      : Object.keys(data.programs).length ? `The model with ${count(size)} as a program: sparsepath export result/model.json --size ${size} --to c` : "";
  }

  function aside() {
    if (!data.columns || !data.columns.length) return;
    at("set-aside").hidden = false;
    table(at("aside"), [["why", false], ["action", false], ["columns", false]], data.columns.map((each) => {
      const more = each.count - each.names.length;
      return [each.why, each.out ? "left out" : "kept", each.names.join(", ") + (more > 0 ? ` and ${more.toLocaleString("en")} more` : "")];
    }));
  }

  function run() {
    const said = { "Command": data.run.command, "Python": data.run.code, "Method": data.method, "Seed": data.run.seed, "Fingerprint of the data": data.run.fingerprint,
      "Versions": Object.entries(data.run.versions).map(([n, v]) => `${n} ${v}`).join(", "),
      "Parameters": Object.entries(data.run.parameters).map(([n, v]) => `${n}=${v}`).join(", ") };
    Object.entries(said).forEach(([name, text]) => {
      if (text !== null && text !== undefined && text !== "") at("run").append(make("dt", name), make("dd", String(text)));
    });
  }

  // What is typed stays when the size changes.
  const typed = {};
  function byHand(size) {
    const predict = predictors[size];
    at("by-hand").hidden = !predict || predict.inputs.length === 0 || predict.inputs.length > 60;
    at("inputs").replaceChildren();
    if (at("by-hand").hidden) return;
    at("of-size").textContent = `With the model of ${count(size)}${size === data.chosen ? ", the recommended one" : ""}. The values are typical of the data (median, or most frequent); change them.`;
    predict.inputs.forEach((name, i) => {
      const field = make("div"), { kind, values, unit } = predict.kinds[i], id = `in-${i}`;
      const known = data.starts && data.starts[name];
      // The model may have no number of its own for the most frequent value.
      const choices = kind === "flag" ? ["true", "false"] : [...new Set([...(values || []), ...(known ? [known.start] : [])])];
      let input;
      if (kind === "choice" || kind === "flag") {
        input = make("select", undefined, { id });
        ["", ...choices].forEach((value) => input.append(make("option", value)));
      } else {
        input = make("input", undefined, kind === "date" ? { id, type: "date" } : { id, type: "number", step: "any" });
      }
      const hint = make("span", "", { class: "soft", id: `hint-${i}`, role: "status" });
      if (typed[name] !== undefined) input.value = typed[name];
      else if (known) input.value = known.start;
      input.addEventListener("input", () => (typed[name] = input.value));
      input.setAttribute("aria-describedby", hint.id);
      field.append(make("label", unit && !name.includes(unit) ? `${name}, in ${unit}` : name, { for: id }), input, hint);
      at("inputs").append(field);
    });
    predicted();
  }

  function predicted() {
    const predict = predictors[sizes[place]];
    const value = (i) => {
      const text = at(`in-${i}`).value, kind = predict.kinds[i].kind;
      if (text === "") return kind === "number" ? NaN : null;
      return kind === "number" ? Number(text) : kind === "flag" ? text === "true" : text;
    };
    const end = (bound) => (typeof bound === "number" ? brief(bound) : bound);
    const row = Object.create(null); // in which "__proto__" is a name like any other
    predict.inputs.forEach((name, i) => {
      const known = data.starts && data.starts[name], given = (row[name] = value(i));
      const judged = known && known.low !== undefined && given !== null && !Number.isNaN(given);
      at(`hint-${i}`).textContent = judged && (given < known.low || given > known.high) ? `outside the data (${end(known.low)} to ${end(known.high)})` : "";
    });
    try {
      const found = predict(row);
      const shares = predict.probabilities ? predict.probabilities(row) : null;
      at("predicted").textContent = shares ? `${found} (${predict.classes.map((c, j) => `${c} ${(100 * shares[j]).toFixed(1)} %`).join(", ")})`
        : typeof found !== "number" ? String(found)
          : data.survival ? `risk score ${found.toFixed(3)}: the hazard is ${brief(Number(Math.exp(found).toPrecision(3)))} times that of an average row` : brief(found);
    } catch {
      at("predicted").textContent = "fill in every value";
    }
  }
  at("inputs").addEventListener("submit", (event) => event.preventDefault());
  at("inputs").addEventListener("input", predicted);

  at("size").max = sizes.length - 1;
  at("size").addEventListener("input", () => go(Number(at("size").value)));
  at("back").addEventListener("click", () => go(sizes.indexOf(data.chosen)));
  at("find").addEventListener("input", map);
  curve();
  path();
  run();
  aside();
  explain();
  go(place);
})();
