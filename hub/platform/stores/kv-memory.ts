import type { Clock } from "#shared/kit/clock.ts";
import { type Kv, kindOf, listedKind } from "./kv.ts";

/** Entries checked on each write: expired keys that are never read again leave within a few rounds, without a timer. */
const SWEEP_STEP = 8;

interface Entry {
  /** JSON text: callers never share a value with each other, as with a store in another process. */
  text: string;
  expires_at: number;
}

/** The keys of each kind, in order when they are asked for: one kind that changes often costs lists of others nothing. */
function createKeys() {
  const kinds = new Map<string, { keys: Set<string>; sorted: string[] | null }>();
  return {
    add: (key: string): void => {
      const kind = kinds.get(kindOf(key)) ?? { keys: new Set(), sorted: null };
      kind.keys.add(key);
      kind.sorted = null;
      kinds.set(kindOf(key), kind);
    },
    delete: (key: string): void => {
      const kind = kinds.get(kindOf(key));
      if (!kind) return;
      kind.keys.delete(key);
      kind.sorted = null;
      if (kind.keys.size === 0) kinds.delete(kindOf(key));
    },
    /** Those of the kind of `prefix`. */
    sorted: (prefix: string): readonly string[] => {
      const kind = kinds.get(kindOf(prefix));
      if (!kind) return [];
      kind.sorted ??= [...kind.keys].sort();
      return kind.sorted;
    },
    clear: (): void => kinds.clear(),
  };
}

/** Entries that expire, by key. */
function createEntries(clock: Pick<Clock, "monotonic">) {
  const entries = new Map<string, Entry>();
  const known = createKeys();
  let sweeper = entries.entries();

  const drop = (key: string): void => {
    if (entries.delete(key)) known.delete(key);
  };
  const live = (key: string): Entry | null => {
    const entry = entries.get(key);
    if (!entry) return null;
    if (entry.expires_at > clock.monotonic()) return entry;
    drop(key);
    return null;
  };
  const sweep = (): void => {
    for (let i = 0; i < SWEEP_STEP; i += 1) {
      const next = sweeper.next();
      if (next.done) {
        sweeper = entries.entries();
        return;
      }
      const [key, entry] = next.value;
      if (entry.expires_at <= clock.monotonic()) drop(key);
    }
  };
  const write = (key: string, value: unknown, ttl_ms: number): void => {
    sweep();
    if (!entries.has(key)) known.add(key);
    entries.set(key, {
      text: JSON.stringify(value ?? null),
      expires_at: clock.monotonic() + ttl_ms,
    });
  };
  /** Where keys starting with `prefix` begin; a rewritten value leaves the order as it is, so sorting is rare. */
  const keysFrom = (prefix: string): { keys: readonly string[]; start: number } => {
    const sorted = known.sorted(prefix);
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((sorted[middle] ?? "") < prefix) low = middle + 1;
      else high = middle;
    }
    return { keys: sorted, start: low };
  };
  return {
    live,
    write,
    drop,
    touch: (entry: Entry, ttl_ms: number): void => {
      entry.expires_at = clock.monotonic() + ttl_ms;
    },
    /** Entries whose key starts with `prefix`, in order. */
    *startingWith(prefix: string): Generator<[key: string, entry: Entry]> {
      const { keys, start } = keysFrom(prefix);
      for (let i = start; i < keys.length; i += 1) {
        const key = keys[i];
        if (key === undefined || !key.startsWith(prefix)) return;
        const entry = live(key);
        if (entry) yield [key, entry];
      }
    },
    clear: (): void => {
      entries.clear();
      known.clear();
    },
  };
}

/** Whether the entry is an object with these fields. */
const has = (entry: Entry, fields: Readonly<Record<string, string>>): boolean => {
  const value: unknown = JSON.parse(entry.text);
  if (typeof value !== "object" || value === null) return false;
  const found = new Map(Object.entries(value));
  return Object.entries(fields).every(([name, text]) => found.get(name) === text);
};
/** The key-value store of a single hub. */
export function createMemoryKv(clock: Pick<Clock, "monotonic">): Kv {
  const { live, write, drop, touch, startingWith, clear } = createEntries(clock);
  return {
    get: async <T>(key: string) => {
      const entry = live(key);
      return entry ? (JSON.parse(entry.text) as T) : null;
    },
    set: async (key, value, ttl_ms) => write(key, value, ttl_ms),
    setIfAbsent: async (key, value, ttl_ms) => {
      if (live(key)) return false;
      write(key, value, ttl_ms);
      return true;
    },
    setIf: async (key, fields, value, ttl_ms) => {
      const entry = live(key);
      if (entry && !has(entry, fields)) return false;
      write(key, value, ttl_ms);
      return true;
    },
    touch: async (key, ttl_ms) => {
      const entry = live(key);
      if (entry) touch(entry, ttl_ms);
      return entry !== null;
    },
    delete: async (key) => drop(key),
    deleteIf: async (key, fields) => {
      const entry = live(key);
      if (!entry || !has(entry, fields)) return false;
      drop(key);
      return true;
    },
    list: async <T>(prefix: string) => {
      listedKind(prefix);
      const found: { key: string; value: T }[] = [];
      for (const [key, entry] of startingWith(prefix))
        found.push({ key, value: JSON.parse(entry.text) as T });
      return found;
    },
    close: async () => clear(),
  };
}
