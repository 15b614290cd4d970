"use strict";
// A space-time diagram: a lane for each machine, time from left to right. Messages are arrows,
// operations bars, faults bands, what was logged or noted dots. It shows a window of the time.
const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes, text) {
  const e = document.createElementNS(SVG, name);
  for (const key in attributes) e.setAttribute(key, attributes[key]);
  if (text !== undefined) e.textContent = text;
  return e;
}

function html(name, attributes, text) {
  const e = document.createElement(name);
  for (const key in attributes) e.setAttribute(key, attributes[key]);
  if (text !== undefined) e.textContent = text;
  return e;
}

function time(ns, digits) { return (ns / 1e9).toFixed(digits === undefined ? 6 : digits) + "s"; }

class Diagram {
  constructor(box, run) {
    this.run = run;
    this.chosen = -1;
    run.items.forEach((item, i) => { item.i = i; });
    this.stack();
    this.box = box;
    box.textContent = "";
    box.append(this.toolbar());
    this.svg = element("svg", {
      tabindex: "0", role: "application",
      "aria-label": "Space-time diagram of seed " + run.seed + ". Arrow keys move and choose, plus and minus zoom, F shows the failure, A everything.",
    });
    this.detail = html("div", { class: "detail", role: "status", "aria-live": "polite" });
    box.append(this.svg, this.detail, this.legend());
    this.toFailure();
    this.listen();
    this.say();
    new ResizeObserver(() => this.draw()).observe(box);
  }

  // stack puts the faults into rows in which none overlap.
  stack() {
    const ends = [];
    for (const f of this.run.items) {
      if (f.k !== "fault") continue;
      let row = ends.findIndex((end) => end < f.b);
      if (row < 0) row = ends.length;
      ends[row] = Math.max(f.e, f.b + 1);
      f.row = row;
    }
    this.faultRows = ends.length;
  }

  toolbar() {
    const bar = html("div", { class: "toolbar" });
    const button = (text, label, act) => {
      const b = html("button", { type: "button", "aria-label": label, title: label }, text);
      b.onclick = act;
      bar.append(b);
    };
    button("\u2212", "Zoom out (-)", () => this.zoom(2));
    button("+", "Zoom in (+)", () => this.zoom(0.5));
    button("\u25c0", "Earlier (left)", () => this.pan(-0.3));
    button("\u25b6", "Later (right)", () => this.pan(0.3));
    button("failure", "To the failure (F)", () => this.toFailure());
    button("all", "All that is known (A)", () => this.show(this.run.from, this.run.until));
    button("previous", "Choose the item before (up, P)", () => this.step(-1));
    button("next", "Choose the next item (down, N)", () => this.step(1));
    bar.append(html("span", { class: "keys" }, "drag to move, Ctrl+wheel to zoom; keys: \u2190 \u2192 + \u2212 F A, \u2191 \u2193 choose"));
    return bar;
  }

  legend() {
    const legend = html("div", { class: "legend" });
    const entry = (text, ...shapes) => {
      const span = html("span", {});
      const icon = element("svg", { viewBox: "0 0 26 12", "aria-hidden": "true" });
      icon.append(...shapes);
      span.append(icon, text);
      legend.append(span);
    };
    entry("message", element("path", { class: "message", d: "M2 2L22 10" }), element("path", { class: "head", d: "M24 11L17 10L19 6Z" }));
    entry("lost", element("path", { class: "drop", d: "M2 2L20 9" }), element("path", { class: "cross", d: "M17 6L23 12M23 6L17 12" }));
    entry("operation", element("rect", { class: "op", x: 2, y: 2, width: 22, height: 8, rx: 2 }));
    entry("fault", element("rect", { class: "fault", x: 2, y: 2, width: 22, height: 8 }));
    entry("down or paused", element("rect", { class: "down", x: 2, y: 2, width: 22, height: 8 }));
    entry("log line", element("circle", { class: "log", cx: 13, cy: 6, r: 3.5 }));
    entry("state noted", element("circle", { class: "note", cx: 13, cy: 6, r: 3.5 }));
    entry("check", element("circle", { class: "check", cx: 13, cy: 6, r: 3.5 }));
    entry("start", element("path", { class: "start", d: "M9 1L18 6L9 11Z" }));
    entry("crash", element("path", { class: "crash", d: "M9 2H17V10H9Z" }));
    return legend;
  }

  // show sets the window, in ns.
  show(from, until) {
    const { run } = this;
    const whole = Math.max(run.until - run.from, 1000);
    let span = Math.min(Math.max(until - from, 1000), whole * 1.1);
    let start = from + (until - from - span) / 2;
    start = Math.min(Math.max(start, run.from - whole * 0.05), run.until + whole * 0.05 - span);
    this.from = start;
    this.until = start + span;
    this.draw();
  }

  // toFailure shows the failure, and before it as long as some eighty items took.
  toFailure() {
    const { run } = this;
    const before = run.items.filter((i) => i.k !== "fault" && i.k !== "down" && i.e <= run.fail);
    const first = before[Math.max(0, before.length - 80)];
    const span = Math.max(run.fail - (first ? first.b : run.from), 1000);
    this.show(run.fail - span, run.fail + span * 0.12);
  }

  // zoom keeps a point of time where it is: that given, or else what is chosen, the failure, the
  // middle, the first of them that is to be seen.
  zoom(factor, around) {
    const points = [around, this.chosen >= 0 ? this.run.items[this.chosen].b : undefined, this.run.fail];
    const seen = points.find((at) => at !== undefined && at >= this.from && at <= this.until);
    const at = seen === undefined ? (this.from + this.until) / 2 : seen;
    this.show(at - (at - this.from) * factor, at + (this.until - at) * factor);
  }

  pan(share) {
    const by = (this.until - this.from) * share;
    this.show(this.from + by, this.until + by);
  }

  // step chooses the next item, or the one before, and moves the window to it.
  step(by) {
    const { items, fail } = this.run;
    if (!items.length) return;
    let next = this.chosen + by;
    if (this.chosen < 0) {
      next = 0;
      items.forEach((item, i) => { if (item.b <= fail) next = i; });
    }
    this.choose(Math.min(Math.max(next, 0), items.length - 1));
    const item = items[this.chosen];
    const end = Math.min(item.e, item.b + (this.until - this.from) / 2);
    if (item.b < this.from || end > this.until) {
      const span = this.until - this.from;
      this.show(item.b - span / 2, item.b + span / 2);
    }
  }

  choose(index) {
    this.chosen = index;
    this.say(this.run.items[index]);
    this.draw();
  }

  // say tells about an item in words.
  say(item) {
    if (!item) {
      this.detail.textContent = "The failure is at " + time(this.run.fail) + ". Point at something to read what it is.";
      return;
    }
    let when = time(item.b);
    if (item.e !== item.b) when += " to " + time(item.e) + " (" + ((item.e - item.b) / 1e6).toFixed(3) + " ms)";
    if (item.u) when = time(item.b) + ", not ended";
    const where = item.l >= 0 && item.k !== "message" && item.k !== "drop" ? " on " + this.run.lanes[item.l] : "";
    const kind = { message: "delivered", drop: "lost", op: "operation", down: "down", fail: "violation" }[item.k] || item.k;
    this.detail.textContent = kind + where + ", " + when + ", event " + item.n + "\n" + item.t;
    this.detail.style.whiteSpace = "pre-wrap";
  }

  listen() {
    const { svg } = this;
    svg.addEventListener("keydown", (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      const act = {
        ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), ArrowUp: () => this.step(-1), ArrowDown: () => this.step(1),
        p: () => this.step(-1), n: () => this.step(1), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
        f: () => this.toFailure(), Home: () => this.toFailure(), a: () => this.show(this.run.from, this.run.until),
      }[e.key];
      if (act) {
        act();
        e.preventDefault();
      }
    });
    svg.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && !e.metaKey) return; // the page scrolls
      e.preventDefault();
      this.zoom(e.deltaY > 0 ? 1.25 : 0.8, this.at(e));
    }, { passive: false });
    let grabbed = null;
    svg.addEventListener("pointerdown", (e) => {
      if (e.button !== 0) return;
      grabbed = { x: e.clientX, from: this.from, until: this.until };
    });
    svg.addEventListener("pointermove", (e) => {
      if (grabbed && Math.abs(e.clientX - grabbed.x) > 3) {
        if (!svg.classList.contains("dragging")) {
          svg.classList.add("dragging");
          svg.setPointerCapture(e.pointerId);
        }
        const by = ((grabbed.x - e.clientX) / this.width) * (grabbed.until - grabbed.from);
        this.show(grabbed.from + by, grabbed.until + by);
        return;
      }
      const mark = e.target.closest("[data-i]");
      if (mark) this.say(this.run.items[mark.dataset.i]);
    });
    const release = () => {
      grabbed = null;
      svg.classList.remove("dragging");
    };
    svg.addEventListener("pointerup", release);
    svg.addEventListener("pointercancel", release);
    svg.addEventListener("click", (e) => {
      const mark = e.target.closest("[data-i]");
      if (mark) this.choose(Number(mark.dataset.i));
    });
  }

  // at is the time under the pointer.
  at(e) {
    const x = e.clientX - this.svg.getBoundingClientRect().left - this.left;
    return this.from + (x / this.width) * (this.until - this.from);
  }

  x(ns) {
    const x = this.left + ((ns - this.from) / (this.until - this.from)) * this.width;
    return Math.min(Math.max(x, -1e4), 1e5);
  }

  y(lane) { return this.top + (lane + 0.5) * this.laneHeight; }

  draw() {
    const { run, svg } = this;
    const whole = this.box.clientWidth - 2;
    if (whole <= 0) return;
    const narrow = whole < 560;
    this.left = narrow ? 8 : 14 + 7.2 * Math.max(6, ...run.lanes.map((name) => Math.min(name.length, 18)));
    this.width = Math.max(whole - this.left - 12, 50);
    this.laneHeight = narrow ? 54 : 48;
    const faultTop = 22;
    const shown = run.items.filter((i) => i.e >= this.from && i.b <= this.until);
    const rows = [...new Set(shown.filter((i) => i.k === "fault").map((i) => i.row))].sort((a, b) => a - b);
    this.top = faultTop + rows.length * 17 + 8;
    const bottom = this.top + run.lanes.length * this.laneHeight;
    const height = bottom + 26;
    svg.setAttribute("viewBox", "0 0 " + whole + " " + height);
    svg.setAttribute("height", height);
    svg.textContent = "";

    const clipId = "clip-" + run.seed + "-" + run.oracle.replace(/[^a-z0-9]/gi, "-");
    const clip = element("clipPath", { id: clipId });
    clip.append(element("rect", { x: this.left, y: 0, width: this.width, height }));
    const defs = element("defs", {});
    defs.append(clip);
    const inside = element("g", { "clip-path": "url(#" + clipId + ")" });
    svg.append(defs, inside);
    this.axis(inside, bottom);
    this.laneLines(inside, whole);

    const layers = ["down", "fault", "op", "message", "drop", "log", "note", "check", "start", "resume", "crash", "pause", "fail"];
    for (const kind of layers) {
      for (const item of shown) if (item.k === kind) this.item(inside, item, rows, faultTop, bottom);
    }
    const x = this.x(run.fail);
    if (run.fail >= this.from && run.fail <= this.until) {
      inside.append(element("line", { class: "failure", x1: x, x2: x, y1: 4, y2: bottom }));
      const end = x > this.left + this.width - 120;
      inside.append(element("text", { class: "failure", x: end ? x - 5 : x + 5, y: 14, "text-anchor": end ? "end" : "start" }, "failure"));
    }
    this.laneNames(svg, narrow);
    if (!shown.length) svg.append(element("text", { class: "soft", x: this.left + 10, y: this.top + 14 }, "nothing happens here"));
  }

  axis(to, bottom) {
    const span = this.until - this.from;
    const most = Math.max(2, Math.floor(this.width / 110));
    let step = Math.pow(10, Math.ceil(Math.log10(span / most)));
    if (span / (step / 5) <= most) step /= 5;
    else if (span / (step / 2) <= most) step /= 2;
    const digits = Math.max(0, Math.ceil(9 - Math.log10(step)));
    for (let t = Math.ceil(this.from / step) * step; t <= this.until; t += step) {
      const x = this.x(t);
      to.append(element("line", { class: "lane", x1: x, x2: x, y1: this.top - 4, y2: bottom + 4, "stroke-dasharray": "1 4" }));
      to.append(element("text", { class: "axis", x, y: bottom + 18, "text-anchor": "middle" }, time(t, digits)));
    }
  }

  laneLines(to, whole) {
    this.run.lanes.forEach((name, lane) => {
      const y = this.y(lane);
      to.append(element("line", { class: "lane", x1: this.left, x2: whole, y1: y, y2: y }));
    });
  }

  laneNames(svg, narrow) {
    this.run.lanes.forEach((name, lane) => {
      const y = this.y(lane);
      const short = name.length > 18 ? name.slice(0, 17) + "\u2026" : name;
      const label = narrow ? element("text", { class: "soft", x: this.left + 2, y: y - 14 }, short)
        : element("text", { x: this.left - 8, y: y + 4, "text-anchor": "end" }, short);
      label.append(element("title", {}, name));
      svg.append(label);
    });
  }

  item(to, item, rows, faultTop, bottom) {
    const g = element("g", { "data-i": item.i });
    const a = this.x(item.b), b = Math.max(this.x(item.e), a);
    const y = item.l >= 0 ? this.y(item.l) : 0;
    const chosen = item.i === this.chosen ? " chosen" : "";
    switch (item.k) {
      case "message": case "drop": this.arrow(g, item, a, b, chosen); break;
      case "op":
        if (item.b === item.e) g.append(element("rect", { class: "op" + chosen, x: a - 2, y: y - 9, width: 4, height: 18, rx: 2 }));
        else g.append(element("rect", { class: "op" + (item.u ? " open" : "") + chosen, x: a, y: y - 9, width: Math.max(b - a, 2), height: 18, rx: 3 }));
        break;
      case "fault": {
        const row = faultTop + rows.indexOf(item.row) * 17;
        g.append(element("rect", { class: "fault" + chosen, x: a, y: row, width: Math.max(b - a, 3), height: 14, rx: 2 }));
        const room = Math.min(b, this.left + this.width) - Math.max(a, this.left);
        const letters = Math.floor((room - 8) / 6.2);
        if (letters >= 4) g.append(element("text", { class: "inside", x: Math.max(a, this.left) + 4, y: row + 11 }, item.t.length > letters ? item.t.slice(0, letters - 1) + "\u2026" : item.t));
        for (const lane of item.s || []) {
          to.prepend(element("rect", { class: "band", x: a, y: this.y(lane) - this.laneHeight / 2, width: Math.max(b - a, 1), height: this.laneHeight }));
        }
        break;
      }
      case "down":
        g.append(element("rect", { class: "down" + chosen, x: a, y: y - 14, width: Math.max(b - a, 1), height: 28 }));
        break;
      case "start": case "resume":
        g.append(element("path", { class: item.k + chosen, d: "M" + (a - 4) + " " + (y - 6) + "L" + (a + 6) + " " + y + "L" + (a - 4) + " " + (y + 6) + "Z" }));
        break;
      case "crash": case "pause":
        g.append(element("rect", { class: item.k + chosen, x: a - 4, y: y - 4, width: 8, height: 8 }));
        break;
      case "fail":
        g.append(element("path", { class: "fail" + chosen, d: "M" + a + " " + (y - 8) + "L" + (a + 8) + " " + y + "L" + a + " " + (y + 8) + "L" + (a - 8) + " " + y + "Z" }));
        break;
      default:
        g.append(element("circle", { class: item.k + chosen, cx: a, cy: y, r: 3.5 }));
    }
    g.append(element("title", {}, item.t + "\n" + time(item.b)));
    to.append(g);
  }

  arrow(g, item, a, b, chosen) {
    const from = this.y(item.l), to = this.y(item.o);
    const line = item.l === item.o
      ? "M" + a + " " + from + "C" + a + " " + (from - 22) + " " + b + " " + (from - 22) + " " + b + " " + from
      : "M" + a + " " + from + "L" + b + " " + to;
    g.append(element("path", { class: "hit", d: line }), element("path", { class: item.k + chosen, d: line }));
    if (item.k === "drop") {
      // The cross stands where the message was lost: at its end, or at the sender if it never left.
      const x = b, y = a === b ? from + Math.sign(to - from) * 10 : to;
      g.append(element("path", { class: "cross", d: "M" + (x - 3.5) + " " + (y - 3.5) + "L" + (x + 3.5) + " " + (y + 3.5) + "M" + (x + 3.5) + " " + (y - 3.5) + "L" + (x - 3.5) + " " + (y + 3.5) }));
      return;
    }
    const angle = item.l === item.o ? Math.PI / 2 : Math.atan2(to - from, b - a);
    const point = (turn, length) => (b - length * Math.cos(angle + turn)).toFixed(1) + " " + (to - length * Math.sin(angle + turn)).toFixed(1);
    g.append(element("path", { class: "head", d: "M" + b + " " + to + "L" + point(0.4, 8) + "L" + point(-0.4, 8) + "Z" }));
  }
}

for (const box of document.querySelectorAll(".diagram")) new Diagram(box, runs[box.dataset.run]);
