/** A configuration whose values may be replaced while the program runs. */
export interface LiveConfig<C extends object> {
  /** Every property is that of the current configuration: read it where it is used, and keep no copy. */
  readonly config: C;
  replace(next: C): void;
}

/** Starts with `first`; later configurations have the same properties. */
export function liveConfig<C extends object>(first: C): LiveConfig<C> {
  let current = first;
  const config = {} as C;
  for (const key of Object.keys(first) as (keyof C)[])
    Object.defineProperty(config, key, { enumerable: true, get: () => current[key] });
  return {
    config: Object.freeze(config),
    replace: (next) => {
      current = next;
    },
  };
}
