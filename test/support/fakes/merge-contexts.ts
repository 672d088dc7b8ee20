import type { ProgramContext } from "#hub/program/context.ts";

/**
 * The contexts of several hubs as a test sees one: its maps and sets hold what those of all hubs hold together (links,
 * sessions, waiting calls), what is assigned or deleted is so in all, and everything else is the first hub's, which shares its
 * stores with the others.
 */
export function mergeContexts(contexts: readonly ProgramContext[]): ProgramContext {
  return contexts[0] === undefined ? (contexts[0] as unknown as ProgramContext) : mirror(contexts);
}

const isPlain = (value: unknown): value is object =>
  typeof value === "object" &&
  value !== null &&
  Object.getPrototypeOf(value) === Object.prototype &&
  // A proxy may not answer for a frozen object with anything but its own values.
  !Object.isFrozen(value);

/** What all hold; what is deleted is deleted in all. */
function mergeMaps(maps: readonly Map<unknown, unknown>[]): Map<unknown, unknown> {
  const merged = new Map(maps.flatMap((map) => [...map]));
  merged.delete = (key) => maps.map((map) => map.delete(key)).includes(true);
  merged.clear = () => {
    for (const map of maps) map.clear();
  };
  return merged;
}

function mirror<T extends object>(all: readonly T[]): T {
  const [first] = all;
  if (!first) throw new Error("nothing to mirror");
  return new Proxy(first, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      const values: unknown[] = all.map((each) => Reflect.get(each, key));
      if (value instanceof Map) return mergeMaps(values as Map<unknown, unknown>[]);
      if (value instanceof Set) return new Set(values.flatMap((set) => [...(set as Set<unknown>)]));
      const plain = values.filter(isPlain);
      return isPlain(plain[0]) && (value === null || isPlain(value)) ? mirror(plain) : value;
    },
    set: (_, key, value) => all.every((each) => Reflect.set(each, key, value)),
  });
}
