const KEY = "flotilla.recent";
const MOST = 8;

export interface Recent {
  label: string;
  description: string;
  href: string;
}

const isRecent = (value: unknown): value is Recent =>
  typeof value === "object" &&
  value !== null &&
  ["label", "description", "href"].every(
    (name) => typeof (value as Record<string, unknown>)[name] === "string",
  ) &&
  (value as Recent).href.startsWith("/ui/");

/** Where this browser went last by the palette. What is stored may be of another version, or nothing at all. */
export function recent(): Recent[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? stored.filter(isRecent).slice(0, MOST) : [];
  } catch {
    return [];
  }
}

/** Puts it in front of the others. */
export function remember(gone: Recent): void {
  const others = recent().filter(({ href }) => href !== gone.href);
  try {
    localStorage.setItem(KEY, JSON.stringify([gone, ...others].slice(0, MOST)));
  } catch {
    // A browser that stores nothing has no recent places.
  }
}
