/** Makes the value at its first use and keeps it, because every start pays for what it builds. */
export function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
