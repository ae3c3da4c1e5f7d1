// The keyboard on the Ask page. Enter asks (so does Ctrl+Enter), Shift+Enter begins a new line, "/" goes to the box,
// Escape leaves it. Whoever writes Chinese ends a word with Enter, too: that is left to them.

(() => {
  const BOXES = ".st-key-question textarea, .st-key-database_question textarea, .st-key-topic textarea";
  const FOLLOW = ".st-key-follow textarea";
  const composing = (event) => event.isComposing || event.keyCode === 229;
  const seen = (node) => Boolean(node) && node.getClientRects().length > 0;
  const writes = (node) => Boolean(node?.closest?.("input, textarea, select, [contenteditable=true], [role=dialog]"));

  const pressed = (event) => {
    if (composing(event) || event.defaultPrevented) return;
    const { target } = event;
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (event.key === "Enter" && !event.altKey && !event.shiftKey && target.matches?.(BOXES)) {
      event.preventDefault();
      event.stopPropagation();
      if (!target.value.trim()) return;
      // A box tells what it holds when it is left.
      const form = target.closest('[data-testid="stForm"]');
      const send = form?.querySelector('[data-testid="stBaseButton-primaryFormSubmit"]');
      target.blur();
      send?.click();
    } else if (event.key === "/" && plain && !writes(target)) {
      const box = document.querySelector(BOXES) ?? document.querySelector(FOLLOW);
      if (!seen(box)) return;
      event.preventDefault();
      box.focus();
      box.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Escape" && target.matches?.(`${BOXES}, ${FOLLOW}`)) {
      target.blur();
    }
  };
  addEventListener("keydown", pressed, true);

  // What is offered to be asked next is put into the box: there one goes on.
  addEventListener("click", (event) => {
    const chosen = event.target.closest?.(".st-key-next button, .st-key-examples button");
    if (!chosen) return;
    const box = document.querySelector(chosen.closest(".st-key-next") ? FOLLOW : BOXES);
    box?.focus({ preventScroll: Boolean(chosen.closest(".st-key-next")) });
  });

  // An empty page waits for a question; on a phone its keyboard would hide it.
  const wide = matchMedia("(min-width: 800px) and (pointer: fine)");
  let greeted = null;
  const greet = () => {
    const box = document.querySelector(".st-key-home .st-key-question textarea");
    if (box === greeted) return;
    greeted = box;
    if (box && wide.matches && (document.activeElement ?? document.body) === document.body) box.focus({ preventScroll: true });
  };
  new MutationObserver(greet).observe(document.getElementById("root") ?? document.body, { childList: true, subtree: true });
})();
