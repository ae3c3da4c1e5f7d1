// Draws an answer from its blocks. Every text becomes a text node: outside text is never markup.
// A click on a citation opens its passage: in the drawer beside the answer if the window is wide
// enough, else below the block. A click on a mark shows why the sentence is marked. Escape closes both.

// Removes bidirectional controls, which would reverse the text that follows.
const withoutBidiControls = (text) => text.replace(/[\u202a-\u202e\u2066-\u2069]/g, "");

const make = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = withoutBidiControls(text);
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

const textButton = (text, onClick, className = "sl-way") => {
  const button = make("button", className, text);
  button.type = "button";
  button.onclick = onClick;
  return button;
};

// Jumps within the answer

const scrollBehavior = () => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth");

// Opens the folded parents of an element, scrolls to it, focuses it and highlights its line for two seconds.
const jumpTo = (target) => {
  if (!target) return;
  for (let node = target.parentElement; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
  target.scrollIntoView({ block: "center", behavior: scrollBehavior() });
  target.focus({ preventScroll: true });
  const line = target.closest("p, li, td, th, .sl-quote") ?? target;
  line.classList.add("sl-found");
  setTimeout(() => line.classList.remove("sl-found"), 2000);
};

const jumpButton = (text, id) => textButton(text, () => jumpTo(document.getElementById(id)));

const SYMBOLS = { differs: "≠", unsupported: "×" };

const symbol = (status) => {
  const node = make("span", `sl-symbol sl-${status}`, SYMBOLS[status] ?? "");
  node.setAttribute("aria-hidden", "true");
  return node;
};

const withLanguage = (node, lang) => {
  node.lang = lang;
  return node;
};

const citeId = (prefix, span, n) => `${prefix}-${span}-${n}-open`;
const markId = (prefix, sentence) => `${prefix}-mark-${sentence}`;

// Passages

// Shows the page of a passage: a picture in which the cited words are marked, the text of a slide, or the
// reason why there is neither.
const drawPage = (root, page, excerpt, words) => {
  root.replaceChildren();
  if (page.picture) {
    const picture = make("img");
    picture.alt = excerpt.alt;
    picture.width = page.width;
    picture.height = page.height;
    picture.src = page.picture;
    root.append(picture, make("div", "sl-facts", words.pages[page.match]));
  } else if (page.parts) {
    const text = withLanguage(make("blockquote"), excerpt.lang);
    for (const [part, isMarked] of page.parts) text.append(isMarked ? make("mark", "", part) : part);
    root.append(text);
  } else {
    root.append(make("div", "sl-facts", words.pages[page.reason]));
  }
};

// A button that shows the page of a passage, which is drawn on request only.
const pageButton = (excerpt, words) => {
  const root = make("div", "sl-page");
  const button = textButton(words.show_page, async () => {
    button.disabled = true;
    try {
      const response = await fetch(excerpt.page);
      if (!response.ok) throw new Error(response.statusText);
      drawPage(root, await response.json(), excerpt, words);
    } catch {
      button.disabled = false;
      root.replaceChildren(button, make("div", "sl-facts", words.page_failed));
    }
  });
  root.append(button);
  return root;
};

// The parts of a passage or of a part of it: heading, row cells or text, origin and scanned page.
const passageParts = (excerpt, words) => {
  const parts = [];
  if (excerpt.heading) parts.push(withLanguage(make("div", "sl-facts", excerpt.heading), excerpt.lang));
  if (excerpt.cells) {
    const grid = make("dl", "sl-cells");
    for (const [name, value] of excerpt.cells) grid.append(make("dt", "", name), make("dd", "", value));
    parts.push(grid);
  }
  const text = withLanguage(make("blockquote"), excerpt.lang);
  text.append(excerpt.before);
  if (excerpt.quote) text.append(make("mark", "", excerpt.quote));
  text.append(excerpt.after);
  if (text.textContent) parts.push(text);
  if (excerpt.grounding) parts.push(make("div", "sl-facts sl-origin", words.grounding));
  if (excerpt.ocr) parts.push(make("div", "sl-facts sl-origin", words.ocr));
  if (excerpt.picture) {
    const full = make("a", "sl-scan");
    full.href = excerpt.picture;
    full.target = "_blank";
    full.rel = "noopener noreferrer";
    const picture = make("img");
    picture.loading = "lazy"; // a closed passage loads no picture
    picture.alt = excerpt.alt;
    picture.src = excerpt.picture;
    full.append(picture);
    parts.push(full);
  }
  if (excerpt.page) parts.push(pageButton(excerpt, words));
  if (excerpt.pageNote) parts.push(make("div", "sl-facts", excerpt.pageNote));
  return parts;
};

const MAX_NOTE_CHARS = 4000;

// The visitor's note on a passage, with buttons to write, edit and delete it; nothing in a draft.
const noteEditor = (excerpt, view) => {
  if (!view.note) return [];
  const { words } = view;
  const key = excerpt.at.join(" ");
  const root = make("div", "sl-note");
  root.lang = view.page;
  const draw = (takeFocus) => {
    root.replaceChildren(...(view.drafts.has(key) ? formParts() : noteParts()));
    if (takeFocus) root.querySelector("textarea, button")?.focus();
  };
  const save = (text) => {
    view.drafts.delete(key);
    excerpt.note = text.trim();
    view.note({ at: excerpt.at, text: excerpt.note });
    draw(true);
  };
  const edit = () => {
    view.drafts.set(key, excerpt.note);
    draw(true);
  };
  const cancel = () => {
    view.drafts.delete(key);
    draw(true);
  };
  const noteParts = () => {
    if (!excerpt.note) return [textButton(words.note_add, edit)];
    const buttons = make("div", "sl-ways");
    buttons.append(textButton(words.note_edit, edit), textButton(words.note_delete, () => save("")));
    return [make("div", "sl-facts", words.note_own), make("p", "sl-noted", excerpt.note), buttons];
  };
  const formParts = () => {
    const area = make("textarea");
    area.value = view.drafts.get(key);
    area.maxLength = MAX_NOTE_CHARS;
    area.rows = 3;
    area.setAttribute("aria-label", words.note_own);
    area.oninput = () => view.drafts.set(key, area.value);
    area.onkeydown = (event) => {
      event.stopPropagation();
      if (event.key === "Escape" && !event.isComposing) cancel();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save(area.value);
    };
    const buttons = make("div", "sl-ways");
    buttons.append(textButton(words.note_save, () => save(area.value), "sl-save"), textButton(words.note_cancel, cancel));
    return [area, buttons];
  };
  draw(false);
  return [root];
};

// The sentences that use a source if there are several. The list is built when it is first opened.
const sourceUses = (cite, view) => {
  const uses = view.uses[cite.n] ?? [];
  if (uses.length < 2) return [];
  const root = make("details", "sl-uses");
  root.append(make("summary", "", view.words.uses.replace("{n}", uses.length)));
  root.ontoggle = () => {
    if (!root.open || root.querySelector("ul")) return;
    const list = make("ul");
    for (const use of uses) {
      const item = make("li");
      const button = withLanguage(jumpButton(use.text, citeId(view.prefix, use.at, cite.n)), view.lang);
      button.title = use.name;
      item.append(symbol(use.status), button);
      list.append(item);
    }
    root.append(list);
  };
  return [root];
};

// The box of a cited source: its cited passages, statement, facts, link and uses. It begins hidden.
const passageBox = (cite, view, id) => {
  const { words } = view;
  const box = make("div", "sl-passage");
  box.id = id;
  box.lang = view.page;
  box.hidden = true;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", `${words.passage} ${cite.n}`);
  const head = make("div");
  head.append(withLanguage(make("strong", "", `[${cite.n}] ${cite.title}`), cite.titled));
  if (cite.sample) head.append(make("span", "sl-tag", words.sample));
  if (cite.notice) head.append(make("strong", "sl-tag sl-notice", cite.notice));
  box.append(head);
  for (const excerpt of [cite, ...cite.more]) box.append(...passageParts(excerpt, words), ...noteEditor(excerpt, view));
  if (cite.code) {
    const statement = make("pre", "sl-sql");
    statement.append(make("code", "", cite.code));
    box.append(statement);
  }
  box.append(make("div", "sl-facts", cite.facts));
  if (cite.url) {
    const linkLine = make("div", "sl-facts");
    linkLine.append(link(cite.url, `${cite.visit} ↗ ${cite.host}`));
    if (cite.expires) linkLine.append(` · ${cite.expires}`);
    box.append(linkLine);
  }
  box.append(...sourceUses(cite, view));
  return box;
};

// The drawer: a column beside the page that shows one passage at a time. While it is open, the page
// has a padding on that side, so that nothing lies under the drawer. All sizes are in pixels.

const MIN_DRAWER_WIDTH = 288;
const MAX_DRAWER_WIDTH = 480;
const PREFERRED_TEXT_WIDTH = 650; // of the page beside the drawer; the drawer narrows first
const MIN_ANSWER_WIDTH = 420; // below it the drawer does not open
const WINDOW_GAP = 16; // between the drawer and the window's edge
const PAGE_GAP = 28; // between the drawer and the page

// Returns the width of the drawer and the right padding of the page, or null if the window is too narrow.
// `reserved` is set if the page has a padding for the drawer already.
const drawerLayout = (root, page, reserved) => {
  const style = getComputedStyle(page);
  const edge = page.getBoundingClientRect();
  const left = edge.left + parseFloat(style.paddingLeft);
  const right = edge.right - (reserved ? reserved.originalPadding : parseFloat(style.paddingRight));
  const free = innerWidth - WINDOW_GAP - PAGE_GAP - left;
  const width = Math.max(MIN_DRAWER_WIDTH, Math.min(MAX_DRAWER_WIDTH, free - PREFERRED_TEXT_WIDTH));
  const textWidth = Math.min(free - width, right - left);
  const currentTextWidth = edge.right - parseFloat(style.paddingRight) - left;
  const answerWidth = (root.parentElement.clientWidth * textWidth) / currentTextWidth;
  return answerWidth < MIN_ANSWER_WIDTH ? null : { width, padding: edge.right - left - textWidth };
};

// Runs a change that may move the page, then scrolls so that the anchor stays where it was.
const keepInPlace = (anchor, change) => {
  const before = anchor?.getBoundingClientRect().top;
  change();
  if (!anchor?.isConnected) return;
  const offset = anchor.getBoundingClientRect().top - before;
  if (offset) anchor.closest('[data-testid="stMain"]')?.scrollBy({ top: offset, behavior: "instant" });
};

const closers = new WeakMap(); // the function that closes each box

const controllingButton = (box) => document.querySelector(`[aria-controls="${CSS.escape(box?.id ?? "")}"]`);

const createDrawer = (root, onLayout) => {
  const node = make("aside", "sl-drawer");
  const bar = make("div", "sl-bar");
  const closeButton = textButton("×", null, "sl-close");
  bar.append(closeButton);
  node.append(bar);
  node.hidden = true;
  node.tabIndex = -1;
  let shown = null; // the box in the drawer, and the placeholder at its place in the answer
  let reserved = null; // the page with a padding for the drawer, and its padding before
  const reserveColumn = () => {
    const page = root.closest('[data-testid="stMainBlockContainer"]');
    const layout = page && drawerLayout(root, page, reserved);
    if (!layout) return false;
    reserved ??= { page, originalPadding: parseFloat(getComputedStyle(page).paddingRight) };
    page.style.paddingRight = `${layout.padding}px`;
    Object.assign(node.style, { right: `${WINDOW_GAP}px`, width: `${layout.width}px` });
    onLayout();
    return true;
  };
  const hide = () => {
    node.hidden = true;
    reserved?.page.style.removeProperty("padding-right");
    reserved = null;
    onLayout();
  };
  const restoreBox = () => {
    const { box, placeholder } = shown;
    shown = null;
    placeholder.replaceWith(box);
  };
  const release = () => {
    if (!shown) return;
    keepInPlace(controllingButton(shown.box), () => {
      restoreBox();
      hide();
    });
  };
  // Moves a box into the drawer. Returns false if the window is too narrow.
  const show = (box) => {
    const previous = shown;
    let fits;
    keepInPlace(controllingButton(box), () => {
      fits = reserveColumn();
    });
    if (!fits) return false;
    if (previous) {
      restoreBox();
      closers.get(previous.box)();
    }
    const placeholder = document.createComment("");
    box.replaceWith(placeholder);
    shown = { box, placeholder };
    node.append(box);
    node.hidden = false;
    node.scrollTop = 0;
    return true;
  };
  closeButton.onclick = () => {
    const button = controllingButton(shown?.box);
    if (shown) closers.get(shown.box)();
    button?.focus();
  };
  // Updates the labels. If the answer was redrawn, the new box with the same id replaces the shown one.
  const refresh = (words) => {
    closeButton.title = words.close;
    closeButton.setAttribute("aria-label", words.close);
    node.setAttribute("aria-label", words.drawer);
    if (!shown || shown.placeholder.isConnected) return;
    const { box } = shown;
    shown = null;
    box.remove();
    const redrawn = root.querySelector(`#${CSS.escape(box.id)}`);
    if (!redrawn || !show(redrawn)) hide();
  };
  const adapt = () => {
    if (shown && !reserveColumn()) release();
  };
  const closeOnEscape = (event) => {
    if (event.key === "Escape" && shown && !event.target.closest?.("input, textarea, [role=dialog]")) closeButton.onclick();
  };
  addEventListener("resize", adapt);
  addEventListener("keydown", closeOnEscape);
  const dispose = () => {
    removeEventListener("resize", adapt);
    removeEventListener("keydown", closeOnEscape);
    hide();
  };
  return { node, show, release, refresh, adapt, dispose, shows: (box) => shown?.box === box };
};

// Makes a button open and close a box.
const connectToggle = (button, box, view) => {
  const setOpen = (open, byUser = false) => {
    if (view.drawer.shows(box)) view.drawer.release();
    box.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    if (!open) return view.opened.delete(box.id);
    view.opened.add(box.id);
    if (byUser) view.drawer.show(box);
  };
  closers.set(box, () => setOpen(false));
  const closeOnEscape = (event) => {
    if (event.key !== "Escape" || box.hidden) return;
    event.stopPropagation();
    setOpen(false);
    button.focus();
  };
  button.type = "button";
  button.setAttribute("aria-controls", box.id);
  setOpen(view.opened.has(box.id));
  button.onclick = (event) => {
    setOpen(box.hidden, true);
    // A click by the keyboard (detail 0) moves the focus to the passage.
    if (event.detail === 0 && view.drawer.shows(box)) view.drawer.node.focus({ preventScroll: true });
  };
  button.addEventListener("keydown", closeOnEscape);
  box.addEventListener("keydown", closeOnEscape);
  return button;
};

// The functions below add the boxes that their buttons open to `boxes`; the caller puts these below the line.

const citationButton = (cite, span, view, boxes) => {
  const box = passageBox(cite, view, `${view.prefix}-${span}-${cite.n}`);
  const button = make("button", "sl-cite", `[${cite.n}]`);
  button.id = citeId(view.prefix, span, cite.n);
  const hasNote = [cite, ...cite.more].some((excerpt) => excerpt.note);
  button.classList.toggle("sl-has-note", hasNote);
  const labels = [view.words.open.replace("{n}", cite.n), ...(hasNote ? [view.words.note_own] : [])];
  button.setAttribute("aria-label", labels.join(" · "));
  button.title = cite.where;
  boxes.push(box);
  return connectToggle(button, box, view);
};

const citationButtons = (item, span, view, boxes) => {
  const buttons = item.cites.map((cite) => citationButton(cite, span, view, boxes));
  if (item.unsourced) buttons.push(make("span", "sl-tag sl-unsourced", view.words.unsourced));
  return buttons;
};

// The mark of a doubtful sentence; its box gives the reasons.
const markButton = (item, view, boxes) => {
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
    box.append(textButton(view.words.nearest.replace("{n}", item.near.n), () => {
      const cite = document.getElementById(citeId(view.prefix, item.near.at, item.near.n));
      if (cite?.getAttribute("aria-expanded") === "false") cite.click();
      jumpTo(cite);
    }));
  }
  const button = make("button", `sl-mark sl-is-${item.status}`);
  button.id = id;
  button.append(symbol(item.status));
  button.setAttribute("aria-label", item.label);
  button.title = item.label;
  boxes.push(box);
  return connectToggle(button, box, view);
};

// Appends citations and marks so that no line break separates the last letters of the text from the
// first two, nor a final mark from the citation before it.
const attachToLastWord = (target, buttons) => {
  const tail = make("span", "sl-tail");
  const last = target.lastChild;
  if (last && last.nodeType === Node.TEXT_NODE) {
    const letters = Array.from(last.data);
    tail.append(letters.splice(-2).join(""));
    last.data = letters.join("");
  } else if (last) {
    tail.append("\u2060");
  }
  const more = buttons.slice(2);
  const end = more.at(-1)?.matches(".sl-mark") ? more.splice(-2) : [];
  tail.append(...buttons.slice(0, 2));
  target.append(tail, ...more);
  if (!end.length) return;
  const endTail = make("span", "sl-tail");
  endTail.append(...end);
  target.append(endTail);
};

// Text written by a model, as a tree of nodes. `view` holds the citations and marks of the block.

const INLINE_TAGS = new Set(["em", "strong", "s", "code", "br"]);
const ALIGNMENTS = new Set(["left", "center", "right"]);

const appendInline = (target, nodes, view, boxes) => {
  let buttons = [];
  const flush = () => {
    if (buttons.length) attachToLastWord(target, buttons);
    buttons = [];
  };
  for (const node of nodes) {
    if (node.t === "cite") {
      const span = view.first + node.span;
      buttons.push(...citationButtons(view.spans[span], span, view, boxes));
      continue;
    }
    if (node.t === "mark") {
      const item = view.marks[node.sentence];
      if (item) buttons.push(markButton(item, view, boxes));
      continue;
    }
    flush();
    if (typeof node === "string") target.append(node);
    else if (node.t === "math") target.append(make("code", node.display ? "sl-formula" : "", node.c.join("")));
    else if (INLINE_TAGS.has(node.t)) target.append(appendInline(make(node.t), node.c, view, boxes));
  }
  flush();
  return target;
};

const drawTable = (node, view) => {
  const boxes = [];
  const table = make("table");
  const [head, body] = [make("thead"), make("tbody")];
  node.c.forEach((row, index) => {
    const line = make("tr");
    for (const cell of row.c) {
      const box = appendInline(make(cell.t === "th" ? "th" : "td"), cell.c, view, boxes);
      if (ALIGNMENTS.has(cell.align)) box.style.textAlign = cell.align;
      line.append(box);
    }
    (index ? body : head).append(line);
  });
  table.append(head, body);
  const scroll = make("div", "sl-scroll");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", view.words.table);
  scroll.append(table);
  return [scroll, ...boxes];
};

const drawList = (node, view) => {
  const root = make(node.t);
  if (node.t === "ol" && Number.isInteger(node.start)) root.start = node.start;
  for (const item of node.c) root.append(appendBlocks(make("li"), item.c, view));
  return [root];
};

const drawCode = (node) => {
  const root = make("pre");
  root.append(make("code", "", node.c.join("")));
  return [root];
};

const drawLine = (tag, node, view) => {
  const boxes = [];
  return [appendInline(make(tag), node.c, view, boxes), ...boxes];
};

const BLOCK_RENDERERS = {
  p: (node, view) => drawLine("p", node, view),
  h: (node, view) => drawLine(`h${Math.min(6, Math.max(3, node.level | 0))}`, node, view),
  ul: drawList,
  ol: drawList,
  table: drawTable,
  pre: drawCode,
  blockquote: (node, view) => [appendBlocks(make("blockquote"), node.c, view)],
  hr: () => [make("hr")],
};

// Appends blocks and the inline nodes between them; boxes follow the line of their buttons.
const appendBlocks = (target, nodes, view) => {
  let inlineNodes = [];
  const flush = () => {
    const boxes = [];
    appendInline(target, inlineNodes, view, boxes);
    target.append(...boxes);
    inlineNodes = [];
  };
  for (const node of nodes) {
    const draw = Object.hasOwn(BLOCK_RENDERERS, node.t) ? BLOCK_RENDERERS[node.t] : null;
    if (!draw) {
      inlineNodes.push(node);
      continue;
    }
    flush();
    target.append(...draw(node, view));
  }
  flush();
  return target;
};

// The blocks of an answer

const drawSpan = (item, view) => {
  const root = make("div", item.kind === "quote" ? "sl-quote" : "");
  if (item.lang) root.lang = item.lang;
  const boxes = [];
  root.append(withoutBidiControls(item.kind === "quote" && !item.made ? `“${item.text}”` : item.text));
  const buttons = citationButtons(item, item.at, view, boxes);
  if (item.mark) buttons.push(markButton(item.mark, view, boxes));
  if (buttons.length) attachToLastWord(root, buttons);
  if (item.cites.length && item.kind === "quote") {
    root.append(withLanguage(make("span", "sl-where", item.cites[0].where), item.cites[0].titled));
  }
  root.append(...boxes);
  return root;
};

// A folded element that stays open when the answer is redrawn.
const foldedBlock = (className, label, id, view) => {
  const root = make("details", className);
  root.open = view.opened.has(id);
  root.ontoggle = () => (root.open ? view.opened.add(id) : view.opened.delete(id));
  root.append(make("summary", "", label));
  return root;
};

const drawRows = (item, view) => {
  const root = foldedBlock("sl-rows", item.text, `${view.prefix}-${item.at}-rows`, view);
  root.append(...item.items.map((quote) => drawSpan(quote, view)));
  return root;
};

const drawBlock = (item, view) => {
  if (item.kind === "heading") return make("h3", "", item.text);
  if (item.kind === "missing") return make("div", "sl-missing", item.text);
  if (item.kind === "notice") return make("div", "sl-notice", item.text);
  if (item.kind === "rows") return drawRows(item, view);
  if (item.kind !== "text") return drawSpan(item, view);
  const blockView = { ...view, first: item.first, spans: item.spans, marks: item.marks };
  return appendBlocks(make("div", "sl-text"), [item.node], blockView);
};

const symbolLine = (status, ...content) => {
  const line = make("li");
  const words = make("div");
  words.append(...content);
  line.append(symbol(status), words);
  return line;
};

// The line above the answer: the number of sentences of each status, and the doubtful ones.
const drawSummary = (item, view) => {
  const root = foldedBlock("sl-counts", item.line, `${view.prefix}-counts`, view);
  root.lang = view.page;
  const details = make("div", "sl-explained");
  if (item.doubtful.length) {
    const list = make("ul", "sl-doubtful");
    for (const sentence of item.doubtful) {
      const button = withLanguage(jumpButton(sentence.text, markId(view.prefix, sentence.at)), view.lang);
      list.append(symbolLine(sentence.status, button, make("div", "sl-facts", sentence.why)));
    }
    details.append(make("div", "sl-label", item.title), list);
  }
  const legend = make("ul", "sl-legend");
  for (const meaning of item.meanings) {
    legend.append(symbolLine(meaning.status, make("strong", "", meaning.name), ` ${meaning.text}`));
  }
  details.append(make("div", "sl-label", item.legend), legend, ...item.notes.map((note) => make("p", "", note)));
  root.append(details);
  return root;
};

// HTML of the search engine, shown unchanged as its terms require, but isolated from the page: it can
// run no script and load nothing. Its links open a new tab.
const ISOLATED_HEAD =
  "<!doctype html><meta charset='utf-8'>" +
  "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">" +
  "<meta name='color-scheme' content='light dark'><meta name='referrer' content='no-referrer'>" +
  "<base target='_blank'><style>body{margin:0;padding:1px}</style>";

const drawSuggestion = (html, words) => {
  const frame = make("iframe", "sl-suggestion");
  frame.setAttribute("sandbox", "allow-popups allow-popups-to-escape-sandbox");
  frame.title = words.suggestions;
  frame.srcdoc = ISOLATED_HEAD + html;
  return frame;
};

// Replaces the children of `root`. A piece with unchanged JSON keeps its node, so that nothing moves
// and no frame loads again. Returns the new pieces.
const updateChildren = (root, oldPieces, newPieces) => {
  const pieces = newPieces.map(({ json, draw }, n) => (oldPieces[n]?.json === json ? oldPieces[n] : { json, node: draw() }));
  pieces.forEach(({ node }, n) => {
    const old = root.children[n];
    if (old === node) return;
    old && old === oldPieces[n]?.node ? old.replaceWith(node) : root.insertBefore(node, old ?? null);
  });
  while (root.children.length > pieces.length) root.lastElementChild.remove();
  return pieces;
};

// Draws a caret behind the last word of a draft, or removes it.
const drawCaret = (root, isDraft) => {
  root.querySelector(".sl-caret")?.remove();
  if (!isDraft) return;
  const caret = make("span", "sl-caret");
  caret.setAttribute("aria-hidden", "true");
  let parent = root;
  for (;;) {
    const next = [...parent.children].findLast((child) => !child.matches(".sl-passage"));
    if (!next?.matches("div:not(.sl-scroll), p, ul, ol, li, blockquote, h3, h4, h5, h6")) break;
    parent = next;
  }
  parent.append(caret);
};

// The contents: the headings of the answer, beside it if the page is wide enough, else folded above it.

const MIN_HEADINGS = 3; // an answer with fewer has no contents

const drawContents = (node, root, view) => {
  const headings = [...root.querySelectorAll(":scope > :is(h3, h4), :scope > .sl-text > :is(h3, h4)")];
  node.hidden = headings.length < MIN_HEADINGS;
  const fingerprint = JSON.stringify([view.words.contents, ...headings.map((heading) => [heading.tagName, heading.textContent])]);
  headings.forEach((heading, n) => {
    heading.id = `${view.prefix}-part-${n}`;
    heading.tabIndex = -1;
  });
  if (node.dataset.fingerprint === fingerprint || node.hidden) return;
  node.dataset.fingerprint = fingerprint;
  const fold = make("details");
  fold.open = node.querySelector("details")?.open ?? false;
  const list = make("ol");
  for (const heading of headings) {
    const item = make("li", `sl-at-${heading.tagName.toLowerCase()}`);
    const copy = heading.cloneNode(true);
    copy.querySelectorAll("button, .sl-tag").forEach((child) => child.remove());
    item.append(textButton(copy.textContent, () => {
      const target = document.getElementById(heading.id);
      target?.scrollIntoView({ block: "start", behavior: scrollBehavior() });
      target?.focus({ preventScroll: true });
    }));
    list.append(item);
  }
  fold.append(make("summary", "", view.words.contents), list);
  node.setAttribute("aria-label", view.words.contents);
  node.replaceChildren(fold);
};

const MIN_WIDE_PIXELS = 920; // of text and contents side by side

const states = new WeakMap(); // by parent element

const createState = (parentElement) => {
  const desk = parentElement.querySelector(".sl-desk");
  const root = parentElement.querySelector(".sl-answer");
  const nav = desk.querySelector(".sl-contents");
  // The contents open when they come to lie beside the answer, and fold when they move above it.
  const updateLayout = () => {
    const isWide = desk.clientWidth >= MIN_WIDE_PIXELS;
    const fold = nav.querySelector("details");
    if (fold && isWide !== desk.classList.contains("sl-wide")) fold.open = isWide;
    desk.classList.toggle("sl-wide", isWide);
  };
  const drawer = createDrawer(root, updateLayout);
  desk.append(drawer.node);
  const observer = new ResizeObserver(() => {
    updateLayout();
    drawer.adapt();
  });
  observer.observe(desk);
  const dispose = () => {
    observer.disconnect();
    drawer.dispose();
    drawer.node.remove();
  };
  return { opened: new Set(), drafts: new Map(), pieces: [], root, desk, nav, drawer, dispose };
};

export default function ({ parentElement, data, setTriggerValue }) {
  let state = states.get(parentElement);
  if (state?.root !== parentElement.querySelector(".sl-answer")) {
    state?.dispose();
    state = { ...createState(parentElement), opened: state?.opened ?? new Set(), drafts: state?.drafts ?? new Map() };
  }
  states.set(parentElement, state);
  const { root } = state;
  const { words } = data;
  const view = {
    words,
    prefix: data.id, // of element ids
    opened: state.opened, // ids of the open boxes
    uses: data.uses,
    lang: data.lang, // of the answer
    page: data.page, // language of the page
    drawer: state.drawer,
    drafts: state.drafts, // texts of notes being edited
    note: data.draft ? null : (note) => setTriggerValue("noted", note), // saves a note
  };
  const shared = JSON.stringify([words, data.uses]); // a change of these redraws every block
  root.lang = data.lang;
  state.nav.lang = data.lang;
  root.setAttribute("aria-busy", String(data.draft));
  drawCaret(root, false);
  const leads = data.lead ? [data.lead] : [];
  const summaries = data.summary ? [data.summary] : [];
  state.pieces = updateChildren(root, state.pieces, [
    ...leads.map((text) => ({ json: text, draw: () => make("p", "sl-lead", text) })),
    ...summaries.map((item) => ({ json: JSON.stringify(item), draw: () => drawSummary(item, view) })),
    ...data.blocks.map((item) => ({ json: JSON.stringify(item) + shared, draw: () => drawBlock(item, view) })),
    ...data.suggestions.map((html) => ({ json: shared + html, draw: () => drawSuggestion(html, words) })),
  ]);
  state.drawer.refresh(words);
  drawContents(state.nav, root, view);
  if (state.desk.classList.contains("sl-wide") && state.nav.firstChild) state.nav.firstChild.open = true;
  drawCaret(root, data.draft);
  return () => state.dispose();
}
