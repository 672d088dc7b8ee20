import type { Kv } from "#hub/platform/stores/kv.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { parseTraceparent, type TraceContext } from "#shared/kit/tracing/trace-context.ts";

/** What waits for longer begins a trace of its own when it runs. */
const KEPT_MS = 24 * 3_600_000;
/** What has begun is tried again within this time, or begins a trace of its own then. */
const BEGUN_MS = 3_600_000;
/**
 * How many this process keeps: a queue may hold millions, and nothing says when the last attempt at a task was. The
 * oldest give way.
 */
const MOST = 20_000;

/** The trace of something that is stored and runs later, perhaps at another hub. */
interface Kept {
  traceparent: string;
  /** The span that it happens within; null: it began the trace. */
  parent_id: string | null;
  /** Epoch milliseconds. */
  at: number;
}
type Stored = Kept & { state: "waits" | "begun" };

/** Nothing waits long for these, and nothing fails because of them: without one, a trace is in two parts. */
export interface KeptTraces {
  /** Unless it is kept already, and what it is of has not begun. */
  keep(key: string, kept: Kept): Promise<void>;
  find(key: string): Promise<(Omit<Kept, "traceparent"> & { context: TraceContext }) | null>;
  /** It runs, and may run again. */
  begun(key: string, kept: Kept): Promise<void>;
  forget(key: string): Promise<void>;
}

export function createKeptTraces(
  { kv, log }: { kv: Kv; log: Log },
  most: number = MOST,
): KeptTraces {
  /** What this process has kept, oldest first. */
  const order = new Set<string>();
  const keyOf = (key: string) => `trace:${key}`;
  const forget = (key: string) => {
    order.delete(key);
    return kv.delete(keyOf(key)).catch(() => {});
  };
  const note = async (key: string): Promise<void> => {
    order.delete(key);
    order.add(key);
    const [oldest] = order;
    if (order.size > most && oldest !== undefined) await forget(oldest);
  };
  const notKept = (key: string) => (err: unknown) => {
    log.debug({ key, err: errorMessage(err) }, "a trace was not kept");
  };
  return {
    keep: async (key, { traceparent, parent_id, at }) => {
      const stored: Stored = { traceparent, parent_id, at, state: "waits" };
      const set = kv.setIf(keyOf(key), { state: "begun" }, stored, KEPT_MS);
      if (await set.catch(notKept(key))) await note(key);
    },
    find: async (key) => {
      const kept = await kv.get<Stored>(keyOf(key)).catch((err) => {
        log.debug({ key, err: errorMessage(err) }, "a trace could not be read");
        return null;
      });
      const context = parseTraceparent(kept?.traceparent);
      return kept && context && { context, parent_id: kept.parent_id, at: kept.at };
    },
    begun: async (key, { traceparent, parent_id, at }) => {
      const stored: Stored = { traceparent, parent_id, at, state: "begun" };
      await kv.set(keyOf(key), stored, BEGUN_MS).catch(notKept(key));
      await note(key);
    },
    forget,
  };
}
