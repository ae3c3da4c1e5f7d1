// Draws an answer from its blocks. Every text becomes a text node: nothing from outside is markup.
// A click on a citation opens its passage beside the answer where there is room, else below the block
// it stands in, and one on a mark says why the sentence is marked; Escape closes either.

// Without what would turn the direction of the text behind it: a citation, a name, the next fact.
const straight = (text) => text.replace(/[\u202a-\u202e\u2066-\u2069]/g, "");

const make = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = straight(text);
  return node;
};

const link = (url, text) => {
  const node = make("a", "", text);
  if (/^https?:\/\//i.test(url)) {
    node.href = url;
    node.target = "_blank";
    node.rel = "noopener noreferrer";
  }
  return node;
};

// Ways to another place of the answer

const bring = (target) => {
  if (!target) return;
  for (let at = target.parentElement; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  target.scrollIntoView({ block: "center", behavior: still ? "auto" : "smooth" });
  target.focus({ preventScroll: true });
  const line = target.closest("p, li, td, th, .sl-quote") ?? target;
  line.classList.add("sl-found");
  setTimeout(() => line.classList.remove("sl-found"), 2000);
};

const way = (text, id) => {
  const button = make("button", "sl-way", text);
  button.type = "button";
  button.onclick = () => bring(document.getElementById(id));
  return button;
};

const SIGNS = { differs: "≠", unsupported: "×" };

const symbol = (status) => {
  const node = make("span", `sl-symbol sl-${status}`, SIGNS[status] ?? "");
  node.setAttribute("aria-hidden", "true");
  return node;
};

// An element that says which language its words are in.
const spoken = (node, lang) => {
  node.lang = lang;
  return node;
};

const citeId = (prefix, at, n) => `${prefix}-${at}-${n}-open`;
const markId = (prefix, at) => `${prefix}-mark-${at}`;

// Passages

const stretch = (shown, words) => {
  const parts = [];
  if (shown.heading) parts.push(spoken(make("div", "sl-facts", shown.heading), shown.lang));
  if (shown.cells) {
    const grid = make("dl", "sl-cells");
    for (const [name, value] of shown.cells) grid.append(make("dt", "", name), make("dd", "", value));
    parts.push(grid);
  }
  const text = spoken(make("blockquote"), shown.lang);
  text.append(shown.before);
  if (shown.quote) text.append(make("mark", "", shown.quote));
  text.append(shown.after);
  if (text.textContent) parts.push(text);
  if (shown.grounding) parts.push(make("div", "sl-facts sl-origin", words.grounding));
  if (shown.ocr) parts.push(make("div", "sl-facts sl-origin", words.ocr));
  if (shown.picture) {
    const full = make("a", "sl-scan");
    full.href = shown.picture;
    full.target = "_blank";
    full.rel = "noopener noreferrer";
    const picture = make("img");
    picture.loading = "lazy"; // a passage that is closed fetches nothing
    picture.alt = shown.alt;
    picture.src = shown.picture;
    full.append(picture);
    parts.push(full);
  }
  return parts;
};

// A note of one's own on a passage: written, changed and deleted below it.
const MOST_NOTED = 4000; // characters

const noted = (shown, view) => {
  if (!view.note) return [];
  const { words } = view;
  const key = shown.at.join(" ");
  const root = make("div", "sl-note");
  root.lang = view.page;
  const press = (text, act, looks = "sl-way") => {
    const button = make("button", looks, text);
    button.type = "button";
    button.onclick = act;
    return button;
  };
  const draw = (focused) => {
    root.replaceChildren(...(view.drafts.has(key) ? writing() : kept()));
    if (focused) root.querySelector("textarea, button")?.focus();
  };
  const keep = (text) => {
    view.drafts.delete(key);
    shown.note = text.trim();
    view.note({ at: shown.at, text: shown.note });
    draw(true);
  };
  const open = () => {
    view.drafts.set(key, shown.note);
    draw(true);
  };
  const leave = () => {
    view.drafts.delete(key);
    draw(true);
  };
  const kept = () => {
    if (!shown.note) return [press(words.note_add, open)];
    const ways = make("div", "sl-ways");
    ways.append(press(words.note_edit, open), press(words.note_delete, () => keep("")));
    return [make("div", "sl-facts", words.note_own), make("p", "sl-noted", shown.note), ways];
  };
  const writing = () => {
    const area = make("textarea");
    area.value = view.drafts.get(key);
    area.maxLength = MOST_NOTED;
    area.rows = 3;
    area.setAttribute("aria-label", words.note_own);
    area.oninput = () => view.drafts.set(key, area.value);
    area.onkeydown = (event) => {
      event.stopPropagation();
      if (event.key === "Escape" && !event.isComposing) leave();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) keep(area.value);
    };
    const ways = make("div", "sl-ways");
    ways.append(press(words.note_save, () => keep(area.value), "sl-save"), press(words.note_cancel, leave));
    return [area, ways];
  };
  draw(false);
  return [root];
};

// The sentences that use a source, listed once somebody wants to see them.
const used = (cite, view) => {
  const found = view.uses[cite.n] ?? [];
  if (found.length < 2) return [];
  const root = make("details", "sl-uses");
  root.append(make("summary", "", view.words.uses.replace("{n}", found.length)));
  root.ontoggle = () => {
    if (!root.open || root.querySelector("ul")) return;
    const list = make("ul");
    for (const one of found) {
      const item = make("li");
      const go = spoken(way(one.text, citeId(view.prefix, one.at, cite.n)), view.lang);
      go.title = one.name;
      item.append(symbol(one.status), go);
      list.append(item);
    }
    root.append(list);
  };
  return [root];
};

const passage = (cite, view, id) => {
  const { words } = view;
  const box = make("div", "sl-passage");
  box.id = id;
  box.lang = view.page;
  box.hidden = true;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", `${words.passage} ${cite.n}`);
  const head = make("div");
  head.append(spoken(make("strong", "", `[${cite.n}] ${cite.title}`), cite.titled));
  if (cite.sample) head.append(make("span", "sl-tag", words.sample));
  if (cite.notice) head.append(make("strong", "sl-tag sl-notice", cite.notice));
  box.append(head);
  for (const shown of [cite, ...cite.more]) box.append(...stretch(shown, words), ...noted(shown, view));
  if (cite.code) {
    const statement = make("pre", "sl-sql");
    statement.append(make("code", "", cite.code));
    box.append(statement);
  }
  box.append(make("div", "sl-facts", cite.facts));
  if (cite.url) {
    const where = make("div", "sl-facts");
    where.append(link(cite.url, `${cite.visit} ↗ ${cite.host}`));
    if (cite.expires) where.append(` · ${cite.expires}`);
    box.append(where);
  }
  box.append(...used(cite, view));
  return box;
};

// The drawer: one passage at a time, in a column of its own beside everything else on the page, which
// keeps off that column for as long as the drawer is open.

const LEAST = 288; // pixels that the drawer needs
const MOST = 480;
const TEXT = 650; // of the page that are left to it if that can be, for the answer is as wide
const NARROW = 420; // that the answer needs
const EDGE = 16; // between the drawer and the window
const GAP = 28; // between the drawer and the page

// How wide the drawer may be, and how much of the page goes; null where there is no room.
const room = (root, page, taken) => {
  const style = getComputedStyle(page);
  const edge = page.getBoundingClientRect();
  const left = edge.left + parseFloat(style.paddingLeft);
  const right = edge.right - (taken ? taken.own : parseFloat(style.paddingRight));
  const free = innerWidth - EDGE - GAP - left;
  const width = Math.max(LEAST, Math.min(MOST, free - TEXT));
  const rest = Math.min(free - width, right - left);
  const now = edge.right - parseFloat(style.paddingRight) - left;
  const answer = (root.parentElement.clientWidth * rest) / now;
  return answer < NARROW ? null : { width, padding: edge.right - left - rest };
};

// Changes what moves the page, but not what one looks at.
const steady = (anchor, change) => {
  const before = anchor?.getBoundingClientRect().top;
  change();
  if (!anchor?.isConnected) return;
  const by = anchor.getBoundingClientRect().top - before;
  if (by) anchor.closest('[data-testid="stMain"]')?.scrollBy({ top: by, behavior: "instant" });
};

const shuts = new WeakMap(); // what closes each box

const drawer = (root, moved) => {
  const node = make("aside", "sl-drawer");
  const bar = make("div", "sl-bar");
  const close = make("button", "sl-close", "×");
  close.type = "button";
  bar.append(close);
  node.append(bar);
  node.hidden = true;
  node.tabIndex = -1;
  let held = null; // the box that is shown, and the place that it has left
  let taken = null; // the page that keeps off the column, and the room at its edge before
  const place = () => {
    const page = root.closest('[data-testid="stMainBlockContainer"]');
    const at = page && room(root, page, taken);
    if (!at) return false;
    taken ??= { page, own: parseFloat(getComputedStyle(page).paddingRight) };
    page.style.paddingRight = `${at.padding}px`;
    Object.assign(node.style, { right: `${EDGE}px`, width: `${at.width}px` });
    moved();
    return true;
  };
  const leave = () => {
    node.hidden = true;
    taken?.page.style.removeProperty("padding-right");
    taken = null;
    moved();
  };
  const button = () => document.querySelector(`[aria-controls="${CSS.escape(held?.box.id ?? "")}"]`);
  const put = () => {
    const { box, home } = held;
    held = null;
    home.replaceWith(box);
  };
  const release = () => {
    if (!held) return;
    steady(button(), () => {
      put();
      leave();
    });
  };
  const hold = (box) => {
    const before = held;
    let fits;
    steady(document.querySelector(`[aria-controls="${CSS.escape(box.id)}"]`), () => {
      fits = place();
    });
    if (!fits) return false;
    if (before) {
      put();
      shuts.get(before.box)();
    }
    const home = document.createComment("");
    box.replaceWith(home);
    held = { box, home };
    node.append(box);
    node.hidden = false;
    node.scrollTop = 0;
    return true;
  };
  close.onclick = () => {
    const from = button();
    if (held) shuts.get(held.box)();
    from?.focus();
  };
  // What the answer says now: a box that was drawn anew takes the place of the one before.
  const renew = (words) => {
    close.title = words.close;
    close.setAttribute("aria-label", words.close);
    node.setAttribute("aria-label", words.drawer);
    if (!held || held.home.isConnected) return;
    const { box } = held;
    held = null;
    box.remove();
    const now = root.querySelector(`#${CSS.escape(box.id)}`);
    if (!now || !hold(now)) leave();
  };
  const fit = () => {
    if (held && !place()) release();
  };
  const escape = (event) => {
    if (event.key === "Escape" && held && !event.target.closest?.("input, textarea, [role=dialog]")) close.onclick();
  };
  addEventListener("resize", fit);
  addEventListener("keydown", escape);
  const gone = () => {
    removeEventListener("resize", fit);
    removeEventListener("keydown", escape);
    leave();
  };
  return { node, hold, release, renew, fit, gone, holds: (box) => held?.box === box };
};

// A button that opens a box, and closes it again.
const opener = (button, box, view) => {
  const show = (open, asked = false) => {
    if (view.drawer.holds(box)) view.drawer.release();
    box.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    if (!open) return view.opened.delete(box.id);
    view.opened.add(box.id);
    if (asked) view.drawer.hold(box);
  };
  shuts.set(box, () => show(false));
  const close = (event) => {
    if (event.key !== "Escape" || box.hidden) return;
    event.stopPropagation();
    show(false);
    button.focus();
  };
  button.type = "button";
  button.setAttribute("aria-controls", box.id);
  show(view.opened.has(box.id));
  button.onclick = (event) => {
    show(box.hidden, true);
    // From the keyboard one goes on where the passage is.
    if (event.detail === 0 && view.drawer.holds(box)) view.drawer.node.focus({ preventScroll: true });
  };
  button.addEventListener("keydown", close);
  box.addEventListener("keydown", close);
  return button;
};

// The button of a citation; its passage goes to `boxes`, to be put below the block.
const citation = (cite, at, view, boxes) => {
  const box = passage(cite, view, `${view.prefix}-${at}-${cite.n}`);
  const button = make("button", "sl-cite", `[${cite.n}]`);
  button.id = citeId(view.prefix, at, cite.n);
  const own = [cite, ...cite.more].some((shown) => shown.note);
  button.classList.toggle("sl-has-note", own);
  const said = [view.words.open.replace("{n}", cite.n), ...(own ? [view.words.note_own] : [])];
  button.setAttribute("aria-label", said.join(" · "));
  button.title = cite.where;
  boxes.push(box);
  return opener(button, box, view);
};

const cites = (item, at, view, boxes) => {
  const found = item.cites.map((cite) => citation(cite, at, view, boxes));
  if (item.unsourced) found.push(make("span", "sl-tag sl-unsourced", view.words.unsourced));
  return found;
};

// The mark of a sentence that is worth checking; what it says goes to `boxes`.
const mark = (item, view, boxes) => {
  const id = markId(view.prefix, item.at);
  const box = make("div", "sl-passage sl-why");
  box.id = `${id}-why`;
  box.lang = view.page;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", item.name);
  const head = make("div");
  head.append(symbol(item.status), make("strong", "", item.name));
  box.append(head);
  if (item.reasons.length) {
    const list = make("ul");
    list.append(...item.reasons.map((reason) => make("li", "", reason)));
    box.append(list);
  }
  if (item.near) {
    const go = make("button", "sl-way", view.words.nearest.replace("{n}", item.near.n));
    go.type = "button";
    go.onclick = () => {
      const cite = document.getElementById(citeId(view.prefix, item.near.at, item.near.n));
      if (cite?.getAttribute("aria-expanded") === "false") cite.click();
      bring(cite);
    };
    box.append(go);
  }
  const button = make("button", `sl-mark sl-is-${item.status}`);
  button.id = id;
  button.append(symbol(item.status));
  button.setAttribute("aria-label", item.label);
  button.title = item.label;
  boxes.push(box);
  return opener(button, box, view);
};

// Citations and marks stay on the line of the last word; of many, the first.
const attach = (into, found) => {
  const tail = make("span", "sl-tail");
  const last = into.lastChild;
  if (last && last.nodeType === Node.TEXT_NODE) {
    const letters = Array.from(last.data);
    tail.append(letters.splice(-2).join(""));
    last.data = letters.join("");
  } else if (last) {
    tail.append("\u2060");
  }
  const more = found.slice(2);
  const behind = more.at(-1)?.matches(".sl-mark") ? more.splice(-2) : [];
  tail.append(...found.slice(0, 2));
  into.append(tail, ...more);
  if (!behind.length) return;
  const end = make("span", "sl-tail");
  end.append(...behind);
  into.append(end);
};

// What a model wrote

const INLINE = new Set(["em", "strong", "s", "code", "br"]);
const ALIGNED = new Set(["left", "center", "right"]);

const inline = (into, nodes, view, boxes) => {
  let found = [];
  const settle = () => {
    if (found.length) attach(into, found);
    found = [];
  };
  for (const node of nodes) {
    if (node.t === "cite") {
      const at = view.first + node.span;
      found.push(...cites(view.spans[at], at, view, boxes));
      continue;
    }
    if (node.t === "mark") {
      const item = view.marks[node.sentence];
      if (item) found.push(mark(item, view, boxes));
      continue;
    }
    settle();
    if (typeof node === "string") into.append(node);
    else if (node.t === "math") into.append(make("code", node.display ? "sl-formula" : "", node.c.join("")));
    else if (INLINE.has(node.t)) into.append(inline(make(node.t), node.c, view, boxes));
  }
  settle();
  return into;
};

const table = (node, view) => {
  const boxes = [];
  const grid = make("table");
  const [head, body] = [make("thead"), make("tbody")];
  node.c.forEach((row, at) => {
    const line = make("tr");
    for (const cell of row.c) {
      const box = inline(make(cell.t === "th" ? "th" : "td"), cell.c, view, boxes);
      if (ALIGNED.has(cell.align)) box.style.textAlign = cell.align;
      line.append(box);
    }
    (at ? body : head).append(line);
  });
  grid.append(head, body);
  const scroll = make("div", "sl-scroll");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", view.words.table);
  scroll.append(grid);
  return [scroll, ...boxes];
};

const list = (node, view) => {
  const root = make(node.t);
  if (node.t === "ol" && Number.isInteger(node.start)) root.start = node.start;
  for (const item of node.c) root.append(fill(make("li"), item.c, view));
  return [root];
};

const code = (node) => {
  const root = make("pre");
  root.append(make("code", "", node.c.join("")));
  return [root];
};

const line = (tag, node, view) => {
  const boxes = [];
  return [inline(make(tag), node.c, view, boxes), ...boxes];
};

const BLOCKS = {
  p: (node, view) => line("p", node, view),
  h: (node, view) => line(`h${Math.min(6, Math.max(3, node.level | 0))}`, node, view),
  ul: list,
  ol: list,
  table,
  pre: code,
  blockquote: (node, view) => [fill(make("blockquote"), node.c, view)],
  hr: () => [make("hr")],
};

// A container of blocks with inline nodes between them; passages follow the line they belong to.
const fill = (into, nodes, view) => {
  let run = [];
  const settle = () => {
    const boxes = [];
    inline(into, run, view, boxes);
    into.append(...boxes);
    run = [];
  };
  for (const node of nodes) {
    const draw = Object.hasOwn(BLOCKS, node.t) ? BLOCKS[node.t] : null;
    if (!draw) {
      run.push(node);
      continue;
    }
    settle();
    into.append(...draw(node, view));
  }
  settle();
  return into;
};

// The blocks of an answer

const quoted = (item, view) => {
  const root = make("div", item.kind === "quote" ? "sl-quote" : "");
  if (item.lang) root.lang = item.lang;
  const boxes = [];
  root.append(straight(item.kind === "quote" && !item.made ? `“${item.text}”` : item.text));
  const found = cites(item, item.at, view, boxes);
  if (item.mark) found.push(mark(item.mark, view, boxes));
  if (found.length) attach(root, found);
  if (item.cites.length && item.kind === "quote") root.append(spoken(make("span", "sl-where", item.cites[0].where), item.cites[0].titled));
  root.append(...boxes);
  return root;
};

const folded = (item, view) => {
  const id = `${view.prefix}-${item.at}-rows`;
  const root = make("details", "sl-rows");
  root.open = view.opened.has(id);
  root.ontoggle = () => (root.open ? view.opened.add(id) : view.opened.delete(id));
  root.append(make("summary", "", item.text), ...item.items.map((one) => quoted(one, view)));
  return root;
};

const block = (item, view) => {
  if (item.kind === "heading") return make("h3", "", item.text);
  if (item.kind === "missing") return make("div", "sl-missing", item.text);
  if (item.kind === "notice") return make("div", "sl-notice", item.text);
  if (item.kind === "rows") return folded(item, view);
  if (item.kind !== "text") return quoted(item, view);
  return fill(make("div", "sl-text"), [item.node], { ...view, first: item.first, spans: item.spans, marks: item.marks });
};

// The line above the answer: how many sentences have what behind them, and which to look at.
const summary = (item, view) => {
  const id = `${view.prefix}-counts`;
  const root = make("details", "sl-counts");
  root.lang = view.page;
  root.open = view.opened.has(id);
  root.ontoggle = () => (root.open ? view.opened.add(id) : view.opened.delete(id));
  root.append(make("summary", "", item.line));
  const inner = make("div", "sl-explained");
  if (item.doubtful.length) {
    inner.append(make("div", "sl-label", item.title));
    const list = make("ul", "sl-doubtful");
    for (const one of item.doubtful) {
      const line = make("li");
      const words = make("div");
      const go = spoken(way(one.text, markId(view.prefix, one.at)), view.lang);
      words.append(go, make("div", "sl-facts", one.why));
      line.append(symbol(one.status), words);
      list.append(line);
    }
    inner.append(list);
  }
  inner.append(make("div", "sl-label", item.legend));
  const legend = make("ul", "sl-legend");
  for (const one of item.meanings) {
    const line = make("li");
    const words = make("div");
    words.append(make("strong", "", one.name), ` ${one.text}`);
    line.append(symbol(one.status), words);
    legend.append(line);
  }
  inner.append(legend, ...item.notes.map((note) => make("p", "", note)));
  root.append(inner);
  return root;
};

// HTML of the search engine, which its terms want shown as it is: shut off from the page. It can run
// no script and fetch nothing; its links open a new tab.
const ISOLATED =
  "<!doctype html><meta charset='utf-8'>" +
  "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">" +
  "<meta name='color-scheme' content='light dark'><meta name='referrer' content='no-referrer'>" +
  "<base target='_blank'><style>body{margin:0;padding:1px}</style>";

const suggestion = (html, words) => {
  const frame = make("iframe", "sl-suggestion");
  frame.setAttribute("sandbox", "allow-popups allow-popups-to-escape-sandbox");
  frame.title = words.suggestions;
  frame.srcdoc = ISOLATED + html;
  return frame;
};

// A block that says the same is kept: nothing moves, and a frame does not load again.
const update = (root, kept, wanted) => {
  const pieces = wanted.map(({ json, draw }, at) => (kept[at]?.json === json ? kept[at] : { json, node: draw() }));
  pieces.forEach(({ node }, at) => {
    const old = root.children[at];
    if (old === node) return;
    old && old === kept[at]?.node ? old.replaceWith(node) : root.insertBefore(node, old ?? null);
  });
  while (root.children.length > pieces.length) root.lastElementChild.remove();
  return pieces;
};

const caret = (root, draft) => {
  root.querySelector(".sl-caret")?.remove();
  if (!draft) return;
  const mark = make("span", "sl-caret");
  mark.setAttribute("aria-hidden", "true");
  let at = root;
  for (;;) {
    const next = [...at.children].findLast((child) => !child.matches(".sl-passage"));
    if (!next?.matches("div:not(.sl-scroll), p, ul, ol, li, blockquote, h3, h4, h5, h6")) break;
    at = next;
  }
  at.append(mark);
};

// The contents: the headings of the answer, beside it where there is room, else folded above it.

const FEW = 3; // headings that need no contents

const contents = (node, root, view) => {
  const heads = [...root.querySelectorAll(":scope > :is(h3, h4), :scope > .sl-text > :is(h3, h4)")];
  node.hidden = heads.length < FEW;
  const said = JSON.stringify([view.words.contents, ...heads.map((head) => [head.tagName, head.textContent])]);
  heads.forEach((head, n) => {
    head.id = `${view.prefix}-part-${n}`;
    head.tabIndex = -1;
  });
  if (node.dataset.said === said || node.hidden) return;
  node.dataset.said = said;
  const fold = make("details");
  fold.open = node.querySelector("details")?.open ?? false;
  const list = make("ol");
  for (const head of heads) {
    const item = make("li", `sl-at-${head.tagName.toLowerCase()}`);
    const shown = head.cloneNode(true);
    shown.querySelectorAll("button, .sl-tag").forEach((one) => one.remove());
    const go = make("button", "sl-way", shown.textContent);
    go.type = "button";
    go.onclick = () => {
      const target = document.getElementById(head.id);
      const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
      target?.scrollIntoView({ block: "start", behavior: still ? "auto" : "smooth" });
      target?.focus({ preventScroll: true });
    };
    item.append(go);
    list.append(item);
  }
  fold.append(make("summary", "", view.words.contents), list);
  node.setAttribute("aria-label", view.words.contents);
  node.replaceChildren(fold);
};

const WIDE = 920; // pixels of text and contents side by side

const states = new WeakMap();

const opened = (parentElement) => {
  const desk = parentElement.querySelector(".sl-desk");
  const root = parentElement.querySelector(".sl-answer");
  const nav = desk.querySelector(".sl-contents");
  // Beside the answer the contents are open, above it they begin folded.
  const moved = () => {
    const wide = desk.clientWidth >= WIDE;
    const fold = nav.querySelector("details");
    if (fold && wide !== desk.classList.contains("sl-wide")) fold.open = wide;
    desk.classList.toggle("sl-wide", wide);
  };
  const beside = drawer(root, moved);
  desk.append(beside.node);
  const measure = new ResizeObserver(() => {
    moved();
    beside.fit();
  });
  measure.observe(desk);
  const gone = () => {
    measure.disconnect();
    beside.gone();
    beside.node.remove();
  };
  return { opened: new Set(), drafts: new Map(), kept: [], root, desk, nav, drawer: beside, gone };
};

export default function ({ parentElement, data, setTriggerValue }) {
  let state = states.get(parentElement);
  if (state?.root !== parentElement.querySelector(".sl-answer")) {
    state?.gone();
    state = { ...opened(parentElement), opened: state?.opened ?? new Set(), drafts: state?.drafts ?? new Map() };
  }
  states.set(parentElement, state);
  const { root } = state;
  const { words } = data;
  const view = {
    words,
    prefix: data.id,
    opened: state.opened,
    uses: data.uses,
    lang: data.lang,
    page: data.page,
    drawer: state.drawer,
    drafts: state.drafts,
    note: data.draft ? null : (what) => setTriggerValue("noted", what),
  };
  const said = JSON.stringify([words, data.uses]);
  root.lang = data.lang;
  state.nav.lang = data.lang;
  root.setAttribute("aria-busy", String(data.draft));
  caret(root, false);
  const above = data.summary ? [data.summary] : [];
  const first = data.lead ? [data.lead] : [];
  state.kept = update(root, state.kept, [
    ...first.map((text) => ({ json: text, draw: () => make("p", "sl-lead", text) })),
    ...above.map((item) => ({ json: JSON.stringify(item), draw: () => summary(item, view) })),
    ...data.blocks.map((item) => ({ json: JSON.stringify(item) + said, draw: () => block(item, view) })),
    ...data.suggestions.map((html) => ({ json: said + html, draw: () => suggestion(html, words) })),
  ]);
  state.drawer.renew(words);
  contents(state.nav, root, view);
  if (state.desk.classList.contains("sl-wide") && state.nav.firstChild) state.nav.firstChild.open = true;
  caret(root, data.draft);
  return () => state.gone();
}
