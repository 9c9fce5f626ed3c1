"use strict";
// Draws the charts of the page from the data in it, and keeps one window on time for all of them.
// Nothing is fetched: the libraries stand above, the data beside.
(() => {
  const page = JSON.parse(document.getElementById("data").textContent);
  const whole = [0, Math.max(1, page.ended_ms)];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const slots = [...document.querySelectorAll(".chart")];
  const drawn = new Map(); // slot -> {view, signal, shown}
  const visible = new Set();
  const focus = new Map(); // run -> rows of the data called focus
  let frame = null;
  let shown = whole;

  // A frame comes as columns, texts as numbers into a list of words.
  const rowsOf = (columns) => {
    const names = Object.keys(columns);
    const read = names.map((name) => {
      const column = columns[name];
      return column.words ? (n) => column.words[column.codes[n]] : (n) => column[n];
    });
    const first = names.length ? columns[names[0]] : [];
    const length = (first.codes || first).length;
    const rows = new Array(length);
    for (let n = 0; n < length; n += 1) {
      const row = {};
      for (let k = 0; k < names.length; k += 1) row[names[k]] = read[k](n);
      rows[n] = row;
    }
    return rows;
  };
  const frames = new Map();
  const frameOf = (run, name) => {
    const key = `${run}/${name}`;
    if (!frames.has(key)) frames.set(key, rowsOf(page.runs[run].frames[name]));
    return frames.get(key);
  };

  const look = () => {
    const [ink, soft, line] = dark.matches
      ? ["#e7ebf0", "#a2acb9", "#303947"]
      : ["#1b2430", "#5b6470", "#e6e9ee"];
    const isNarrow = innerWidth < 600;
    const room = isNarrow ? Math.min(108, page.label_width) : page.label_width;
    return {
      ...page.theme,
      background: "transparent",
      axis: { ...page.theme.axis, labelColor: soft, titleColor: ink, gridColor: line, tickColor: line },
      axisY: { ...page.theme.axisY, minExtent: room, maxExtent: room, labelLimit: room - 4 },
    };
  };

  // A specification in the colours of the page: some that are clear on white are lost on black.
  const coloured = (spec) => dark.matches
    ? JSON.parse(JSON.stringify(spec), (_, value) => Object.hasOwn(page.on_dark, value) ? page.on_dark[value] : value)
    : spec;

  const draw = async (slot) => {
    if (drawn.has(slot)) return;
    drawn.set(slot, null);
    const { run, chart } = slot.dataset;
    const { spec, frames: wanted } = page.runs[run].charts[chart] || page.charts[chart];
    const datasets = {};
    // Vega marks the rows it is given, so each chart gets its own.
    for (const name of wanted) datasets[name] = frameOf(run, name).map((row) => ({ ...row }));
    datasets.focus = focus.get(run) || [];
    const { view } = await vegaEmbed(slot, { ...coloured(spec), datasets }, {
      actions: chart === "card" ? false : { export: true, source: false, compiled: false, editor: false },
      config: look(),
      downloadFileName: `${page.runs[run].name}-${chart}`,
      mode: "vega-lite",
      renderer: "canvas", // ten thousand stretches would be as many elements
      tooltip: { theme: dark.matches ? "dark" : "light" },
    });
    const signal = Object.keys(view.getState().signals).find((name) => /^window_(from|at)_ms$/.test(name));
    const chartNow = { view, signal, shown: whole };
    drawn.set(slot, chartNow);
    // The chart in a card shows the whole, whatever the others show.
    if (signal) view.addSignalListener(signal, (_, value) => {
      const now = value ? value.map(Number) : whole;
      chartNow.shown = now;
      if (String(now) !== String(shown)) show(now);
    });
    // Vega learns from a pointer's moves where it is. A finger is there without any, and gone after a tap.
    for (const kind of ["pointerdown", "click"]) slot.addEventListener(kind, (event) => {
      if (event.pointerType === "touch") event.target.dispatchEvent(new PointerEvent("pointermove", event));
    }, { capture: true });
    view.addEventListener("click", (_, item) => {
      const number = item && item.datum && item.datum.rebalance;
      if (number) location.hash = `run-${run}-rebalance-${number}`;
    });
    catchUp(slot);
    slot.dataset.state = "drawn";
    settle();
  };

  // Whoever waits for the page is told when nothing that can be seen is still to come.
  const settle = () => {
    if ([...visible].every((each) => each.dataset.state)) document.body.dataset.state = "drawn";
  };

  const catchUp = (slot) => {
    const chart = drawn.get(slot);
    if (!chart || !chart.signal || String(chart.shown) === String(shown)) return;
    chart.shown = shown;
    chart.view.signal(chart.signal, shown === whole ? null : shown).runAsync();
  };

  // Dragging moves many charts: once for each picture of the screen is enough.
  const show = (window) => {
    shown = String(window) === String(whole) ? whole : window;
    document.body.dataset.window = shown.map(Math.round).join("-");
    if (frame !== null) return;
    frame = requestAnimationFrame(() => {
      frame = null;
      visible.forEach(catchUp);
    });
  };
  const zoom = (factor) => {
    const [from, to] = shown;
    const middle = (from + to) / 2;
    const half = Math.max(1, ((to - from) / 2) * factor);
    show(half * 2 >= whole[1] ? whole : [Math.max(0, middle - half), Math.min(whole[1], middle + half)]);
  };

  const focusOn = (run, from, to) => {
    const rows = [{ from_ms: from, to_ms: to }];
    focus.set(run, rows);
    for (const slot of slots) {
      const chart = drawn.get(slot);
      if (!chart || slot.dataset.run !== run) continue;
      chart.view.data("focus", rows.map((row) => ({ ...row }))).runAsync();
    }
    const around = Math.max(500, (to - from) * 0.75);
    show([Math.max(0, from - around), Math.min(whole[1], to + around)]);
  };

  // #run-0-rebalance-3 is the place of a rebalance: its row is marked, the charts go there.
  const follow = () => {
    const found = /^#run-(\d+)-rebalance-\d+$/.exec(location.hash);
    const row = found && document.getElementById(location.hash.slice(1));
    if (!row) return;
    const around = row.closest("details");
    if (around) around.open = true;
    focusOn(found[1], Number(row.dataset.from), Number(row.dataset.to));
  };
  addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.place");
    if (link) {
      event.preventDefault();
      history.replaceState(null, "", link.hash);
      follow();
      document.getElementById(`run-${link.dataset.run}-charts`).scrollIntoView({ behavior: "smooth" });
    }
    const button = event.target.closest("button[data-zoom]");
    if (button) {
      if (button.dataset.zoom === "all") show(whole);
      else zoom(Number(button.dataset.zoom));
    }
  });

  // Paper shows all of the page, and waits for nobody: what is out of sight is drawn when there is time.
  const whenIdle = window.requestIdleCallback || ((act) => setTimeout(act, 200));
  let isResting = true;
  const drawRest = async () => {
    const next = slots.find((slot) => !drawn.has(slot));
    isResting = !next;
    if (isResting) return;
    await draw(next);
    whenIdle(drawRest);
  };
  const beginRest = () => {
    if (!isResting) return;
    isResting = false;
    whenIdle(drawRest);
  };
  const drawAll = () => slots.forEach((slot) => (drawn.has(slot) ? catchUp(slot) : draw(slot)));
  addEventListener("beforeprint", drawAll);
  matchMedia("print").addEventListener("change", ({ matches }) => { if (matches) drawAll(); });

  follow();
  if (window.IntersectionObserver) {
    const observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) {
          visible.add(target);
          if (drawn.has(target)) catchUp(target);
          else draw(target);
        } else visible.delete(target);
      }
      settle();
      beginRest();
    }, { rootMargin: "200px" });
    slots.forEach((slot) => observer.observe(slot));
  } else {
    slots.forEach((slot) => visible.add(slot));
    drawAll();
  }
  dark.addEventListener("change", () => {
    for (const slot of slots) {
      const chart = drawn.get(slot);
      if (!chart) continue;
      chart.view.finalize();
      drawn.delete(slot);
      if (visible.has(slot)) draw(slot);
    }
    beginRest();
  });
})();
