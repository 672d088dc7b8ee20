// Runs in a world of its own beside the page's, after names.page.js: the ways to name an element, each with how many
// elements it names. The worker orders them.

const MOST_NAMES = 400;
const MOST_BOXES = 50;
const TEST_IDS = ["data-testid", "data-test-id", "data-test", "data-cy", "data-qa"];
const SECRET_KIND = /(^|\s)(current-password|new-password|one-time-code|cc-[a-z-]+)(\s|$)/i;
const SECRET_NAME =
  /passw(or)?d|passphrase|passcode|\botp\b|\bpin\b|\bcvc\b|\bcvv\b|card.?number|secret/i;
/** An id or class that a build or a framework made. */
const MADE =
  /\d{3,}|[0-9a-f]{8,}|^:|^(ember|react|mui|ext|radix|headlessui|mantine|css|sc|jsx|svelte)-|__|--|[A-Z][a-z]*[A-Z0-9]\w*[0-9]/;

/** Fields that have shown a password once stay secret, whatever their page makes of them. */
const secrets = new WeakSet();
const secret_fields = [];
const MOST_SECRETS = 200;

function keepSecret(field) {
  if (secrets.has(field)) return;
  secrets.add(field);
  if (secret_fields.length < MOST_SECRETS) secret_fields.push(new WeakRef(field));
}

/** What the secret fields hold now. */
const secretTexts = () =>
  secret_fields.map((one) => one.deref()?.value).filter((text) => typeof text === "string");

function isSecret(element) {
  const said = [
    attributeOf(element, "name"),
    attributeOf(element, "id"),
    attributeOf(element, "aria-label"),
    attributeOf(element, "placeholder"),
  ].join(" ");
  const kind = attributeOf(element, "autocomplete") ?? "";
  if (
    element.type === "password" ||
    SECRET_KIND.test(kind) ||
    (element.localName === "input" && SECRET_NAME.test(said))
  )
    keepSecret(element);
  return secrets.has(element);
}

/** What a password field is told now stays known when the page shows it. */
function notePasswords(root) {
  for (const field of root.querySelectorAll("input[type=password]")) keepSecret(field);
}

const inLine = (character) => `\\${character.charCodeAt(0).toString(16)} `;
/** A line break would end the text, and with it the selector. */
const quoted = (text) => `"${text.replace(/["\\]/g, "\\$&").replace(/[\n\r\f]/g, inLine)}"`;

/** Every element that a CSS selector names, open shadow roots included. */
function deepAll(css, root = document) {
  const found = [];
  const roots = [root];
  for (const element of allBelow(root)) {
    const shadow = shadowOf(element);
    if (shadow) roots.push(shadow);
  }
  for (const each of roots) {
    try {
      found.push(...each.querySelectorAll(css));
    } catch {
      return [];
    }
  }
  return found;
}

function sameRole(role, name) {
  const found = [];
  let named = 0;
  for (const element of allBelow(document)) {
    if (roleOf(element) !== role || !isSeen(element)) continue;
    named += 1;
    // Of a list this long, a name says little.
    if (named > MOST_NAMES) return null;
    if (nameOf(element, role) === name) found.push(element);
  }
  return found;
}

const labelTexts = (element) => {
  const by = byIds(element, "aria-labelledby");
  if (by.length > 0) return by.map((one) => squash(one.textContent));
  const label = squash(attributeOf(element, "aria-label"));
  return [...(label ? [label] : []), ...labelsOf(element).map((one) => squash(one.textContent))];
};

const sameLabel = (text) =>
  allBelow(document)
    .filter(
      (element) =>
        labelsOf(element).length > 0 ||
        attributeOf(element, "aria-label") !== null ||
        attributeOf(element, "aria-labelledby") !== null,
    )
    .slice(0, MOST_NAMES * 5)
    .filter((element) => labelTexts(element).includes(text));

/** The innermost elements with this text. */
const sameText = (text) =>
  allBelow(document).filter(
    (element) =>
      !["SCRIPT", "STYLE", "HEAD", "HTML"].includes(element.tagName) &&
      textContentOf(element).length < 4 * text.length + 200 &&
      squash(textContentOf(element)) === text &&
      ![...childrenOf(element)].some((child) => squash(textContentOf(child)) === text),
  );

const classesOf = getterOf(Element.prototype, "classList");

/** Attributes are asked for, not properties: a form's own are hidden by fields of the same name. */
function ownCss(element) {
  const tag = CSS.escape(localNameOf(element));
  const id = attributeOf(element, "id");
  if (id && id.length < 80 && !MADE.test(id)) return `#${CSS.escape(id)}`;
  const name = attributeOf(element, "name");
  if (name && name.length < 80) return `${tag}[name=${quoted(name)}]`;
  const classes = [...classesOf(element)]
    .filter((one) => !MADE.test(one) && one.length < 40)
    .slice(0, 2);
  return tag + classes.map((one) => `.${CSS.escape(one)}`).join("");
}

const placeOf = (element) => {
  const parent = parentElementOf(element);
  const around = parent ? childrenOf(parent) : rootOf(element).children;
  const same = [...around].filter((one) => localNameOf(one) === localNameOf(element));
  return same.length > 1 ? `:nth-of-type(${same.indexOf(element) + 1})` : "";
};

/** The shortest path that names nothing else in its root, part by part from the element outwards. */
function cssWithin(element, root) {
  const isAlone = (css) => {
    const found = root.querySelectorAll(css);
    return found.length === 1 && found[0] === element;
  };
  let css = "";
  for (let at = element, depth = 0; at && depth < 12; at = parentElementOf(at), depth += 1) {
    const tail = css === "" ? "" : ` > ${css}`;
    const own = ownCss(at);
    if (isAlone(own + tail)) return own + tail;
    css = own + placeOf(at) + tail;
    if (isAlone(css)) return css;
  }
  return css;
}

/** Inside open shadow roots, each root is entered by its host. */
function cssOf(element) {
  const parts = [];
  for (let at = element; at; ) {
    const root = rootOf(at);
    parts.unshift(cssWithin(at, root));
    at = root instanceof ShadowRoot ? root.host : null;
  }
  return parts;
}

const matchesOf = (parts) =>
  parts.reduce(
    (roots, css) => roots.flatMap((root) => deepAll(css, root.shadowRoot ?? root)),
    [document],
  );

const boxOf = (element) => {
  const { x, y, width, height } = Element.prototype.getBoundingClientRect.call(element);
  return { x, y, width, height };
};

/** The ways to name it: [how, selector, what it names]. */
function waysTo(element, role, name) {
  const ways = [];
  const add = (by, selector, found) => {
    if (found?.includes(element) && selector.length <= 4_000) ways.push([by, selector, found]);
  };
  if (role !== null && name !== "" && name.length <= 120)
    add("role", `role=${role}[name=${quoted(name)}]`, sameRole(role, name));
  for (const text of labelTexts(element).slice(0, 1))
    if (text !== "" && text.length <= 120) add("label", `label=${quoted(text)}`, sameLabel(text));
  for (const attribute of TEST_IDS) {
    const id = attributeOf(element, attribute);
    if (id && id.length <= 120 && !/\n/.test(id))
      add("test_id", `[${attribute}=${quoted(id)}]`, deepAll(`[${attribute}=${quoted(id)}]`));
  }
  for (const by of ["placeholder", "alt", "title"]) {
    const text = attributeOf(element, by);
    if (text && text.length <= 120 && !/\n/.test(text))
      add(by, `[${by}=${quoted(text)}]`, deepAll(`[${by}=${quoted(text)}]`));
  }
  const text = element.isContentEditable ? "" : squash(textContentOf(element));
  if (text !== "" && text.length <= 80 && !["select", "textarea"].includes(element.localName))
    add("text", `text=${quoted(text)}`, sameText(text));
  const parts = cssOf(element);
  const found = matchesOf(parts);
  if (found.length > 1)
    add("css", `${parts.join(" >> ")} >> nth=${found.indexOf(element)}`, [element]);
  else add("css", parts.join(" >> "), found);
  return ways;
}

/** Everything about one element; `boxes`: also where the others are that its selectors name. */
function describe(element, boxes) {
  const role = roleOf(element);
  const name = nameOf(element, role).slice(0, MAX_NAME);
  return {
    tag: localNameOf(element),
    role,
    name,
    type: element.localName === "input" ? element.type : null,
    secret: isSecret(element),
    box: boxOf(element),
    selectors: waysTo(element, role, name).map(([by, selector, found]) => ({
      by,
      selector,
      matches: found.length,
      boxes: boxes ? found.slice(0, MOST_BOXES).map(boxOf) : [],
    })),
  };
}

const ACTS =
  "a[href],button,input,select,textarea,summary,option,[role=button],[role=link],[role=checkbox],[role=radio],[role=switch],[role=tab],[role=option],[role=menuitem],[role=menuitemcheckbox],[role=menuitemradio],[role=treeitem],[contenteditable=''],[contenteditable=true]";

/** What a person means by pointing at it: the button, not the picture on it. */
function meantBy(element) {
  for (let at = element, up = 0; at && up < 12; at = parentOf(at), up += 1)
    if (at instanceof Element && Element.prototype.matches.call(at, ACTS)) return at;
  return element;
}

/** The innermost element at a point of this frame. */
function elementAt(x, y) {
  let root = document;
  let found = null;
  for (let depth = 0; depth < 20; depth += 1) {
    const inner = root.elementFromPoint(x, y);
    if (!inner || inner === found) break;
    found = inner;
    const shadow = shadowOf(inner);
    if (!shadow) break;
    root = shadow;
  }
  return found;
}
