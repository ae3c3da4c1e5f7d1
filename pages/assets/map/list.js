// The list beside a map. However long it is, only the rows in sight are in the page; texts are text
// nodes. A click on a row picks it, its box marks it; Up and Down go from row to row.

const HEIGHT = 54; // pixels of a row, as in list.css

const make = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
  return node;
};

const row = (state, at) => {
  const { data, ticked } = state;
  const [kind, name, note] = data.rows[at];
  const n = at + 1;
  const item = make("li", "sl-row");
  item.style.top = `${at * HEIGHT}px`;
  item.setAttribute("aria-setsize", data.rows.length);
  item.setAttribute("aria-posinset", n);
  item.classList.toggle("sl-on", state.picked === n);
  if (data.ticked) {
    const box = make("input");
    box.type = "checkbox";
    box.checked = ticked.has(n);
    box.setAttribute("aria-label", `${data.words.tick} ${n} ${name}`);
    box.onchange = () => state.tick(n, box.checked);
    item.append(box);
  }
  const button = make("button", "sl-place");
  button.type = "button";
  button.dataset.n = n;
  button.title = name;
  if (state.picked === n) button.setAttribute("aria-current", "true");
  const dot = make("span", "sl-number", String(n));
  dot.style.background = data.colours[kind];
  const words = make("span", "sl-words");
  words.append(make("bdi", "sl-title", name), make("bdi", "sl-note", note));
  button.append(dot, words);
  button.onclick = () => state.pick(n);
  item.append(button);
  return item;
};

// Draws the rows in sight. Rows that are there already stay, so that none loses the focus.
const paint = (state, anew) => {
  const { box, list, data } = state;
  const first = Math.max(0, Math.floor(box.scrollTop / HEIGHT) - 4);
  const last = Math.min(data.rows.length, Math.ceil((box.scrollTop + box.clientHeight) / HEIGHT) + 4);
  const focused = list.contains(document.activeElement) ? document.activeElement : null;
  const number = focused?.closest("li").querySelector("button").dataset.n;
  const kind = focused?.tagName;
  for (const [at, item] of state.shown) {
    if (anew || at < first || at >= last) {
      item.remove();
      state.shown.delete(at);
    }
  }
  for (let at = first; at < last; at += 1) {
    if (state.shown.has(at)) continue;
    const item = row(state, at);
    const after = state.shown.get(at + 1);
    list.insertBefore(item, after ?? null);
    state.shown.set(at, item);
  }
  const again = number && state.shown.get(number - 1);
  if (again && !list.contains(document.activeElement)) {
    again.querySelector(kind === "INPUT" ? "input" : "button")?.focus({ preventScroll: true });
  }
};

const reveal = (state, n) => {
  const { box } = state;
  const top = (n - 1) * HEIGHT;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + HEIGHT > box.scrollTop + box.clientHeight) {
    box.scrollTop = top + HEIGHT - box.clientHeight;
  }
};

const step = (state, event) => {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const from = Number(event.target.closest?.("li")?.querySelector("button").dataset.n);
  const to = from + by;
  if (!by || !from || to < 1 || to > state.data.rows.length) return;
  event.preventDefault();
  reveal(state, to);
  paint(state);
  state.shown.get(to - 1).querySelector("button").focus({ preventScroll: true });
};

const begin = (root) => {
  const box = make("div", "sl-list");
  const list = make("ol");
  box.append(list);
  root.replaceChildren(box);
  const state = { box, list, shown: new Map(), ticked: new Set(), picked: 0, turn: 0 };
  box.onscroll = () => paint(state);
  box.onkeydown = (event) => step(state, event);
  new ResizeObserver(() => state.data && paint(state)).observe(box);
  root.sightline = state;
  return state;
};

export default ({ data, parentElement, setTriggerValue }) => {
  const root = parentElement.querySelector(".sl-places");
  const state = root.sightline ?? begin(root);
  const other = state.data?.of !== data.of;
  const older = data.turn < state.turn && !other; // it answers something before the last click
  const picked = older ? state.picked : data.picked;
  const moved = picked !== state.picked || other;
  state.data = data;
  if (!older) state.ticked = new Set(data.ticked ?? []);
  state.picked = picked;
  const tell = (what) => {
    state.turn = Date.now();
    setTriggerValue("told", { ...what, of: data.of, turn: state.turn });
  };
  state.pick = (n) => {
    state.picked = n;
    paint(state, true);
    tell({ n });
  };
  state.tick = (n, on) => {
    on ? state.ticked.add(n) : state.ticked.delete(n);
    tell({ ticked: [...state.ticked] });
  };
  state.box.style.height = data.height ? `${data.height}px` : "";
  state.box.setAttribute("aria-label", data.words.list);
  state.list.style.height = `${data.rows.length * HEIGHT}px`;
  if (other && !picked) state.box.scrollTop = 0;
  if (moved && picked) reveal(state, picked);
  paint(state, true);
};
