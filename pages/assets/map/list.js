// The list beside a map. Only the visible rows are in the page, however long the list is; texts are
// text nodes. A click on a row selects it, its box checks it; Up and Down move between rows.

const ROW_HEIGHT = 54; // pixels of a row, as in list.css

const make = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
  return node;
};

const createRow = (state, index) => {
  const { data, ticked } = state;
  const [kind, name, note] = data.rows[index];
  const n = index + 1;
  const item = make("li", "sl-row");
  item.style.top = `${index * ROW_HEIGHT}px`;
  item.setAttribute("aria-setsize", data.rows.length);
  item.setAttribute("aria-posinset", n);
  item.classList.toggle("sl-on", state.picked === n);
  if (data.ticked) {
    const box = make("input");
    box.type = "checkbox";
    box.checked = ticked.has(n);
    box.setAttribute("aria-label", `${data.words.tick} ${n} ${name}`);
    box.onchange = () => state.check(n, box.checked);
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
  button.onclick = () => state.select(n);
  item.append(button);
  return item;
};

// Draws the visible rows. Rows that stay keep their elements, so that none loses the focus; with
// `redraw` they are replaced and the focus is restored.
const drawRows = (state, redraw) => {
  const { box, list, data } = state;
  const first = Math.max(0, Math.floor(box.scrollTop / ROW_HEIGHT) - 4);
  const last = Math.min(data.rows.length, Math.ceil((box.scrollTop + box.clientHeight) / ROW_HEIGHT) + 4);
  const focused = list.contains(document.activeElement) ? document.activeElement : null;
  const focusedNumber = focused?.closest("li").querySelector("button").dataset.n;
  const focusedTag = focused?.tagName;
  for (const [index, item] of state.shown) {
    if (redraw || index < first || index >= last) {
      item.remove();
      state.shown.delete(index);
    }
  }
  for (let index = first; index < last; index += 1) {
    if (state.shown.has(index)) continue;
    const item = createRow(state, index);
    const following = state.shown.get(index + 1);
    list.insertBefore(item, following ?? null);
    state.shown.set(index, item);
  }
  const redrawn = focusedNumber && state.shown.get(focusedNumber - 1);
  if (redrawn && !list.contains(document.activeElement)) {
    redrawn.querySelector(focusedTag === "INPUT" ? "input" : "button")?.focus({ preventScroll: true });
  }
};

const scrollToRow = (state, n) => {
  const { box } = state;
  const top = (n - 1) * ROW_HEIGHT;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + ROW_HEIGHT > box.scrollTop + box.clientHeight) {
    box.scrollTop = top + ROW_HEIGHT - box.clientHeight;
  }
};

const moveFocus = (state, event) => {
  const offset = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const from = Number(event.target.closest?.("li")?.querySelector("button").dataset.n);
  const to = from + offset;
  if (!offset || !from || to < 1 || to > state.data.rows.length) return;
  event.preventDefault();
  scrollToRow(state, to);
  drawRows(state);
  state.shown.get(to - 1).querySelector("button").focus({ preventScroll: true });
};

const createState = (root) => {
  const box = make("div", "sl-list");
  const list = make("ol");
  box.append(list);
  root.replaceChildren(box);
  const state = { box, list, shown: new Map(), ticked: new Set(), picked: 0, turn: 0 };
  box.onscroll = () => drawRows(state);
  box.onkeydown = (event) => moveFocus(state, event);
  new ResizeObserver(() => state.data && drawRows(state)).observe(box);
  root.sightline = state;
  return state;
};

export default ({ data, parentElement, setTriggerValue }) => {
  const root = parentElement.querySelector(".sl-places");
  const state = root.sightline ?? createState(root);
  const isNewList = state.data?.of !== data.of;
  const isStale = data.turn < state.turn && !isNewList; // sent before the visitor's last action
  const picked = isStale ? state.picked : data.picked;
  const shouldScroll = picked !== state.picked || isNewList;
  state.data = data;
  if (!isStale) state.ticked = new Set(data.ticked ?? []);
  state.picked = picked;
  const send = (change) => {
    state.turn = Date.now();
    setTriggerValue("told", { ...change, of: data.of, turn: state.turn });
  };
  state.select = (n) => {
    state.picked = n;
    drawRows(state, true);
    send({ n });
  };
  state.check = (n, isChecked) => {
    isChecked ? state.ticked.add(n) : state.ticked.delete(n);
    send({ ticked: [...state.ticked] });
  };
  state.box.style.height = data.height ? `${data.height}px` : "";
  state.box.setAttribute("aria-label", data.words.list);
  state.list.style.height = `${data.rows.length * ROW_HEIGHT}px`;
  if (isNewList && !picked) state.box.scrollTop = 0;
  if (shouldScroll && picked) scrollToRow(state, picked);
  drawRows(state, true);
};
