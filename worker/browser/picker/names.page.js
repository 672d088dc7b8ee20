// Runs in a world of its own beside the page's: role and name of an element as Playwright's role selectors know them,
// as far as that takes no more than a glance. Whoever uses them counts the matches.

const MAX_NAME = 200;
/** Elements that one question about the page may look at. */
const MOST_ELEMENTS = 20_000;

const squash = (text) => (text ?? "").replace(/[\s\u00a0\u200b\u00ad]+/g, " ").trim();

/** A field of a form can have the name of any method: what is called on it is the browser's own. */
const attributeOf = (element, name) => Element.prototype.getAttribute.call(element, name);

const getterOf = (proto, key) => {
  const { get } = Object.getOwnPropertyDescriptor(proto, key);
  return (node) => get.call(node);
};
const parentElementOf = getterOf(Node.prototype, "parentElement");
const textContentOf = getterOf(Node.prototype, "textContent");
const childrenOf = getterOf(Element.prototype, "children");
const shadowOf = getterOf(Element.prototype, "shadowRoot");
const localNameOf = getterOf(Element.prototype, "localName");
const slotOf = getterOf(Element.prototype, "assignedSlot");
const rootOf = (node) => Node.prototype.getRootNode.call(node);

/** The parent as the eye sees it: through slots and out of shadow roots. */
const parentOf = (node) =>
  slotOf(node) ??
  parentElementOf(node) ??
  (rootOf(node) instanceof ShadowRoot ? rootOf(node).host : null);

/** Every element below, in open shadow roots too; no more than MOST_ELEMENTS. */
function allBelow(root) {
  const found = [];
  const roots = [root];
  while (roots.length > 0 && found.length < MOST_ELEMENTS) {
    const walker = document.createTreeWalker(roots.pop(), NodeFilter.SHOW_ELEMENT);
    while (walker.nextNode() && found.length < MOST_ELEMENTS) {
      const element = walker.currentNode;
      found.push(element);
      const shadow = shadowOf(element);
      if (shadow) roots.push(shadow);
    }
  }
  return found;
}

const KNOWN_ROLES = new Set(
  "alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox complementary contentinfo definition deletion dialog directory document emphasis feed figure form generic grid gridcell group heading img insertion link list listbox listitem log main marquee math meter menu menubar menuitem menuitemcheckbox menuitemradio navigation none note option paragraph presentation progressbar radio radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton status strong subscript superscript switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem".split(
    " ",
  ),
);
const INPUT_ROLES = {
  button: "button",
  submit: "button",
  reset: "button",
  image: "button",
  checkbox: "checkbox",
  radio: "radio",
  range: "slider",
  number: "spinbutton",
};
const TAG_ROLES = {
  article: "article",
  button: "button",
  dialog: "dialog",
  h1: "heading",
  h2: "heading",
  h3: "heading",
  h4: "heading",
  h5: "heading",
  h6: "heading",
  hr: "separator",
  li: "listitem",
  main: "main",
  nav: "navigation",
  ol: "list",
  optgroup: "group",
  option: "option",
  output: "status",
  p: "paragraph",
  progress: "progressbar",
  table: "table",
  tr: "row",
  textarea: "textbox",
  ul: "list",
};

function inputRole(element) {
  const type = (element.type || "text").toLowerCase();
  if (INPUT_ROLES[type]) return INPUT_ROLES[type];
  if (!["search", "email", "tel", "text", "url"].includes(type)) return null;
  if (element.list) return "combobox";
  return type === "search" ? "searchbox" : "textbox";
}

/** Null for what has no role of its own. */
function roleOf(element) {
  const said = (attributeOf(element, "role") ?? "")
    .toLowerCase()
    .split(/\s+/)
    .find((role) => KNOWN_ROLES.has(role));
  if (said) return said === "none" || said === "presentation" ? null : said;
  const tag = localNameOf(element);
  if (tag === "a" || tag === "area") return attributeOf(element, "href") !== null ? "link" : null;
  if (tag === "input") return inputRole(element);
  if (tag === "select") return element.multiple || element.size > 1 ? "listbox" : "combobox";
  if (tag === "img") return attributeOf(element, "alt") === "" && !element.title ? null : "img";
  if (tag === "td")
    return element.closest("table")?.matches("[role=grid],[role=treegrid]") ? "gridcell" : "cell";
  return TAG_ROLES[tag] ?? null;
}

const NAMED_BY_CONTENT = new Set(
  "button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio row rowheader switch tab tooltip treeitem".split(
    " ",
  ),
);

const isSeen = (element) =>
  Element.prototype.checkVisibility.call(element, { visibilityProperty: true }) &&
  Element.prototype.closest.call(element, "[aria-hidden=true]") === null;

/** What a style sheet puts before or after: only plain text. */
function drawnText(element, pseudo) {
  const { content } = getComputedStyle(element, pseudo);
  const match = /^"((?:[^"\\]|\\.)*)"$/.exec(content);
  return match ? match[1].replace(/\\(.)/g, "$1") : "";
}

/** The text of what is inside, as a reader of the screen would say it. */
function contentText(node, depth, budget) {
  if (depth > 30 || budget.left <= 0) return "";
  if (node.nodeType === Node.TEXT_NODE) {
    budget.left -= node.data.length + 1;
    return node.data;
  }
  if (
    node.nodeType !== Node.ELEMENT_NODE ||
    ["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE"].includes(node.tagName)
  )
    return "";
  budget.left -= 1;
  if (
    depth > 0 &&
    (!Element.prototype.checkVisibility.call(node, { visibilityProperty: true }) ||
      attributeOf(node, "aria-hidden") === "true")
  )
    return "";
  const label = depth > 0 ? squash(attributeOf(node, "aria-label")) : "";
  if (label) return label;
  if (node.localName === "img" || (node.localName === "input" && node.type === "image"))
    return node.alt ?? "";
  if (depth > 0 && ["input", "textarea", "select"].includes(node.localName)) return "";
  const children =
    node.localName === "slot" && node.assignedNodes().length > 0
      ? node.assignedNodes()
      : (shadowOf(node)?.childNodes ?? node.childNodes);
  let text = drawnText(node, "::before");
  for (const child of children) text += contentText(child, depth + 1, budget);
  text += drawnText(node, "::after");
  const { display } = getComputedStyle(node);
  return display === "inline" || depth === 0 ? text : ` ${text} `;
}

const textIn = (element) => squash(contentText(element, 0, { left: 4_000 }));

const byIds = (element, attribute) =>
  squash(attributeOf(element, attribute))
    .split(" ")
    .map((id) => id && rootOf(element).getElementById?.(id))
    .filter(Boolean);

const labelsOf = (element) => (localNameOf(element) === "form" ? [] : [...(element.labels ?? [])]);

function nativeName(element) {
  const { type } = element;
  const tag = localNameOf(element);
  if (tag === "input" && ["button", "submit", "reset"].includes(type))
    return squash(element.value) || { submit: "Submit", reset: "Reset" }[type] || "";
  if (tag === "input" && type === "image")
    return squash(element.alt) || squash(element.value) || "Submit";
  const labels = labelsOf(element).map(textIn).filter(Boolean);
  if (labels.length > 0) return squash(labels.join(" "));
  if (tag === "img" || tag === "area") return squash(element.alt);
  if (tag === "fieldset") return squash(element.querySelector(":scope > legend")?.textContent);
  return "";
}

/** The accessible name; empty when it has none. */
function nameOf(element, role) {
  const named = squash(byIds(element, "aria-labelledby").map(textIn).join(" "));
  if (named) return named;
  const label = squash(attributeOf(element, "aria-label"));
  if (label) return label;
  const native = nativeName(element);
  if (native) return native;
  if (role !== null && NAMED_BY_CONTENT.has(role)) {
    const text = textIn(element);
    if (text) return text;
  }
  const title = squash(attributeOf(element, "title"));
  if (title) return title;
  return ["input", "textarea"].includes(element.localName)
    ? squash(attributeOf(element, "placeholder"))
    : "";
}
