import { AppError, errorMessage } from "#shared/kit/errors.ts";
import { CreateSession } from "#shared/protocol/schema/session.ts";
import type { FleetContext } from "../context.ts";
import type { WorkerLink } from "../links/worker-link.ts";
import { callSession } from "../sessions/calls.ts";
import { endSession } from "../sessions/end.ts";
import { openSession } from "../sessions/open.ts";
import type { SessionOpenContext } from "../sessions/session-contexts.ts";

/** A lane that is free now is given at once. */
const LANE_MS = 5_000;
const STEP_MS = 20_000;
/** The first failure may be the lane's. */
const MOST_FAILURES = 2;
/** How often a check may find no lane although one is warm. */
const MOST_UNTAKEN = 3;

const TEXT = "flotilla checks this worker";
/**
 * The code that a canary's page runs, and what it answers with. It needs no address that the browser would have to reach:
 * routers, names and certificates are not what is checked.
 */
export const SELF_CHECK = {
  text: TEXT,
  code: `document.title = ${JSON.stringify(TEXT)}; document.body.innerHTML = "<h1></h1>"; document.querySelector("h1").textContent = document.title; return document.querySelector("h1").innerText`,
} as const;

/**
 * The hub's own job for a canary that gets no other: a session on one of its lanes, a page written into it and read
 * back, and a screenshot. It needs no site, and goes the way of every session.
 */
async function checkOnce(
  ctx: SessionOpenContext & Pick<FleetContext, "session_calls">,
  link: WorkerLink,
): Promise<string | null> {
  const headless = [...link.lanes.values()].every(({ mode }) => mode === "headless");
  const input = CreateSession.parse({ worker_id: link.worker_id, headless, ttl_s: 120 });
  const { stopping: signal } = ctx;
  const session = await openSession(ctx, input, {
    opened_by: "self-check",
    signal,
    wait_ms: LANE_MS,
  });
  if (!session) return null;
  try {
    const { result } = await callSession(ctx, session, {
      action: "evaluate",
      args: { code: SELF_CHECK.code },
      timeout_ms: STEP_MS,
    });
    if (result !== SELF_CHECK.text)
      throw new Error("the page that was read back is not the one that was written");
    await callSession(ctx, session, { action: "screenshot", timeout_ms: STEP_MS });
    return session.session_id;
  } finally {
    await endSession(ctx, session, "the check of an updated worker is over");
  }
}

interface Running {
  link: WorkerLink;
  failures: number;
  untaken: number;
  busy: boolean;
  result: { ok: boolean; how: string } | null;
}

/** One check at a time for each worker; a new link, or a new version, begins anew. */
export function createSelfChecks(ctx: SessionOpenContext & Pick<FleetContext, "session_calls">) {
  const checks = new Map<string, Running>();

  const run = async (check: Running): Promise<void> => {
    const { link } = check;
    try {
      const session_id = await checkOnce(ctx, link);
      if (session_id) check.result = { ok: true, how: `the hub's own session ${session_id}` };
      // Its lane went to a job, which shows more; or it takes no session on any.
      else check.untaken += 1;
      if (check.untaken >= MOST_UNTAKEN)
        check.result = { ok: false, how: "it took the hub's own session on none of its lanes" };
    } catch (err) {
      // A worker that went away is judged by whether it comes back.
      if (link.closed || ctx.stopping.aborted) return;
      if (err instanceof AppError && err.kind === "not_found") return;
      check.failures += 1;
      const why = errorMessage(err);
      ctx.log.warn({ worker_id: link.worker_id, err: why }, "check of an updated worker failed");
      if (check.failures >= MOST_FAILURES)
        check.result = { ok: false, how: `the hub's own session on it failed: ${why}` };
    }
  };
  return {
    /** What was found on this link; where it is due and nothing runs, a check is begun. */
    resultFor: (link: WorkerLink, due: boolean): Running["result"] => {
      let check = checks.get(link.worker_id);
      if (check?.link !== link) {
        check = { link, failures: 0, untaken: 0, busy: false, result: null };
        checks.set(link.worker_id, check);
      }
      if (due && !check.busy && check.result === null) {
        const started = check;
        started.busy = true;
        void run(started).finally(() => {
          started.busy = false;
        });
      }
      return check.result;
    },
  };
}
