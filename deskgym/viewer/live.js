// The live page: asks each second which machines run, and shows each with noVNC.
import RFB from "./novnc/core/rfb.js";

const POLL_MS = 1000, FADE_MS = 2000, RETRY_MS = [500, 1000, 2000, 5000];
const $ = (id) => document.getElementById(id);
const tiles = new Map(); // name -> Tile
let state = { control: false, tiles: 9, machines: [] };
let full = null; // the machine in full: { machine, screen }
let reachable = true;

function element(tag, className, text = "") {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

// One connection to a machine, made again while the machine is listed.
class Screen {
  constructor(target, name, viewOnly, onState) {
    Object.assign(this, { target, name, viewOnly, onState, tries: 0, closed: false });
    this.open();
  }

  open() {
    const url = new URL(`machines/${encodeURIComponent(this.name)}`, location.href.split("#")[0]);
    url.protocol = "ws:";
    this.onState("connecting");
    this.rfb = new RFB(this.target, url.href, { shared: true });
    Object.assign(this.rfb, {
      viewOnly: this.viewOnly, scaleViewport: true, clipViewport: false, resizeSession: false, focusOnClick: true,
      showDotCursor: !this.viewOnly, background: "#000", qualityLevel: 6, compressionLevel: 2,
    });
    this.rfb.addEventListener("connect", () => {
      this.tries = 0;
      this.canvas = this.target.querySelector("canvas");
      this.onState("live");
    });
    this.rfb.addEventListener("disconnect", () => this.lost());
    this.rfb.addEventListener("credentialsrequired", () => this.ask());
    this.rfb.addEventListener("securityfailure", (event) => this.onState(event.detail.reason || "refused"));
  }

  lost() {
    if (this.canvas) { // the last picture stays while the tile fades
      this.canvas.removeAttribute("style");
      this.canvas.className = "last";
      this.target.replaceChildren(this.canvas);
    }
    if (this.closed) return;
    this.onState("not connected");
    const wait = RETRY_MS[Math.min(this.tries++, RETRY_MS.length - 1)];
    this.timer = setTimeout(() => {
      this.target.replaceChildren();
      this.open();
    }, wait);
  }

  ask() {
    this.onState("password needed");
    const form = element("form", "");
    const input = Object.assign(element("input", ""), { type: "password", placeholder: "VNC password" });
    form.append(input, element("button", "", "Connect"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      form.remove();
      this.rfb.sendCredentials({ password: input.value });
    });
    this.target.append(form);
    input.focus();
  }

  close() {
    if (this.closed) return;
    this.closed = true;
    clearTimeout(this.timer);
    try { this.rfb.disconnect(); } catch { /* it has ended already */ }
  }
}

class Tile {
  constructor(machine) {
    this.box = element("button", "tile");
    this.box.type = "button";
    this.picture = element("div", "picture");
    this.picture.style.aspectRatio = `${machine.size[0]} / ${machine.size[1]}`;
    this.label = element("div", "label");
    this.status = element("span", "state");
    this.label.append(element("strong", "name", machine.name), element("span", "task"), this.status);
    this.box.append(this.picture, this.label);
    this.box.addEventListener("click", () => { location.hash = machine.name; });
    $("tiles").append(this.box);
    this.screen = new Screen(this.picture, machine.name, true, (text) => { this.status.textContent = text; });
    this.update(machine);
  }

  update(machine) {
    this.label.children[1].textContent = machine.task || machine.kind;
    this.status.classList.toggle("problem", Boolean(machine.problem));
    if (machine.problem) this.status.textContent = machine.problem;
  }

  close() {
    this.screen.close();
    this.box.remove();
  }

  end() {
    this.screen.close();
    this.status.textContent = "ended";
    this.box.classList.add("ended");
    setTimeout(() => this.box.remove(), FADE_MS);
  }
}

// Those with a task come first: the others are being made ready.
const ranked = (machines) => [...machines].sort((a, b) => !a.task - !b.task || a.since - b.since);

function showTiles() {
  const chosen = ranked(state.machines).slice(0, state.tiles);
  const alive = new Set(state.machines.map((machine) => machine.name));
  const wanted = new Set(chosen.map((machine) => machine.name));
  for (const [name, tile] of tiles) {
    if (wanted.has(name)) continue;
    alive.has(name) ? tile.close() : tile.end();
    tiles.delete(name);
  }
  for (const machine of chosen) {
    const tile = tiles.get(machine.name);
    tile ? tile.update(machine) : tiles.set(machine.name, new Tile(machine));
  }
  const rest = state.machines.filter((machine) => !wanted.has(machine.name));
  $("more").hidden = rest.length === 0;
  $("more").replaceChildren(`${rest.length} more, not connected: `);
  for (const machine of rest) {
    const link = Object.assign(element("a", "", machine.name), { href: `#${encodeURIComponent(machine.name)}` });
    $("more").append(link, " ");
  }
}

function closeTiles() {
  tiles.forEach((tile) => tile.close());
  tiles.clear();
  $("more").hidden = true;
}

function closeFull() {
  full?.screen.close();
  full = null;
  $("screen").replaceChildren();
}

// The wanted machine, or after its end the one that its owner works on now.
function followed(name) {
  const same = state.machines.find((machine) => machine.name === name);
  if (same) return same;
  const owner = Number(name.split("-").at(-2));
  return ranked(state.machines.filter((machine) => machine.owner === owner))[0];
}

function showFull(name) {
  const machine = followed(full ? full.machine.name : name);
  if (full && machine?.name !== full.machine.name) {
    full.screen.close();
    if (!machine) {
      $("title").textContent = `${full.machine.name} has ended; waiting for the next machine of process ${full.machine.owner}`;
      return;
    }
    closeFull();
  }
  if (!machine) {
    $("title").textContent = `${name} is not running`;
    return;
  }
  if (!full) {
    const status = element("span", "state");
    const screen = new Screen($("screen"), machine.name, !state.control, (text) => { status.textContent = text; });
    full = { machine, screen, status };
  }
  full.machine = machine;
  const label = element("div", "label");
  label.append(element("strong", "", machine.name), element("span", "task", machine.task || machine.kind), full.status);
  if (machine.problem) label.append(element("span", "problem", machine.problem));
  $("title").replaceChildren(label);
}

function show() {
  const name = decodeURIComponent(location.hash.slice(1));
  const single = name !== "";
  $("tiles").hidden = single;
  $("full").hidden = $("back").hidden = !single;
  $("mode").textContent = state.control ? "control: click a machine, and your keys and clicks go there" : "view only";
  $("mode").classList.toggle("control", state.control);
  const count = state.machines.length;
  $("count").textContent = count === 1 ? "1 machine" : `${count} machines`;
  $("message").hidden = reachable && (single || count > 0);
  $("message").textContent = reachable ? "No machine is running; they appear here as they start."
    : "deskgym view --live has ended.";
  if (single) {
    closeTiles();
    showFull(name);
  } else {
    closeFull();
    showTiles();
  }
}

async function poll() {
  try {
    const answer = await fetch("machines.json", { cache: "no-store" });
    state = await answer.json();
    reachable = true;
  } catch {
    state = { ...state, machines: [] };
    reachable = false;
  }
  show();
  setTimeout(poll, POLL_MS);
}

addEventListener("hashchange", () => {
  closeFull();
  show();
});
poll();
