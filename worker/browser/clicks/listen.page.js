// Runs in a world of its own beside the page's, after the picker's files: tells the worker what a person does here.
// Only events that the browser itself made count, so that no script of the page writes steps.

const MOST_TYPED = 10_000;
/** An entry or a choice that follows no key and no click is the page's own. */
const GESTURE_MS = 1_500;
const over = new AbortController();
const on = (type, heard, more = {}) =>
  addEventListener(type, (event) => event.isTrusted && heard(event), {
    capture: true,
    passive: true,
    signal: over.signal,
    ...more,
  });

const document_key = crypto.getRandomValues(new Uint32Array(2)).join("-");
const ids = new WeakMap();
const described = new WeakMap();
let made = 0;
let gesture = Number.NEGATIVE_INFINITY;
let pressed = null;

function fieldOf(element) {
  if (!ids.has(element)) {
    made += 1;
    ids.set(element, made);
  }
  return `${document_key}-${ids.get(element)}`;
}

/** As it was when it was first entered: its label may follow what is typed. */
function known(element) {
  if (!described.has(element)) described.set(element, describe(element, false));
  return { ...described.get(element), secret: isSecret(element) };
}

/** Shorter texts stand in a page by chance. */
const TELLING = 4;

/** Whether a text says what is in a secret field: pages show passwords, and repeat them elsewhere. */
function createShows() {
  const hidden = secretTexts().filter((text) => text.length >= TELLING);
  const forms = hidden.flatMap((text) => [text, squash(text), quoted(text).slice(1, -1)]);
  return (text) => forms.some((one) => text.includes(one));
}

function tell(kind, element, more) {
  const { tag, role, name, type, secret, selectors } = element.seen;
  const shows = createShows();
  const repeats = !secret && typeof more.text === "string" && shows(more.text);
  const said = {
    kind,
    field: element.field,
    tag,
    role,
    name: shows(name) ? "" : name,
    type,
    secret: secret || repeats,
    selectors: selectors.filter(({ selector }) => !shows(selector)),
    ...more,
  };
  if (repeats) said.text = "";
  if (said.selectors.length > 0) flotillaHeard(JSON.stringify(said));
}

const seenNow = (element) => ({ field: fieldOf(element), seen: describe(element, false) });
const seenFirst = (element) => ({ field: fieldOf(element), seen: known(element) });
const target = (event) => event.composedPath()[0];
const isText = (element) =>
  element.localName === "textarea" ||
  element.isContentEditable ||
  (element.localName === "input" &&
    !["button", "submit", "reset", "image", "checkbox", "radio", "file"].includes(element.type));
const isTick = (element) =>
  element.localName === "input" && ["checkbox", "radio"].includes(element.type);
const editableOf = (element) => {
  let found = element;
  while (found.parentElement?.isContentEditable) found = found.parentElement;
  return found;
};

/** What another event tells: a choice, a tick, a file. */
const isToldOtherwise = (element) =>
  ["select", "option"].includes(element.localName) ||
  isTick(element) ||
  (element.localName === "input" && element.type === "file");

/** A label hands its click on to its field, which is heard by itself. */
const handsOn = (element) => {
  const label = element.closest?.("label");
  return Boolean(label?.control && element !== label.control && meantBy(element) === element);
};

/** Before the page can answer: a button beside a password shows what is in it. */
for (const type of ["pointerdown", "keydown", "focusin"])
  on(type, (event) => {
    notePasswords(document);
    for (const node of event.composedPath()) if (node instanceof ShadowRoot) notePasswords(node);
  });
// Scripts can enter text as if somebody had typed it: without a person's hand on the page, it is theirs.
for (const type of ["compositionstart", "compositionupdate", "paste", "drop", "pointerup"])
  on(type, () => {
    gesture = performance.now();
  });
on("pointermove", ({ buttons }) => {
  if (buttons !== 0) gesture = performance.now();
});

on("pointerdown", (event) => {
  gesture = performance.now();
  const element = target(event);
  pressed = null;
  if (!(element instanceof Element) || event.button !== 0) return;
  const meant = meantBy(element);
  if (!isToldOtherwise(meant) && !handsOn(element)) pressed = { meant, seen: seenNow(meant) };
});
on("click", (event) => {
  const element = target(event);
  // A key that presses a button is told as the key.
  if (!(element instanceof Element) || event.detail === 0 || event.button !== 0) return;
  const meant = meantBy(element);
  if (isToldOtherwise(meant) || handsOn(element)) return;
  const seen = pressed?.meant === meant ? pressed.seen : seenNow(meant);
  tell("click", seen, { count: Math.min(event.detail, 3), text_field: isText(meant) });
});

// What lines look like is what is typed into the field again.
// biome-ignore lint/performance/useDomNodeTextContent: the text with its lines
const typedIn = (element) => (element.isContentEditable ? element.innerText : element.value);

function entered(event) {
  const found = target(event);
  if (!(found instanceof Element) || !isText(found)) return;
  if (performance.now() - gesture > GESTURE_MS) return;
  const element = found.isContentEditable ? editableOf(found) : found;
  const seen = seenFirst(element);
  // What is entered there stays in the page.
  tell("fill", seen, {
    text: seen.seen.secret ? "" : (typedIn(element) ?? "").slice(0, MOST_TYPED),
    autocomplete: attributeOf(element, "autocomplete") ?? "",
  });
}
on("input", entered);
on("change", (event) => {
  const element = target(event);
  if (!(element instanceof Element) || performance.now() - gesture > GESTURE_MS) return;
  if (element.localName === "select") {
    const seen = seenFirst(element);
    const values = [...element.selectedOptions]
      .slice(0, 100)
      .map(({ value }) => value.slice(0, 200));
    tell("select", seen, { values: seen.seen.secret ? [] : values });
  } else if (isTick(element)) tell("tick", seenFirst(element), { checked: element.checked });
  else if (element.localName === "input" && element.type === "file")
    tell("upload", seenFirst(element), {
      files: [...element.files].slice(0, 100).map(({ name }) => name.slice(0, 255)),
    });
});

/** Keys that move about in a field, or whose effect the field tells. */
const IN_FIELD = /^(Backspace|Delete|Arrow.*|Home|End|PageUp|PageDown|Tab|Insert)$/;
const NEVER =
  /^(Shift|Control|Alt|Meta|AltGraph|CapsLock|NumLock|ScrollLock|Dead|Process|Unidentified|ContextMenu|F\d+)$/;

function isTold({ key, ctrlKey, metaKey, altKey }, element) {
  if (NEVER.test(key) || key === "Tab") return false;
  const is_field = isText(element);
  const is_long = element.localName === "textarea" || element.isContentEditable;
  if (is_field && (IN_FIELD.test(key) || ctrlKey || metaKey || altKey)) return false;
  if (is_long && key === "Enter") return false;
  if (["select", "option"].includes(element.localName) || isTick(element)) return false;
  if (key === " ") return !is_field;
  return key.length > 1 || ctrlKey || metaKey;
}
on("keydown", (event) => {
  gesture = performance.now();
  const element = target(event);
  if (!(element instanceof Element) || event.repeat || !isTold(event, element)) return;
  const { key, ctrlKey, altKey, metaKey, shiftKey } = event;
  const held = [
    ctrlKey && "Control",
    altKey && "Alt",
    metaKey && "Meta",
    shiftKey && key.length > 1 && "Shift",
  ].filter(Boolean);
  const seen = isText(element) ? seenFirst(element) : seenNow(element);
  tell("press", seen, { key: [...held, key === " " ? "Space" : key].join("+") });
});

/** Scrolling is a step only where the page grows by it: every other step scrolls to its element. */
let scrolled = null;
on("wheel", () => {
  gesture = performance.now();
  scrolled ??= { y: scrollY, height: document.documentElement?.scrollHeight ?? 0 };
});
on("scrollend", () => {
  if (scrolled === null || top !== self) return;
  const before = scrolled;
  scrolled = null;
  setTimeout(() => {
    const height = document.documentElement?.scrollHeight ?? 0;
    const amount = Math.round(scrollY - before.y);
    if (height > before.height * 1.05 && amount > 0)
      flotillaHeard(JSON.stringify({ kind: "scroll", amount }));
  }, 500);
});

globalThis.flotillaHolds = (text) => secretTexts().includes(text);
globalThis.flotillaStop = () => over.abort();
flotillaHeard(JSON.stringify({ kind: "here" }));
