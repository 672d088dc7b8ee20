// What is wrong with the layout of the page that evaluates this, for ui-layout.ts.
(() => {
  const SLACK = 2;
  const faults = [];
  const root = document.documentElement;
  if (root.scrollWidth > window.innerWidth)
    faults.push(`the page is ${root.scrollWidth - window.innerWidth} px wider than the window`);

  const isHidden = (element) =>
    !element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  /** What lies above the page by design is compared with its like alone. */
  const layerOf = (element) => {
    for (let at = element; at; at = at.parentElement)
      if (["fixed", "sticky", "absolute"].includes(getComputedStyle(at).position)) return at;
    return null;
  };
  /** The part of a text that its scrolling and cutting ancestors leave to be seen. */
  const seen = (element, { left, top, right, bottom }) => {
    let [x0, y0, x1, y1] = [left, top, right, bottom];
    for (let at = element; at && at !== document.body; at = at.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(at);
      if (overflowX === "visible" && overflowY === "visible") continue;
      const box = at.getBoundingClientRect();
      if (overflowX !== "visible") [x0, x1] = [Math.max(x0, box.left), Math.min(x1, box.right)];
      if (overflowY !== "visible") [y0, y1] = [Math.max(y0, box.top), Math.min(y1, box.bottom)];
    }
    return x1 - x0 > SLACK && y1 - y0 > SLACK ? new DOMRect(x0, y0, x1 - x0, y1 - y0) : null;
  };
  const short = (text) => JSON.stringify(text.trim().replaceAll(/\s+/g, " ").slice(0, 60));

  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const says = node.textContent ?? "";
    if (!element || says.trim() === "" || isHidden(element)) continue;
    if (element.closest("script, style, noscript, iframe, canvas, [data-layout-free]")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const layer = layerOf(element);
    for (const rect of range.getClientRects()) {
      const visible = seen(element, rect);
      if (visible) texts.push({ says: short(says), rect: visible, element, layer });
    }
  }

  /** Whether something between the text and where it is cut says that there is more, or lets it be scrolled to. */
  const isCut = (element, rect) => {
    for (let at = element; at && at !== document.body; at = at.parentElement) {
      const { overflowX, overflowY, textOverflow, webkitLineClamp, position } =
        getComputedStyle(at);
      if (textOverflow === "ellipsis" || webkitLineClamp !== "none") return false;
      if (overflowX === "auto" || overflowX === "scroll") return false;
      if (overflowY === "auto" || overflowY === "scroll") return false;
      if (position === "fixed") return false;
      const box = at.getBoundingClientRect();
      // Text for screen readers alone lies in a box of one pixel.
      if (box.width <= 1 || box.height <= 1) return false;
      const cutsX = overflowX === "hidden" || overflowX === "clip";
      const cutsY = overflowY === "hidden" || overflowY === "clip";
      if (cutsX && (rect.right > box.right + SLACK || rect.left < box.left - SLACK)) return true;
      if (cutsY && (rect.bottom > box.bottom + 2 * SLACK || rect.top < box.top - 2 * SLACK))
        return true;
    }
    return false;
  };
  const cut = new Set();
  for (const { element, says } of texts) {
    const range = document.createRange();
    range.selectNodeContents(element);
    if ([...range.getClientRects()].some((rect) => isCut(element, rect))) cut.add(says);
  }
  for (const says of cut) faults.push(`${says} is cut without an ellipsis`);

  const overlap = (a, b) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 * SLACK &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2 * SLACK;
  texts.sort((a, b) => a.rect.top - b.rect.top);
  const over = new Set();
  for (const [i, a] of texts.entries())
    for (const b of texts.slice(i + 1)) {
      if (b.rect.top > a.rect.bottom) break;
      if (a.layer !== b.layer || a.element === b.element) continue;
      if (overlap(a.rect, b.rect)) over.add(`${a.says} and ${b.says} lie over each other`);
    }
  return [...faults, ...over];
})();
