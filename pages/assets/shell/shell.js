// Parts of every page that only the browser can do: the document's language, Chinese texts for
// Streamlit's interface, paths of dropped folders, and the menu entry of the current page.

// The language of the page for the `lang` attribute, by which browsers choose the forms of Han glyphs.
const pageLanguage = () => (document.querySelector(".st-key-language_zh") ? "zh-CN" : "en");

// Streamlit's interface is English only; on a Chinese page its texts are replaced by those of zh.js.
// Texts of the pages and of outside sources stay unchanged, even if they read the same.
const TRANSLATED_ATTRIBUTES = ["aria-label", "title", "placeholder", "alt"];
const STREAMLIT_PARTS = '[data-testid="stFileUploaderDropzone"], [data-testid="stHeaderActionElements"], [data-testid="stTooltipContent"], [data-testid="stTooltipErrorContent"], [data-testid="stStatusWidget"], [data-testid="stMainMenuList"]';
const CONTENT_PARTS = '.sl-answer, [data-testid="stMarkdownContainer"], [data-testid="stBidiComponent"], [data-testid="stBidiComponentRegular"], [data-testid="stBidiComponentIsolated"], [data-testid="stChatMessageContent"], [data-testid="stText"], [data-testid="stFileUploaderFileName"], [data-testid="stPageLink"], [data-testid="stVegaLiteChart"] svg, code, pre, textarea, script, style, canvas, table, [role="gridcell"], [translate="no"]';
const words = globalThis.sightlineWords;
const replaced = new WeakMap(); // for each node: original and translation by attribute, or "text"
let isChinese = false;

// Returns the Chinese text, or undefined if there is none.
const findTranslation = (text) => {
  const plain = text.trim();
  if (!plain || plain.length > 200 || !/[a-z]/i.test(plain)) return undefined;
  if (Object.hasOwn(words.exact, plain)) return words.exact[plain];
  const rule = words.patterns.find(([pattern]) => pattern.test(plain));
  return rule && plain.replace(rule[0], rule[1]);
};

// Translates a text on a Chinese page, and restores the original on an English one.
const translate = (node, name, current, write) => {
  if (current === null) return;
  const entries = replaced.get(node) ?? {};
  if (isChinese) {
    const translation = findTranslation(current);
    if (translation === undefined || translation === current) return;
    entries[name] = { original: current, translation };
    replaced.set(node, entries);
    write(translation);
  } else if (entries[name]?.translation === current) {
    write(entries[name].original);
  }
};

const belongsToStreamlit = (element) => !element.closest(CONTENT_PARTS) || Boolean(element.closest(STREAMLIT_PARTS));
const isInOption = (element) => element.closest('[role="option"]');

const translateText = (node) => {
  const parent = node.parentElement;
  if (!parent || !belongsToStreamlit(parent)) return;
  if (isInOption(parent) && !/^(Select |Add: |Past |None$)/.test(node.data) && isChinese) return;
  translate(node, "text", node.data, (value) => { node.data = value; });
};

const translateAttribute = (element, name) => {
  if (name !== "placeholder" && !belongsToStreamlit(element) && !element.matches('[role="img"]')) return;
  translate(element, name, element.getAttribute(name), (value) => element.setAttribute(name, value));
};

const translateTree = (root) => {
  if (root.nodeType === Node.TEXT_NODE) return translateText(root);
  if (root.nodeType !== Node.ELEMENT_NODE || root.closest(".sl-answer, canvas")) return undefined;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  for (let node = root; node; node = walker.nextNode()) {
    if (node.nodeType === Node.TEXT_NODE) translateText(node);
    else for (const name of TRANSLATED_ATTRIBUTES) if (node.hasAttribute(name)) translateAttribute(node, name);
  }
  return undefined;
};

let isUpdateScheduled = false;

const updateLanguage = () => {
  isUpdateScheduled = false;
  const lang = pageLanguage();
  if (document.documentElement.lang === lang) return;
  document.documentElement.lang = lang;
  if (isChinese === (lang === "zh-CN")) return;
  isChinese = lang === "zh-CN";
  translateTree(document.body);
};

new MutationObserver((records) => {
  if (isChinese && words) {
    for (const record of records) {
      if (record.type === "childList") record.addedNodes.forEach(translateTree);
      else if (record.type === "characterData") translateText(record.target);
      else translateAttribute(record.target, record.attributeName);
    }
  }
  if (isUpdateScheduled) return;
  isUpdateScheduled = true;
  requestAnimationFrame(updateLanguage);
}).observe(document.body, {
  childList: true, subtree: true, characterData: true, attributes: true, attributeFilter: TRANSLATED_ATTRIBUTES,
});

// Streamlit's uploader uploads a file under its `webkitRelativePath`, which browsers set for a chosen
// folder but not for a dropped one. For a dropped folder the uploader itself adds `relativePath` to each
// file, so that path is returned instead.
const relativePath = Object.getOwnPropertyDescriptor(File.prototype, "webkitRelativePath");
if (relativePath?.get && relativePath.configurable) {
  Object.defineProperty(File.prototype, "webkitRelativePath", {
    ...relativePath,
    get() {
      const browserPath = relativePath.get.call(this);
      const path = browserPath || (typeof this.relativePath === "string" ? this.relativePath : "");
      const clean = path.replace(/^\.?\/+/, "");
      return clean.includes("/") ? clean : browserPath;
    },
  });
}

// A click on the menu entry of the current page leads to the start of that page. Streamlit would redraw
// the page at its address with all parameters. Instead, a step of the browser history without them is
// made, which the server takes for leaving the run; only the language stays.
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
