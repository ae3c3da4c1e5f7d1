"""What is wrong with the looks of a page: text that is cut or lies on other text, a page that scrolls
sideways, and what axe-core finds."""

from __future__ import annotations

import importlib.resources
from functools import cache
from typing import Any

from tests.pages.serving import IDLE

TALLEST = 8000  # pixels of a page that are looked at
GRAVE = ("serious", "critical")
# Not ours to change: what Streamlit itself draws. Each with the reason.
FORGIVEN: dict[str, str] = {}

_FULL = """() => {
  const main = document.querySelector('[data-testid="stMain"]');
  return main ? main.scrollHeight + (main.getBoundingClientRect().top | 0) : document.body.scrollHeight;
}"""

# Resolves when no animation has run in two checks 50 ms apart, endless ones aside. An expander starts
# a new animation whenever one nested in it has ended, so waiting once is not enough.
_MOVED = """async () => {
  const moving = () => document.getAnimations()
    .filter((one) => one.effect.getComputedTiming().iterations !== Infinity);
  for (let checks = 0, still = 0; checks < 100 && still < 2; checks += 1) {
    const found = moving();
    still = found.length ? 0 : still + 1;
    await Promise.all(found.map((one) => one.finished.catch(() => null)));
    await new Promise((done) => setTimeout(done, 50));
  }
}"""

_LOOK = r"""() => {
  const found = [], wide = innerWidth, items = [];
  const say = (kind, node, more = "") => {
    const text = (node.textContent || node.placeholder || node.nodeName).trim().replace(/\s+/g, " ").slice(0, 60);
    const keyed = (node.closest ? node : node.parentElement).closest('[class*="st-key-"]');
    const key = keyed ? (keyed.className.match(/st-key-[\w-]+/) || [""])[0] : "";
    found.push(`${kind}: "${text}" ${more} in ${key || "the page"}`);
  };
  const LAYER = '[data-baseweb="popover"], [role="dialog"], [role="tooltip"], [data-testid="stHeader"], [data-testid="stSidebar"]';
  const skipped = (el) => el.closest('script, style, noscript, svg, [data-testid="stIconMaterial"], [data-testid="stTooltipErrorContent"], .katex-mathml, canvas, iframe, [data-testid="stElementToolbar"]');
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, el = node.parentElement;
    if (!node.data.trim() || !el || skipped(el)) continue;
    if (!el.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const rects = [...range.getClientRects()].filter((r) => r.width > 1 && r.height > 1);
    if (!rects.length) continue;
    const all = range.getBoundingClientRect();
    if (all.right <= 0 || all.bottom <= 0) continue;  // moved out of sight, as a closed sidebar is
    let cut = "", hidden = false, across = true, down = true, box = el;
    for (; box && box !== document.body; box = box.parentElement) {
      const style = getComputedStyle(box), edge = box.getBoundingClientRect();
      if ((edge.width <= 2 || edge.height <= 2) && style.overflow !== "visible") { hidden = true; break; }
      if (style.clipPath !== "none" && style.position === "absolute") { hidden = true; break; }
      const rolls = (value) => value === "auto" || value === "scroll";
      if (rolls(style.overflowX)) across = false;
      if (rolls(style.overflowY)) down = false;
      const hides = (value) => value === "hidden" || value === "clip";
      if (across && hides(style.overflowX) && (all.right > edge.right + 2 || all.left < edge.left - 2)) {
        if (style.textOverflow !== "ellipsis") cut ||= "across";
        else if (el.closest("button, a, label, [role=tab], [role=radio], summary") && !el.closest("[title]")) cut ||= "in an element to press";
        across = false;
      }
      if (down && hides(style.overflowY) && (all.bottom > edge.bottom + 3 || all.top < edge.top - 3)) {
        if (!(style.webkitLineClamp && style.webkitLineClamp !== "none")) cut ||= "below";
        down = false;
      }
      if (style.position === "fixed") break;
    }
    if (hidden) continue;
    if (cut) say("cut", node, cut);
    if (across && all.right > wide + 2) say("beyond the edge", node, `by ${Math.round(all.right - wide)} px`);
    const layer = el.closest(LAYER);
    for (const r of rects) items.push({ node, el, layer, l: r.left, r: r.right, t: r.top + r.height * 0.2, b: r.bottom - r.height * 0.2 });
  }
  items.sort((a, b) => a.t - b.t);
  const told = new Set();
  for (let i = 0; i < items.length; i += 1) {
    for (let j = i + 1; j < items.length && items[j].t < items[i].b; j += 1) {
      const a = items[i], b = items[j];
      if (a.node === b.node || a.layer !== b.layer) continue;
      const width = Math.min(a.r, b.r) - Math.max(a.l, b.l), height = Math.min(a.b, b.b) - b.t;
      if (width <= 4 || height <= 3) continue;
      const seen = document.elementsFromPoint((Math.max(a.l, b.l) + Math.min(a.r, b.r)) / 2, b.t + height / 2);
      if (!seen.includes(a.el) || !seen.includes(b.el) || told.has(a.node)) continue;  // one is out of sight
      told.add(a.node);
      say("overlap", a.node, `with "${b.node.data.trim().slice(0, 40)}"`);
    }
  }
  const pen = document.createElement("canvas").getContext("2d");
  for (const input of document.querySelectorAll("input[placeholder], textarea[placeholder]")) {
    if (!input.placeholder || !input.checkVisibility() || input.tagName === "TEXTAREA") continue;
    if (input.closest("[data-testid=stSelectbox]")) continue;  // its value stands there instead
    const style = getComputedStyle(input);
    pen.font = style.font;
    const room = input.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    if (room > 8 && pen.measureText(input.placeholder).width > room + 2) say("cut", input, `placeholder ${input.placeholder}`);
  }
  for (const box of [document.scrollingElement, document.querySelector('[data-testid="stMain"]')])
    if (box && box.scrollWidth > box.clientWidth + 1) found.push(`the page scrolls sideways by ${box.scrollWidth - box.clientWidth} px`);
  const levels = [...document.querySelectorAll("[data-testid=stMain] :is(h1, h2, h3, h4, h5, h6)")].filter((h) => h.checkVisibility()).map((h) => [+h.tagName[1], h.textContent]);
  let last = 0;
  for (const [level, text] of levels) {
    if (level > last + 1) found.push(`heading h${level} after h${last}: ${text.slice(0, 40)}`);
    last = level;
  }
  return found;
}"""

_AXE = """async (rules) => {
  const only = rules.length ? { runOnly: { type: "rule", values: rules } } : {};
  const told = await axe.run(document, { iframes: false, preload: false, resultTypes: ["violations"], ...only });
  return told.violations.map((v) => [v.impact, v.id, v.help, v.nodes.map((n) => [n.target.join(" "), n.html.slice(0, 160), n.any.map((c) => c.message).join("; ").slice(0, 200)])]);
}"""


@cache
def _script() -> str:
    files = importlib.resources.files("axe_playwright_python")
    return files.joinpath("axe.min.js").read_text(encoding="utf-8")


def unfold(page: Any, width: int) -> None:
    """Makes the window as high as what is in it, so that nothing has to be scrolled to."""
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_selector(IDLE)
    page.wait_for_timeout(150)
    page.evaluate(_MOVED)
    now = 900
    for _ in range(2):  # a higher window may need more
        height = min(TALLEST, max(900, page.evaluate(_FULL)))
        if height == now:
            break
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(150)
        now = height
    page.evaluate(_MOVED)


def looks(page: Any) -> list[str]:
    """What a reader would stumble over."""
    return [line for line in dict.fromkeys(page.evaluate(_LOOK)) if line not in FORGIVEN]


def hurdles(page: Any, *rules: str) -> list[str]:
    """What axe-core calls a serious or critical hurdle, by all of its rules or by some."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(_script())
    found = []
    for impact, rule, help_, nodes in page.evaluate(_AXE, rules):
        if impact in GRAVE:
            found += [f"{rule} ({impact}): {help_}: {at} {html} {why}" for at, html, why in nodes[:4]]
    return found
