/** Makes it when it is first asked for, and keeps it: what a start builds is paid for by every start. */
export function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
