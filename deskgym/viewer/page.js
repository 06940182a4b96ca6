"use strict";
// All text from an episode reaches the page through textContent or attributes, never as HTML.
(() => {
  const $ = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const COLORS = ["#3d8bfd", "#20a67a", "#e0a100", "#d6568f", "#8b6cf0", "#e2703a", "#5aa9b8", "#9aa06a", "#8d99a6"];
  const blocks = [...document.querySelectorAll("script.episode")];
  const bases = [...document.querySelectorAll("script.base")];
  const heads = [...document.querySelectorAll("template.head")];
  const turns = [...document.querySelectorAll("template.turns")];
  const feet = [...document.querySelectorAll("template.foot")];
  const rows = [...document.querySelectorAll("#list tbody tr")]; // in the order of the blocks; sorting moves only nodes
  let episode = null, images = [], at = 0, drawing = 0, opening = 0, playing = 0, stride = 1;

  function element(name, attributes = {}, text = "") {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.textContent = text;
    return node;
  }
  function shape(name, attributes) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
  }

  // ------------------------------------------------------------------------------------------------------- frames
  // A frame is a list of patches, drawn over a base, a whole screen of the page, or over the frame before.
  function decoded(uri) {
    const image = new Image();
    image.src = uri;
    return image.decode().then(() => image);
  }
  function loaded(number) {
    images[number] ??= (async () => {
      const { base, patches } = episode.frames[number];
      const under = base === null ? [] : [[0, 0, 0, 0, bases[base].textContent]];
      return Promise.all([...under, ...patches].map(async ([x, y, , , uri]) => [await decoded(uri), x, y]));
    })();
    return images[number];
  }
  const isMissing = (number) => !episode.frames[number] || Boolean(episode.frames[number].missing);
  async function draw(number) {
    const mine = ++drawing;
    const found = !isMissing(number);
    $("missing").hidden = Boolean(found);
    if (!found) {
      $("frame").getContext("2d").clearRect(0, 0, ...episode.size);
      return;
    }
    let key = number;
    while (key > 0 && episode.frames[key].base === null) key--;
    const needed = [];
    for (let k = key; k <= number; k++) needed.push(loaded(k));
    const layers = await Promise.all(needed);
    if (mine !== drawing) return; // another frame was asked for meanwhile
    const context = $("frame").getContext("2d");
    for (const layer of layers) for (const [image, x, y] of layer) context.drawImage(image, x, y);
    for (let k = number + 1; k <= number + 2 && k < episode.frames.length; k++) loaded(k);
  }
  // The filmstrip: each frame once, one after the other, while nothing else is to be done.
  async function fillStrip() {
    const mine = opening, pictures = new Map();
    for (const picture of $("strip").querySelectorAll("canvas")) {
      const number = Number(picture.dataset.frame);
      pictures.set(number, [...(pictures.get(number) ?? []), picture]);
    }
    const whole = new OffscreenCanvas(...episode.size), context = whole.getContext("2d");
    for (let number = 0; number < episode.frames.length; number++) {
      if (isMissing(number)) continue;
      const layers = await loaded(number);
      if (mine !== opening) return; // another episode was opened
      for (const [image, x, y] of layers) context.drawImage(image, x, y);
      for (const picture of pictures.get(number) ?? [])
        picture.getContext("2d").drawImage(whole, 0, 0, picture.width, picture.height);
      await new Promise((resolve) => setTimeout(resolve));
    }
  }

  // ------------------------------------------------------------------------------------------------------ overlay
  function crosshair(group, x, y, color, unit) {
    const ring = { cx: x, cy: y, fill: "none" };
    const lines = `M${x - 2.2 * unit} ${y}H${x - 0.5 * unit}M${x + 0.5 * unit} ${y}H${x + 2.2 * unit}` +
      `M${x} ${y - 2.2 * unit}V${y - 0.5 * unit}M${x} ${y + 0.5 * unit}V${y + 2.2 * unit}`;
    for (const [stroke, width] of [["#fff", unit * 0.34], [color, unit * 0.17]]) {
      group.append(shape("circle", { ...ring, r: unit * 1.25, stroke, "stroke-width": width }));
      group.append(shape("path", { d: lines, stroke, "stroke-width": width, fill: "none" }));
    }
  }
  function arrow(group, x, y, toX, toY, color, unit) {
    const length = Math.hypot(toX - x, toY - y);
    if (length < 1) return;
    const [dx, dy] = [(toX - x) / length * unit * 1.3, (toY - y) / length * unit * 1.3];
    const d = `M${x} ${y}L${toX} ${toY}M${toX - dx - dy * 0.6} ${toY - dy + dx * 0.6}L${toX} ${toY}L${toX - dx + dy * 0.6} ${toY - dy - dx * 0.6}`;
    for (const [stroke, width] of [["#fff", unit * 0.4], [color, unit * 0.2]])
      group.append(shape("path", { d, stroke, "stroke-width": width, fill: "none", "stroke-linecap": "round", "stroke-linejoin": "round" }));
  }
  function drawMarks(group, step, unit) {
    for (const mark of step.marks) {
      if (mark.kind === "drag") {
        crosshair(group, mark.x, mark.y, "#e8590c", unit * 0.6);
        arrow(group, mark.x, mark.y, mark.to[0], mark.to[1], "#e8590c", unit);
      } else if (mark.kind === "scroll") {
        crosshair(group, mark.x, mark.y, "#0b7285", unit * 0.6);
        arrow(group, mark.x, mark.y, mark.x + Math.sign(mark.dx) * unit * 4, mark.y + Math.sign(mark.dy) * unit * 4, "#0b7285", unit);
      } else crosshair(group, mark.x, mark.y, mark.kind === "move" ? "#0b63c5" : "#e8590c", unit);
    }
  }
  function drawBoxes(group, rows, unit) {
    for (const [x, y, width, height, role, name, text, states] of rows) {
      if (width <= 0 || height <= 0) continue;
      const box = shape("rect", { class: "box", x, y, width, height, "stroke-width": unit * 0.08 });
      const lines = [`${role}${name ? ` “${name}”` : ""}`, text && `text: ${text}`, `${x}, ${y} · ${width}×${height}`, states];
      box.tip = lines.filter(Boolean).join("\n");
      box.size = width * height;
      group.append(box);
    }
    // small ones last, so that they lie on top of what contains them
    [...group.children].sort((a, b) => b.size - a.size).forEach((box) => group.append(box));
  }
  function overlay(shown, action) {
    const [width, height] = episode.size;
    const unit = width / 110, layer = $("overlay");
    layer.replaceChildren();
    layer.setAttribute("viewBox", `0 0 ${width} ${height}`);
    layer.classList.toggle("live", $("boxes").checked);
    $("tip").hidden = true;
    const rows = episode.elements[shown.elements] ?? [];
    $("count").textContent = rows.length ? `(${rows.length})` : "(none recorded)";
    if ($("boxes").checked) drawBoxes(layer.appendChild(shape("g", {})), rows, unit);
    if (!$("marks").checked) return;
    const marks = layer.appendChild(shape("g", {}));
    if (action && !$("after").checked) drawMarks(marks, action, unit);
    const change = $("after").checked && action && action.frame !== before(action) && episode.frames[action.frame]?.changed;
    if (change) {
      const [x, y, w, h] = change, room = unit * 0.5;
      marks.append(shape("rect", { x: x - room, y: y - room, width: w + 2 * room, height: h + 2 * room, fill: "none", stroke: "#20a67a", "stroke-width": unit * 0.2, "stroke-dasharray": unit * 0.6 }));
    }
  }
  const before = (step) => episode.steps[episode.steps.indexOf(step) - 1]?.frame;

  // ------------------------------------------------------------------------------------------------- the step's card
  function timing(phases) {
    const total = phases.reduce((sum, [, ms]) => sum + ms, 0);
    const holder = element("div");
    if (!phases.length) return holder;
    const bar = shape("svg", { class: "timing", viewBox: "0 0 1000 12", preserveAspectRatio: "none" });
    const list = element("ul", { class: "phases" });
    let x = 0;
    phases.forEach(([name, ms], k) => {
      const fill = COLORS[k % COLORS.length], width = total > 0 ? ms / total * 1000 : 0;
      bar.append(shape("rect", { x, y: 0, width, height: 12, fill }));
      x += width;
      const item = element("li"), key = shape("svg", { viewBox: "0 0 9 9" });
      key.append(shape("rect", { width: 9, height: 9, rx: 2, fill }));
      item.append(key, element("span", {}, name), element("b", {}, milliseconds(ms)));
      list.append(item);
    });
    holder.append(bar, list);
    return holder;
  }
  const total = (phases) => phases.reduce((sum, [, ms]) => sum + ms, 0);
  const milliseconds = (ms) => ms >= 1000 ? `${(ms / 1000).toFixed(2)} s` : `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
  function part(title, ...nodes) {
    const holder = element("div");
    holder.append(element("h2", {}, title), ...nodes);
    return holder;
  }
  const text = (words, attributes = {}) => element("pre", { tabindex: 0, ...attributes }, words);
  function code(tokens) {
    const holder = text(tokens.length ? "" : "nothing");
    for (const [kind, words] of tokens) holder.append(kind ? element("span", { class: kind }, words) : words);
    return holder;
  }
  function asked({ role, messages, said, error, seconds, prompt, answer, cost, dropped, retries }) {
    const facts = [
      `${prompt.toLocaleString("en")} tokens read, ${answer.toLocaleString("en")} written`, `${seconds.toFixed(1)} s`,
      cost !== null && `${cost.toFixed(4)} dollars`, dropped && `${dropped} older steps left out`, retries && `${retries} tries failed before`,
    ];
    const asking = element("details");
    asking.append(element("summary", {}, messages.length === 1 ? "1 new message" : `${messages.length} new messages`));
    for (const [who, words] of messages) asking.append(element("h3", {}, who), text(words));
    return part(`Model (${role})`, element("p", { class: "muted" }, facts.filter(Boolean).join(" · ")), asking, text(error || said, error ? { class: "why" } : {}));
  }
  function card(step) {
    const holder = $("step");
    holder.replaceChildren();
    if (!step) {
      holder.append(part("End", element("p", {}, "This is the screen after the last recorded step. The verdict is above.")));
      return;
    }
    holder.append(part(`Step ${step.number} of ${(episode.steps[0].number ?? 0) + episode.steps.length - 1}`, code(step.action)));
    const reward = step.reward === null ? "-" : String(step.reward);
    holder.append(part(`Reward: ${reward}${step.end ? ` · ${step.end}` : ""}`));
    if (step.feedback) holder.append(part("Feedback", text(step.feedback)));
    holder.append(...step.model.map(asked));
    if (step.timing.length) holder.append(part(`Time: ${milliseconds(total(step.timing))}`, timing(step.timing)));
    if (step.info) holder.append(part("Info", text(step.info)));
  }

  // ------------------------------------------------------------------------------- actions and filmstrip, one beside the other
  function list() {
    const last = episode.steps.length - 1, height = Math.round(128 * episode.size[1] / episode.size[0]);
    const actions = [], pictures = [];
    stride = Math.ceil(episode.steps.length / 400); // a longer strip would be heavy, and nobody scrolls through it
    episode.steps.forEach((step, k) => {
      const action = episode.steps[k + 1], name = action ? `step ${action.number}` : last ? "the end" : "reset";
      const item = element("li"), button = element("button", { type: "button" }, action ? action.caption : name);
      if (action?.reward) button.append(element("b", {}, ` reward ${action.reward}`));
      button.addEventListener("click", () => show(k));
      item.append(button);
      actions.push(item);
      if (k % stride) return;
      const picture = element("button", { type: "button", "aria-label": `screen before ${name}` });
      picture.append(element("canvas", { width: 128, height, "data-frame": step.frame }), element("span", {}, action ? action.number : "end"));
      picture.addEventListener("click", () => show(k));
      pictures.push(picture);
    });
    $("actions").replaceChildren(...actions);
    $("strip").replaceChildren(...pictures);
    fillStrip();
  }
  function mark() {
    for (const holder of [$("actions"), $("strip")]) {
      const now = holder.querySelectorAll("button")[holder === $("strip") ? Math.floor(at / stride) : at];
      holder.querySelector("[aria-current]")?.removeAttribute("aria-current");
      now.setAttribute("aria-current", "step");
      const [whole, part] = [holder.getBoundingClientRect(), now.getBoundingClientRect()]; // scrollIntoView would move the page
      holder.scrollBy(part.left - whole.left - (whole.width - part.width) / 2, part.top - whole.top - (whole.height - part.height) / 2);
    }
  }

  // ------------------------------------------------------------------------------------------------------ moving on
  function show(k) {
    const last = episode.steps.length - 1;
    at = Math.max(0, Math.min(k, last));
    const action = episode.steps[at + 1]; // undefined at the end
    const shown = action && $("after").checked ? action : episode.steps[at];
    $("slider").value = at;
    $("where").textContent = action ? `step ${action.number} of ${(episode.steps[0].number ?? 0) + last}` : last > 0 ? "end" : "reset";
    $("first").disabled = $("previous").disabled = at === 0;
    $("last").disabled = $("next").disabled = at === last;
    $("caption").replaceChildren(
      element("span", {}, action ? action.caption : last > 0 ? "the end" : "no step was recorded"),
      element("span", { class: "muted" }, action ? ($("after").checked ? " — the screen after it" : " — on the screen before it") : ""),
    );
    draw(shown.frame);
    overlay(shown, action);
    card(action);
    mark();
  }
  function pause() {
    clearTimeout(playing);
    playing = 0;
    $("play").textContent = "play";
  }
  function play() {
    if (at === episode.steps.length - 1) show(0);
    const wait = () => 1000 / Number($("speed").value);
    const go = () => {
      show(at + 1);
      playing = setTimeout(at === episode.steps.length - 1 ? pause : go, wait());
    };
    playing = setTimeout(go, wait());
    $("play").textContent = "pause";
  }
  async function unpacked(block) {
    const bytes = Uint8Array.from(atob(block.textContent), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  }
  async function open(index, position) {
    const mine = ++opening, found = await unpacked(blocks[index]).catch(() => null);
    if (mine !== opening) return;
    if (!found) { // the other episodes go on being there
      rows.forEach((row, k) => row.classList.toggle("on", k === index));
      $("head").replaceChildren(element("p", { class: "why" }, "this episode cannot be read"));
      $("player").hidden = true;
      for (const id of ["turns", "foot"]) $(id).replaceChildren();
      return;
    }
    pause();
    [episode, images] = [found, []];
    $("head").replaceChildren(heads[index].content.cloneNode(true));
    $("turns").replaceChildren(turns[index].content.cloneNode(true));
    $("foot").replaceChildren(feet[index].content.cloneNode(true));
    rows.forEach((row, k) => row.classList.toggle("on", k === index));
    for (const lane of document.querySelectorAll("#tree a")) lane.classList.toggle("on", lane.dataset.number === String(index + 1));
    const hasSteps = episode.steps.length > 0;
    $("player").hidden = !hasSteps;
    if (!hasSteps) return;
    [$("frame").width, $("frame").height] = episode.size;
    $("slider").max = episode.steps.length - 1;
    const reset = document.querySelector("#foot .reset"), phases = episode.steps[0].timing;
    reset.firstChild.textContent = phases.length ? `Reset: ${milliseconds(total(phases))}` : "Reset";
    reset.append(timing(phases));
    list();
    show(position);
  }

  // --------------------------------------------------------------------------------------------------------- input
  const moves = { first: () => 0, previous: () => at - 1, next: () => at + 1, last: () => Infinity };
  const go = (k) => { pause(); show(k); };
  for (const [id, target] of Object.entries(moves)) $(id).addEventListener("click", () => go(target()));
  $("play").addEventListener("click", () => playing ? pause() : play());
  addEventListener("message", (event) => { // two pages side by side move together
    const target = event.source === parent && moves[event.data?.move];
    if (target && episode?.steps.length) go(target());
  });
  $("slider").addEventListener("input", () => go(Number($("slider").value)));
  $("wide").addEventListener("change", () => $("player").classList.toggle("wide", $("wide").checked));
  for (const id of ["after", "marks", "boxes"]) $(id).addEventListener("change", () => show(at));
  function beside(way) { // the next episode of the list as it is sorted and narrowed now
    const shown = [...document.querySelectorAll("#list tbody tr:not([hidden])")];
    const now = shown.findIndex((row) => row.classList.contains("on"));
    shown[now < 0 ? 0 : Math.max(0, Math.min(now + way, shown.length - 1))]?.querySelector("a").click();
  }
  const flip = (id) => { $(id).checked = !$(id).checked; show(at); };
  const keys = {
    ArrowLeft: () => go(at - 1), ArrowRight: () => go(at + 1), Home: () => go(0), End: () => go(Infinity),
    " ": () => flip("after"), m: () => flip("marks"), e: () => flip("boxes"), w: () => $("wide").click(),
    p: () => $("play").click(),
  };
  const others = { "[": () => beside(-1), "]": () => beside(1) };
  addEventListener("keydown", (event) => {
    const does = others[event.key] ?? (episode?.steps.length ? keys[event.key] : undefined);
    if (event.ctrlKey || event.altKey || event.metaKey || !does) return;
    if (event.target.closest("input[type=search], select, pre, [role=region]")) return; // they have keys of their own
    if (event.key === " " && event.target.closest("button, label, summary, input[type=checkbox]")) return;
    event.preventDefault();
    does();
  });
  $("overlay").addEventListener("pointermove", (event) => {
    const text = event.target.tip, tip = $("tip");
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)}px`;
  });
  $("overlay").addEventListener("pointerleave", () => { $("tip").hidden = true; });
  // #2 opens the second episode, #2/5 at its fifth position, #2/5/after/elements with those switched on
  function follow() {
    const [number, position, ...on] = location.hash.slice(1).split("/");
    const index = Math.max(0, Math.min((Math.trunc(number) || 1) - 1, blocks.length - 1));
    if (on.length) { $("after").checked = on.includes("after"); $("boxes").checked = on.includes("elements"); }
    open(index, (Math.trunc(position) || 1) - 1);
  }
  addEventListener("hashchange", follow);
  if (blocks.length) follow();
})();
