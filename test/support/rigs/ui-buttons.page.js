// The buttons that can be pressed in the page that evaluates this, for ui-buttons.ts: each is marked with its place in the list.
(() => {
  const PRESSABLE = "button, summary, [role=button], [role=tab], [role=menuitem], [role=switch]";
  const LAYERS = "[role=dialog], [role=alertdialog], [role=menu]";
  const text = (element) => (element?.textContent ?? "").trim().replaceAll(/\s+/g, " ");
  const isShown = (element) => {
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
    const { width, height } = element.getBoundingClientRect();
    return width > 1 && height > 1;
  };
  const byId = (ids) => (ids ?? "").split(" ").map((id) => text(document.getElementById(id)));
  const nameOf = (element) =>
    element.getAttribute("aria-label") ??
    (byId(element.getAttribute("aria-labelledby")).join(" ").trim() ||
      text(element) ||
      element.title);
  /** The last of those that are open lies over the others, and a modal one over the page. */
  const layer = [...document.querySelectorAll(LAYERS)].filter(isShown).at(-1);
  const placeOf = (element) => {
    if (layer?.contains(element))
      return `${layer.getAttribute("role")} ${nameOf(layer).slice(0, 40)}`;
    return element.closest("main") === null ? "shell" : "page";
  };
  for (const marked of document.querySelectorAll("[data-press]"))
    marked.removeAttribute("data-press");
  const found = [...(layer ?? document).querySelectorAll(PRESSABLE)].filter(
    (element) =>
      !element.matches(":disabled, [aria-disabled=true], [data-disabled], a[href], [href]") &&
      isShown(element),
  );
  return found.map((element, i) => {
    element.setAttribute("data-press", String(i));
    return {
      place: placeOf(element),
      role: element.getAttribute("role") ?? element.localName,
      name: nameOf(element).slice(0, 80),
    };
  });
})();
