// Draws pictures of other sites with captions. The data is in the fragment of this frame's URL; every
// text becomes a text node. This is the only document that may load pictures of other sites.

const frameData = JSON.parse(decodeURIComponent(location.hash.slice(1)));
const strip = document.getElementById("strip");
document.documentElement.lang = frameData.lang;
document.documentElement.classList.toggle("dark", frameData.dark);
strip.setAttribute("aria-label", frameData.words.title);

const isWebUrl = (address) => /^https?:\/\//i.test(address);
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

for (const picture of frameData.pictures) {
  const figure = make("figure");
  figure.setAttribute("role", "listitem");
  const view = make("div");
  view.className = "view";
  const showError = () => view.replaceChildren(make("span", frameData.words.lost));
  if (isWebUrl(picture.url)) {
    const image = make("img");
    image.loading = "lazy";
    image.referrerPolicy = "no-referrer";
    image.alt = picture.caption || frameData.words.title;
    image.addEventListener("error", showError);
    image.src = picture.url;
    view.append(image);
  } else showError();
  const caption = make("figcaption");
  if (picture.caption) caption.append(make("div", picture.caption));
  if (isWebUrl(picture.page)) caption.append(link(picture.page, `${frameData.words.page} ↗ ${picture.host}`));
  if (isWebUrl(picture.url)) caption.append(link(picture.url, `${frameData.words.open} ↗`));
  figure.append(view, caption);
  strip.append(figure);
}
