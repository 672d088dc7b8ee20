/** Copies the headers of these names that are there. */
export function copyHeaders(from: Headers, names: readonly string[], to: Headers): void {
  for (const name of names) {
    const value = from.get(name);
    if (value !== null) to.set(name, value);
  }
}
