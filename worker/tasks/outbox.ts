import { MAX_ERROR_LENGTH } from "#shared/protocol/schema/pull.ts";

/** The most one call carries: below the control plane's own limits of 10,000 items and 256 MB. */
const MAX_ITEMS = 5_000;
const MAX_BYTES = 32 * 1024 * 1024;

type Kind = "done" | "failed" | "released";
interface Item {
  task_id: number;
  epoch: number;
  [field: string]: unknown;
}
export interface Entry {
  kind: Kind;
  workload: string;
  item: Item;
  bytes: number;
  /** Stands for a report that was refused. */
  plain: boolean;
}

/** What one call reports. */
export interface Sending {
  entries: Entry[];
  body: Record<Kind, Item[]>;
}

/**
 * Reports on their way to the control plane: kept until they are answered, sent in calls of bounded size. A report that
 * is refused for its content must neither hold up the others nor get lost silently.
 */
export function createOutbox({ max_items = MAX_ITEMS, max_bytes = MAX_BYTES } = {}) {
  let waiting: Entry[] = [];
  let most = max_items;

  const plainly = ({ workload, item }: Entry, detail: string): Entry => {
    const { task_id, epoch, duration_ms = 0 } = item;
    const error = `the report of this run was refused: ${detail}`.slice(0, MAX_ERROR_LENGTH);
    const told = { task_id, epoch, duration_ms, workload, outcome: "error", error };
    return { kind: "failed", workload, item: told, bytes: error.length, plain: true };
  };

  return {
    get size() {
      return waiting.length;
    },
    refs: () =>
      waiting.map(({ workload, item: { task_id, epoch } }) => ({ task_id, epoch, workload })),
    /** `bytes`: its approximate size as JSON. */
    add: (kind: Kind, workload: string, item: Item, bytes = 0): void => {
      waiting.push({ kind, workload, item, bytes, plain: false });
    },
    /** The oldest reports, as many as one call may carry; at least one if there is any. */
    take: (): Sending => {
      let bytes = 0;
      let n = 0;
      for (const entry of waiting) {
        bytes += entry.bytes;
        if (n > 0 && (n === most || bytes > max_bytes)) break;
        n += 1;
      }
      const entries = n === waiting.length ? waiting : waiting.slice(0, n);
      waiting = n === waiting.length ? [] : waiting.slice(n);
      const body: Sending["body"] = { done: [], failed: [], released: [] };
      for (const { kind, item } of entries) body[kind].push(item);
      return { entries, body };
    },
    /**
     * The call was not answered: it may or may not have arrived, and the control plane recognizes what it already has.
     */
    putBack: ({ entries }: Sending): void => {
      waiting = [...entries, ...waiting];
    },
    /** The call was answered. */
    sent: (): void => {
      most = max_items;
    },
    /**
     * The call was refused for its content. Halves are tried, down to the report that is at fault; that one is reported
     * as failed, with the reason. Returns what cannot even be reported that way; its lease ends by itself.
     */
    refused: ({ entries }: Sending, detail: string): Entry | null => {
      const [only] = entries;
      if (entries.length > 1) {
        most = Math.ceil(entries.length / 2);
        waiting = [...entries, ...waiting];
      } else if (only && only.kind !== "released" && !only.plain) {
        waiting = [plainly(only, detail), ...waiting];
      } else return only ?? null;
      return null;
    },
  };
}
export type Outbox = ReturnType<typeof createOutbox>;
