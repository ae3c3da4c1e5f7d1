// What belongs to every page and can only be done in the browser.

// The document's language is that of the page: Han glyphs take the forms of their language by it.
const tongue = () => (document.querySelector(".st-key-tongue_zh") ? "zh-CN" : "en");

// Streamlit's own words are English alone; on a Chinese page they are looked up in zh.js. What
// comes from outside or from the pages themselves is left alone, whatever it says.
const NAMES = ["aria-label", "title", "placeholder", "alt"];
const OWN = '[data-testid="stFileUploaderDropzone"], [data-testid="stHeaderActionElements"], [data-testid="stTooltipContent"], [data-testid="stTooltipErrorContent"], [data-testid="stStatusWidget"], [data-testid="stMainMenuList"]';
const OTHERS = '.sl-answer, [data-testid="stMarkdownContainer"], [data-testid="stBidiComponent"], [data-testid="stBidiComponentRegular"], [data-testid="stBidiComponentIsolated"], [data-testid="stChatMessageContent"], [data-testid="stText"], [data-testid="stFileUploaderFileName"], [data-testid="stPageLink"], [data-testid="stVegaLiteChart"] svg, code, pre, textarea, script, style, canvas, table, [role="gridcell"], [translate="no"]';
const words = globalThis.sightlineWords;
const before = new WeakMap(); // what nodes said in English, and what was put in its place
let chinese = false;

const said = (text) => {
  const plain = text.trim();
  if (!plain || plain.length > 200 || !/[a-z]/i.test(plain)) return undefined;
  if (Object.hasOwn(words.exact, plain)) return words.exact[plain];
  const found = words.patterns.find(([pattern]) => pattern.test(plain));
  return found && plain.replace(found[0], found[1]);
};

const swap = (node, name, now, put) => {
  if (now === null) return;
  const held = before.get(node) ?? {};
  if (chinese) {
    const told = said(now);
    if (told === undefined || told === now) return;
    held[name] = { english: now, told };
    before.set(node, held);
    put(told);
  } else if (held[name]?.told === now) {
    put(held[name].english);
  }
};

const owned = (element) => !element.closest(OTHERS) || Boolean(element.closest(OWN));
const chosen = (element) => element.closest('[role="option"]');

const text = (node) => {
  const parent = node.parentElement;
  if (!parent || !owned(parent)) return;
  if (chosen(parent) && !/^(Select |Add: |Past |None$)/.test(node.data) && chinese) return;
  swap(node, "text", node.data, (told) => { node.data = told; });
};

const attribute = (element, name) => {
  if (name !== "placeholder" && !owned(element) && !element.matches('[role="img"]')) return;
  swap(element, name, element.getAttribute(name), (told) => element.setAttribute(name, told));
};

const visit = (root) => {
  if (root.nodeType === Node.TEXT_NODE) return text(root);
  if (root.nodeType !== Node.ELEMENT_NODE || root.closest(".sl-answer, canvas")) return undefined;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  for (let node = root; node; node = walker.nextNode()) {
    if (node.nodeType === Node.TEXT_NODE) text(node);
    else for (const name of NAMES) if (node.hasAttribute(name)) attribute(node, name);
  }
  return undefined;
};

const look = () => {
  waiting = false;
  const lang = tongue();
  if (document.documentElement.lang === lang) return;
  document.documentElement.lang = lang;
  if (chinese === (lang === "zh-CN")) return;
  chinese = lang === "zh-CN";
  visit(document.body);
};

let waiting = false;
new MutationObserver((records) => {
  if (chinese && words) {
    for (const record of records) {
      if (record.type === "childList") record.addedNodes.forEach(visit);
      else if (record.type === "characterData") text(record.target);
      else attribute(record.target, record.attributeName);
    }
  }
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(look);
}).observe(document.body, {
  childList: true, subtree: true, characterData: true, attributes: true, attributeFilter: NAMES,
});

// A folder that is dropped keeps the paths of its files, as one that is chosen does: the box for files
// knows where each of them lay, but sends the name that the browser gives, which is the last part.
const path = Object.getOwnPropertyDescriptor(File.prototype, "webkitRelativePath");
if (path?.get && path.configurable) {
  Object.defineProperty(File.prototype, "webkitRelativePath", {
    ...path,
    get() {
      const told = path.get.call(this) || (typeof this.relativePath === "string" ? this.relativePath : "");
      const clean = told.replace(/^\.?\/+/, "");
      return clean.includes("/") ? clean : path.get.call(this);
    },
  });
}

// The menu's entry of the page that is shown leads to the start of that page. Streamlit would draw the page
// again with the address as it is; a step of the history without its parameters is what the server takes for
// leaving. The language stays.
addEventListener("click", (event) => {
  const entry = event.target.closest?.('[data-testid="stSidebarNavLink"][aria-current="page"]');
  if (!entry || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const lang = new URLSearchParams(location.search).get("lang");
  const start = location.pathname + (lang ? `?lang=${encodeURIComponent(lang)}` : "");
  if (location.pathname + location.search !== start) history.pushState({}, "", start);
  dispatchEvent(new PopStateEvent("popstate"));
}, true);
