/**
 * Puts a text on the clipboard; false where the browser lets no page do so. Pages that came over plain HTTP from another
 * machine have no `navigator.clipboard`.
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

/** The older way, which works over plain HTTP too: it copies the selection. */
function copySelected(text: string): boolean {
  const focused = document.activeElement;
  const box = document.createElement("textarea");
  box.value = text;
  box.readOnly = true;
  box.style.position = "fixed";
  box.style.opacity = "0";
  // A dialog takes the focus back from what lies outside of it.
  (focused?.closest("[role=dialog]") ?? document.body).append(box);
  box.select();
  try {
    return document.execCommand("copy");
  } finally {
    box.remove();
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  }
}
