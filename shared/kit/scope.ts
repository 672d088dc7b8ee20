import type { Log } from "./log.ts";

/** Owns resources and closes them once, in reverse order. */
export interface Scope {
  /** Registers `resource` with the function that closes it, and returns it. */
  add<T>(name: string, resource: T, close: (resource: T) => unknown): T;
  /** Closes everything. A closer that fails is logged and the others still run. */
  close(): Promise<void>;
}

export function createScope(log: Log): Scope {
  const closers: { name: string; close: () => unknown }[] = [];
  let closing: Promise<void> | undefined;
  const closeAll = async () => {
    for (let entry = closers.pop(); entry; entry = closers.pop()) {
      try {
        await entry.close();
      } catch (err) {
        log.error({ resource: entry.name, err }, "close failed");
      }
    }
  };
  return {
    add: (name, resource, close) => {
      closers.push({ name, close: () => close(resource) });
      return resource;
    },
    close: () => {
      closing ??= closeAll();
      return closing;
    },
  };
}
