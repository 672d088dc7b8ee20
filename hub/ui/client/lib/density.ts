/** How close rows and controls stand: kept in this browser, and an attribute of the page that the styles go by. */
export type Density = "comfortable" | "compact";

const KEY = "flotilla-density";
const listeners = new Set<() => void>();

export const density = (): Density =>
  document.documentElement.dataset.density === "compact" ? "compact" : "comfortable";

export const subscribeDensity = (heard: () => void) => {
  listeners.add(heard);
  return () => void listeners.delete(heard);
};

function show(value: Density): void {
  document.documentElement.dataset.density = value;
  for (const heard of listeners) heard();
}

export function setDensity(value: Density): void {
  localStorage.setItem(KEY, value);
  show(value);
}

/** Before anything is drawn. */
export const startDensity = (): void =>
  show(localStorage.getItem(KEY) === "compact" ? "compact" : "comfortable");
