import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { AnswerOf } from "#shared/client/operation.ts";
import type { LogEntry } from "#shared/protocol/schema/operations.ts";
import { call, type Read } from "../../lib/http.ts";

type Page = AnswerOf<"GET /api/v1/service-logs">;
export type LogFilter = NonNullable<Read<"GET /api/v1/service-logs">["query"]>;

export interface Tail {
  /** Oldest first. */
  lines: LogEntry[];
  /** Cursor of what is older; null at the beginning. */
  older: string | null;
  /** More came than a page of the browser keeps: the oldest went. */
  cut: boolean;
  /** Newest line that was read, whatever its time. */
  newest: number;
}

const FIRST = 200;
const MOST_OF_ONE_CALL = 1_000;
/** 20,000 lines are some 10 MB of the browser's memory. */
const KEEP = 20_000;
const EVERY_MS = 2_000;
/** Ids are given out before a line is stored: the last ones are asked for again. */
const OVERLAP = 200;

const byTime = (a: LogEntry, b: LogEntry) =>
  a.ts < b.ts ? -1 : a.ts > b.ts ? 1 : a.log_id - b.log_id;

const newestOf = (lines: readonly LogEntry[], before = 0) =>
  lines.reduce((most, { log_id }) => Math.max(most, log_id), before);

/** New lines in their places; the oldest go when there are too many. */
function withNew(tail: Tail, page: Page): Tail {
  const known = new Set(tail.lines.map(({ log_id }) => log_id));
  const fresh = page.logs.filter(({ log_id }) => !known.has(log_id));
  if (fresh.length === 0) return tail;
  const lines = [...tail.lines, ...fresh].sort(byTime);
  const cut = tail.cut || lines.length > KEEP;
  return { ...tail, lines: lines.slice(-KEEP), cut, newest: newestOf(fresh, tail.newest) };
}

/** The newest lines that match, followed while `follow`; `older` puts a page in front of them. */
export function useTail(filters: LogFilter, follow: boolean) {
  const client = useQueryClient();
  const queryKey = ["log tail", filters] as const;
  const query = useQuery<Tail>({
    queryKey,
    queryFn: async ({ signal }) => {
      const before = client.getQueryData<Tail>(queryKey);
      if (before !== undefined && before.newest > 0) {
        const after = Math.max(0, before.newest - OVERLAP);
        const of = { ...filters, after, limit: MOST_OF_ONE_CALL };
        const page = await call("GET /api/v1/service-logs", { query: of, signal });
        if (page.next_cursor === null) return withNew(before, page);
        // More than one call brings: begin at the newest again, or there would be a gap.
      }
      const page = await call("GET /api/v1/service-logs", {
        query: { ...filters, limit: FIRST },
        signal,
      });
      const lines = [...page.logs].sort(byTime);
      return { lines, older: page.next_cursor, cut: false, newest: newestOf(lines) };
    },
    refetchInterval: follow ? EVERY_MS : false,
    refetchOnWindowFocus: follow,
    staleTime: Number.POSITIVE_INFINITY,
    // Another visit begins at the newest.
    gcTime: 0,
  });
  const older = async () => {
    const cursor = query.data?.older;
    if (!cursor) return;
    const page = await call("GET /api/v1/service-logs", {
      query: { ...filters, cursor, limit: 1_000 },
    });
    client.setQueryData<Tail>(queryKey, (tail) => {
      if (tail === undefined || tail.older !== cursor) return tail;
      const known = new Set(tail.lines.map(({ log_id }) => log_id));
      const lines = [...page.logs.filter(({ log_id }) => !known.has(log_id)), ...tail.lines];
      return { ...tail, lines: lines.sort(byTime), older: page.next_cursor };
    });
  };
  return { query, older };
}
