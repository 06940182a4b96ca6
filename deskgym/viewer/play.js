// Sends what a person does on the picture as actions of deskgym, one after the other, and shows what comes of each.

const at = id => document.getElementById(id);
const screen = at("screen"), picture = at("picture");
const KEYS = {
  Enter: "enter", Tab: "tab", Escape: "esc", Backspace: "backspace", Delete: "delete", ArrowUp: "up", ArrowDown: "down",
  ArrowLeft: "left", ArrowRight: "right", Home: "home", End: "end", PageUp: "pageup", PageDown: "pagedown",
  Insert: "insert", " ": "space",
};
const BUTTONS = ["left", "middle", "right"];
const IDLE = 500; // ms without a key until what was typed is sent
const FAR = 5; // pixels from which a click is a drag

let version = -1, begun = false, over = false, typed = "", timer = 0, down = null;
let last = Promise.resolve();

function show(state) {
  over = Boolean(state.over);
  begun = state.step !== undefined;
  at("task").textContent = state.task ?? "";
  at("steps").textContent = state.of ? `step ${state.step} of ${state.of}` : `step ${state.step ?? 0}`;
  if (state.instruction) at("instruction").textContent = state.instruction;
  at("feedback").hidden = !state.feedback;
  at("feedback").textContent = state.feedback ?? "";
  if (state.version !== version) {
    version = state.version;
    picture.src = `picture?${version}`;
    picture.hidden = !begun;
  }
  at("end").hidden = over;
  at("verdict").hidden = !over;
  at("verdict").className = state.outcome ?? "";
  at("verdict").textContent = over ? [state.outcome, state.message].filter(Boolean).join(": ") : "";
}

async function ask(path, body) {
  const answer = await fetch(path, body ? { method: "POST", body: JSON.stringify(body) } : {});
  if (!answer.ok) throw new Error(await answer.text());
  show(await answer.json());
}

const pause = ms => new Promise(done => setTimeout(done, ms));

function act(action) {
  if (over || !begun) return;
  last = last.then(async () => {
    at("busy").textContent = "carrying it out";
    try {
      const before = version;
      await ask("act", action);
      for (; version === before && !over; await pause(300)) await ask("state"); // it takes long
      at("busy").textContent = "";
    } catch (error) {
      at("busy").textContent = `deskgym does not answer: ${error.message}`;
    }
  });
}

function flush() {
  clearTimeout(timer);
  if (typed) act({ action: "type", text: typed });
  typed = "";
}

function point(event) {
  const box = picture.getBoundingClientRect();
  const scale = (value, size, whole) => Math.max(0, Math.min(whole - 1, Math.floor(value / size * whole)));
  return [scale(event.clientX - box.left, box.width, picture.naturalWidth),
          scale(event.clientY - box.top, box.height, picture.naturalHeight)];
}

const held = event => ["ctrl", "shift", "alt"].filter(name => event[`${name}Key`]);

screen.addEventListener("mousedown", event => {
  event.preventDefault();
  screen.focus();
  flush();
  down = point(event);
});
addEventListener("mouseup", event => {
  if (!down) return;
  const [x, y] = down, [to_x, to_y] = point(event), button = BUTTONS[event.button] ?? "left", keys = held(event);
  down = null;
  if (Math.hypot(to_x - x, to_y - y) >= FAR) act({ action: "drag", x, y, to_x, to_y, button, keys });
  else if (event.detail <= 1) act({ action: "click", x, y, button, keys });
  else if (event.detail === 2) act({ action: "click", x, y, button, clicks: 2, keys });
});
screen.addEventListener("contextmenu", event => event.preventDefault());
screen.addEventListener("wheel", event => {
  event.preventDefault();
  flush();
  const [x, y] = point(event);
  act({ action: "scroll", x, y, dx: Math.sign(event.deltaX) * 3, dy: Math.sign(event.deltaY) * 3 });
}, { passive: false });
screen.addEventListener("keydown", event => {
  if (["Control", "Shift", "Alt", "Meta", "AltGraph", "Dead"].includes(event.key) || event.isComposing) return;
  event.preventDefault();
  const printable = [...event.key].length === 1 && !event.ctrlKey && !event.altKey;
  if (printable || (event.getModifierState("AltGraph") && [...event.key].length === 1)) {
    typed += event.key;
    clearTimeout(timer);
    timer = setTimeout(flush, IDLE);
    return;
  }
  flush();
  const key = KEYS[event.key] ?? event.key.toLowerCase();
  act({ action: "press", keys: [...held(event), key] });
});
screen.addEventListener("paste", event => {
  flush();
  act({ action: "type", text: event.clipboardData.getData("text") });
});
for (const button of document.querySelectorAll("[data-verb]"))
  button.addEventListener("click", () => { flush(); act({ action: button.dataset.verb }); });
at("end").addEventListener("submit", event => {
  event.preventDefault();
  flush();
  act({ action: "answer", text: at("answer").value });
});

async function begin() { // the desktop may still be prepared
  try { await ask("state"); } catch { /* asked again */ }
  if (!begun) setTimeout(begin, 300);
}
begin();
