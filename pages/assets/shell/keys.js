// Keyboard of the question fields. Enter and Ctrl+Enter submit, Shift+Enter begins a new line, "/" moves the
// focus to the field, Escape out of it. Enter that ends a word of an input method is not handled.

(() => {
  const QUESTION_FIELDS = ".st-key-question textarea, .st-key-database_question textarea, .st-key-topic textarea";
  const FOLLOW_UP_FIELD = ".st-key-follow textarea";
  const isComposing = (event) => event.isComposing || event.keyCode === 229;
  const isVisible = (node) => Boolean(node) && node.getClientRects().length > 0;
  const isEditable = (node) => Boolean(node?.closest?.("input, textarea, select, [contenteditable=true], [role=dialog]"));

  const handleKey = (event) => {
    if (isComposing(event) || event.defaultPrevented) return;
    const { target } = event;
    const hasNoModifier = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (event.key === "Enter" && !event.altKey && !event.shiftKey && target.matches?.(QUESTION_FIELDS)) {
      event.preventDefault();
      event.stopPropagation();
      if (!target.value.trim()) return;
      // Streamlit sends the text of a field when the field loses the focus.
      const form = target.closest('[data-testid="stForm"]');
      const submitButton = form?.querySelector('[data-testid="stBaseButton-primaryFormSubmit"]');
      target.blur();
      submitButton?.click();
    } else if (event.key === "/" && hasNoModifier && !isEditable(target)) {
      const field = document.querySelector(QUESTION_FIELDS) ?? document.querySelector(FOLLOW_UP_FIELD);
      if (!isVisible(field)) return;
      event.preventDefault();
      field.focus();
      field.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Escape" && target.matches?.(`${QUESTION_FIELDS}, ${FOLLOW_UP_FIELD}`)) {
      target.blur();
    }
  };
  addEventListener("keydown", handleKey, true);

  // A suggested question is put into the field by the server; the focus follows it.
  addEventListener("click", (event) => {
    const suggestion = event.target.closest?.(".st-key-next button, .st-key-examples button");
    if (!suggestion) return;
    const isFollowUp = Boolean(suggestion.closest(".st-key-next"));
    document.querySelector(isFollowUp ? FOLLOW_UP_FIELD : QUESTION_FIELDS)?.focus({ preventScroll: isFollowUp });
  });

  // Focuses the question field of the start page once, except on a phone, whose keyboard would cover the page.
  const hasKeyboard = matchMedia("(min-width: 800px) and (pointer: fine)");
  let lastField = null;
  const focusStartField = () => {
    const field = document.querySelector(".st-key-home .st-key-question textarea");
    if (field === lastField) return;
    lastField = field;
    if (field && hasKeyboard.matches && (document.activeElement ?? document.body) === document.body) {
      field.focus({ preventScroll: true });
    }
  };
  const root = document.getElementById("root") ?? document.body;
  new MutationObserver(focusStartField).observe(root, { childList: true, subtree: true });
})();
