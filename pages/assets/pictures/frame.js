// Pictures of other servers, with captions. What is shown comes with the address of this frame, and
// every text becomes a text node. This document alone may load pictures from elsewhere.

const told = JSON.parse(decodeURIComponent(location.hash.slice(1)));
const strip = document.getElementById("strip");
document.documentElement.lang = told.lang;
document.documentElement.classList.toggle("dark", told.dark);
strip.setAttribute("aria-label", told.words.title);

const web = (address) => /^https?:\/\//i.test(address);
const make = (tag, text) => {
  const node = document.createElement(tag);
  if (text) node.textContent = text;
  return node;
};

const link = (address, text) => {
  const node = make("a", text);
  node.href = address;
  node.target = "_blank";
  node.rel = "noopener noreferrer";
  return node;
};

for (const one of told.pictures) {
  const figure = make("figure");
  figure.setAttribute("role", "listitem");
  const view = make("div");
  view.className = "view";
  const lost = () => view.replaceChildren(make("span", told.words.lost));
  if (web(one.url)) {
    const image = make("img");
    image.loading = "lazy";
    image.referrerPolicy = "no-referrer";
    image.alt = one.caption || told.words.title;
    image.addEventListener("error", lost);
    image.src = one.url;
    view.append(image);
  } else lost();
  const caption = make("figcaption");
  if (one.caption) caption.append(make("div", one.caption));
  if (web(one.page)) caption.append(link(one.page, `${told.words.page} ↗ ${one.host}`));
  if (web(one.url)) caption.append(link(one.url, `${told.words.open} ↗`));
  figure.append(view, caption);
  strip.append(figure);
}
