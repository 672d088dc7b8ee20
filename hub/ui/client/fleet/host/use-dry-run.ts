import { useEffect, useRef, useState } from "react";
import { FlotillaError, type Issue } from "#shared/client/errors.ts";
import { pathOf } from "#shared/client/operation.ts";
import { ACTION_TIMEOUT_S } from "#shared/protocol/limits.ts";
import { asWritten, call } from "../../lib/http.ts";
import { errorText, useChange } from "../../lib/query.ts";
import type { RawAction, Step } from "./draft.ts";

/** What a step's last run gave; it no longer applies once the step's action has changed. */
export interface StepRun {
  action: RawAction;
  state: "running" | "ok" | "failed";
  ms: number | null;
  error: string | null;
  /** Address of a screenshot of the page after it. */
  shot: string | null;
}

export interface DryRunStart {
  url: string;
  use_profile: string | null;
}

/** A session that nobody uses any longer ends by itself. */
const IDLE_S = 600;
/** The API's bounds for an action's timeout, and how much longer to wait for its answer. */
const STEP_S = { min: 0.1, max: ACTION_TIMEOUT_S.max };
const GRACE_MS = 15_000;

/** One that has ended by itself needs no ending. @throws FlotillaError */
async function endSession(sid: string): Promise<void> {
  try {
    await call("DELETE /sessions/{sid}", { params: { sid } });
  } catch (err) {
    if (!(err instanceof FlotillaError && err.status === 404)) throw err;
  }
}

/** While the page is being closed: nobody is there to read the answer. */
const endUnseen = (sid: string) =>
  fetch(pathOf("DELETE /sessions/{sid}", { params: { sid } }), {
    method: "DELETE",
    keepalive: true,
  }).then(
    () => {},
    () => {},
  );

async function pictureOf(sid: string): Promise<string | null> {
  try {
    const { result: picture } = await call("POST /sessions/{sid}/screenshot", {
      params: { sid },
      json: { format: "jpeg", quality: 50 },
    });
    return `data:${picture.mime};base64,${picture.content_base64}`;
  } catch {
    return null;
  }
}

const sayShort = (text: string): string => text.replace(/^recipe failed at step \d+\/\d+ /, "");

const now = (): number => performance.now();

/** A session in which the steps are tried; it ends when its page is left. */
export function useDryRun(
  timeout_s: number,
  onIssues: (step: Step, issues: readonly Issue[]) => void,
) {
  const [sid, setSid] = useState<string | null>(null);
  /** The one that steps were tried in last. */
  const [tried, setTried] = useState<string | null>(null);
  const [runs, setRuns] = useState<Record<string, StepRun>>({});
  const [busy, setBusy] = useState(false);
  const mine = useRef<string | null>(null);
  const gone = useRef(false);
  const stop = useRef(false);
  const set = (next: string | null) => {
    mine.current = next;
    setSid(next);
  };
  useEffect(() => {
    gone.current = false;
    const leave = () => {
      if (mine.current !== null) void endUnseen(mine.current);
      mine.current = null;
    };
    window.addEventListener("pagehide", leave);
    return () => {
      gone.current = true;
      window.removeEventListener("pagehide", leave);
      leave();
    };
  }, []);
  const open = useChange(
    async (start: DryRunStart) => {
      const made = await call("POST /sessions", {
        json: { ...start, idle_ttl_s: IDLE_S },
        timeout_ms: 60_000,
      });
      setRuns({});
      // The page was left while the session was opened.
      if (gone.current) await endUnseen(made.session_id);
      else set(made.session_id);
    },
    { failed: "The session was not opened", quiet: true },
  );
  const end = useChange(
    async () => {
      stop.current = true;
      if (mine.current !== null) await endSession(mine.current);
      set(null);
    },
    { failed: "The session was not ended" },
  );
  const tell = (step: Step, run: Omit<StepRun, "action">) =>
    setRuns((all) => ({ ...all, [step.key]: { ...run, action: step.action } }));
  /** In its own call, so that each step has its own result and screenshot. */
  const runOne = async (at: string, step: Step, left_s: number): Promise<boolean> => {
    tell(step, { state: "running", ms: null, error: null, shot: null });
    const seconds = Math.min(Math.max(left_s, STEP_S.min), STEP_S.max);
    const since = now();
    let error: string | null = null;
    let ms: number | null = null;
    try {
      const reply = await call("POST /sessions/{sid}/recipe", {
        params: { sid: at },
        json: { actions: [asWritten(step.action)], timeout_s: seconds },
        timeout_ms: seconds * 1_000 + GRACE_MS,
      });
      ms = reply.ms;
    } catch (err) {
      ms = now() - since;
      error = sayShort(errorText(err));
      if (err instanceof FlotillaError && err.issues.length > 0) onIssues(step, err.issues);
    }
    tell(step, {
      state: error === null ? "ok" : "failed",
      ms,
      error,
      shot: await pictureOf(at),
    });
    return error === null;
  };
  /** Runs them one after the other until one fails; `timeout_s` covers all of them together, as in a job. */
  const run = async (steps: readonly Step[]) => {
    const at = mine.current;
    if (at === null || busy) return;
    setBusy(true);
    setTried(at);
    stop.current = false;
    let left_s = timeout_s;
    try {
      for (const step of steps) {
        const since = now();
        if (stop.current || !(await runOne(at, step, left_s))) break;
        left_s -= (now() - since) / 1_000;
      }
    } finally {
      setBusy(false);
    }
  };
  const restart = useChange(
    async (url: string) => {
      await call("POST /sessions/{sid}/navigate", {
        params: { sid: mine.current ?? "" },
        json: { url },
      });
      setRuns({});
    },
    { failed: "The page was not opened again" },
  );
  return {
    sid,
    tried,
    busy,
    open,
    end,
    restart,
    run,
    /** Of a step as it is written now. */
    runOf: (step: Step): StepRun | null => {
      const last = runs[step.key];
      return last && last.action === step.action ? last : null;
    },
    stop: () => {
      stop.current = true;
    },
    /** The session has ended by itself. */
    forget: () => set(null),
  };
}

export type DryRun = ReturnType<typeof useDryRun>;
