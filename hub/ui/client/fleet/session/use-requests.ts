import { useEffect, useRef, useState } from "react";
import type { HarEntry } from "#shared/protocol/schema/har.ts";
import { call } from "../../lib/http.ts";
import { mergeRequests, NO_REQUESTS, type NotedRequests } from "../player/model/requests.ts";

/**
 * The requests of a session, read on as its recording grows.
 * @param count how often something was noted of them
 */
export function useSessionRequests(
  sid: string,
  count: number,
): { entries: readonly HarEntry[]; error: unknown } {
  const [known, setKnown] = useState<NotedRequests>(NO_REQUESTS);
  const [error, setError] = useState<unknown>(null);
  const last = useRef(known);
  const reading = useRef(false);
  // The one under way is not broken off when more was noted: the first answer may take longer than that.
  const [read_at, setReadAt] = useState(0);
  const over = useRef(new AbortController());
  useEffect(() => {
    over.current = new AbortController();
    return () => over.current.abort();
  }, []);
  useEffect(() => {
    if (count === read_at || reading.current) return;
    const { signal } = over.current;
    reading.current = true;
    const readOn = async () => {
      const har = await call("GET /sessions/{sid}/har.json", {
        params: { sid },
        // Not all that was noted in the last millisecond need have been there.
        query: { after_ms: Math.max(-1, last.current.ms - 1) },
        signal,
      });
      last.current = mergeRequests(last.current, har);
    };
    readOn().then(
      () => ended(null),
      (err) => ended(err),
    );
    function ended(err: unknown): void {
      reading.current = false;
      if (signal.aborted) return;
      setKnown(last.current);
      setError(err);
      setReadAt(count);
    }
  }, [sid, count, read_at]);
  return { entries: known.entries, error };
}
