// Draws an answer from its blocks. Every text becomes a text node: nothing from outside is markup.
// A click on a citation opens its passage in place; Escape closes it.

const make = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
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

const passage = (cite, words, id) => {
  const box = make("div", "sl-passage");
  box.id = id;
  box.hidden = true;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", `${words.passage} ${cite.n}`);
  const head = make("div");
  head.append(make("strong", "", `[${cite.n}] ${cite.title}`));
  if (cite.sample) head.append(make("span", "sl-tag", words.sample));
  box.append(head);
  if (cite.heading) box.append(make("div", "sl-facts", cite.heading));
  const text = make("blockquote");
  text.append(cite.before, make("mark", "", cite.quote), cite.after);
  box.append(text, make("div", "sl-facts", cite.facts));
  if (cite.url) {
    const where = make("div", "sl-facts");
    where.append(link(cite.url, `${words.visit} ↗ ${cite.host}`));
    box.append(where);
  }
  return box;
};

const block = (item, words, prefix, opened) => {
  if (item.kind === "heading") return make("h3", "", item.text);
  if (item.kind === "missing") return make("div", "sl-missing", item.text);
  if (item.kind === "notice") return make("div", "sl-notice", item.text);
  const root = make("div", item.kind === "quote" ? "sl-quote" : "");
  const text = item.kind === "quote" ? `“${item.text}”` : item.text;
  const letters = Array.from(text);
  const tail = make("span", "sl-tail", letters.splice(-2).join("")); // keeps [n] with the last word
  root.append(make("span", "", letters.join("")), tail);
  if (item.unsourced) tail.append(make("span", "sl-tag", words.unsourced));
  const below = [];
  item.cites.forEach((cite, at) => {
    const id = `${prefix}-${at}`;
    const box = passage(cite, words, id);
    const button = make("button", "sl-cite", `[${cite.n}]`);
    button.type = "button";
    button.setAttribute("aria-controls", id);
    button.setAttribute("aria-label", words.open.replace("{n}", cite.n));
    button.title = `${cite.title}${cite.heading ? " · " + cite.heading : ""}`;
    const show = (open) => {
      box.hidden = !open;
      button.setAttribute("aria-expanded", String(open));
      open ? opened.add(id) : opened.delete(id);
    };
    show(opened.has(id));
    button.onclick = () => show(box.hidden);
    root.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !box.hidden) {
        show(false);
        button.focus();
      }
    });
    tail.append(button);
    below.push(box);
  });
  if (item.cites.length && item.kind === "quote") root.append(make("span", "sl-where", item.cites[0].where));
  root.append(...below);
  return root;
};

const openedBy = new WeakMap();

export default function ({ parentElement, data }) {
  const opened = openedBy.get(parentElement) ?? new Set();
  openedBy.set(parentElement, opened);
  const root = parentElement.querySelector(".sl-answer");
  root.lang = data.lang;
  root.replaceChildren(...data.blocks.map((item, at) => block(item, data.words, `${data.id}-${at}`, opened)));
}
