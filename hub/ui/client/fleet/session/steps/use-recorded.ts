import { useEffect, useState } from "react";
import type { RecordedInput } from "#shared/protocol/schema/recorded-input.ts";
import { call } from "../../../lib/http.ts";
import { useChange } from "../../../lib/query.ts";

/** How long an answer may wait for the next step; and how often to ask while nothing is recorded, or after a failure. */
const WAIT_S = 15;
const IDLE_MS = 4_000;
const GRACE_MS = 10_000;

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => resolve(clearTimeout(timer)), { once: true });
  });

/** The steps as they are; while a recording goes on, once there are others than before. */
function read(
  sid: string,
  before: RecordedInput | null,
  signal: AbortSignal,
): Promise<RecordedInput> {
  const wait_s = before?.on ? WAIT_S : 0;
  return call("GET /sessions/{sid}/record-input", {
    params: { sid },
    query: { revision: before?.revision ?? -1, wait_s },
    signal,
    timeout_ms: wait_s * 1_000 + GRACE_MS,
  });
}

/** The steps of a session as they come; also those that somebody else records. */
export function useRecorded(sid: string) {
  const [state, setState] = useState<RecordedInput | null>(null);
  const [turn, setTurn] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was begun or ended here is asked for at once
  useEffect(() => {
    const over = new AbortController();
    const { signal } = over;
    const follow = async () => {
      for (let now: RecordedInput | null = null; !signal.aborted; ) {
        now = await read(sid, now, signal).catch(() => null);
        if (signal.aborted) return;
        if (now) setState(now);
        if (!now?.on) await pause(IDLE_MS, signal);
      }
    };
    void follow();
    return () => over.abort();
  }, [sid, turn]);
  const record = useChange(
    (on: boolean) =>
      call("POST /sessions/{sid}/record-input", {
        params: { sid },
        json: { on },
        timeout_ms: 40_000,
      }),
    {
      failed: "The recording did not change",
      onDone: (now) => {
        setState(now);
        setTurn((before) => before + 1);
      },
    },
  );
  return { state, record };
}

export type Recorded = ReturnType<typeof useRecorded>;
