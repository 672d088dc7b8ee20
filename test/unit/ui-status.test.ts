import { expect, test } from "bun:test";
import { within } from "#hub/ui/client/parts/panels/sizes.ts";
import { failureReason, jobLook, ordinal } from "#hub/ui/client/parts/status/job.ts";
import { lookOf } from "#hub/ui/client/parts/status/look.ts";
import { runLook } from "#hub/ui/client/parts/status/run.ts";
import { sessionLook } from "#hub/ui/client/parts/status/session.ts";
import { taskLook } from "#hub/ui/client/parts/status/task.ts";
import { workerLook } from "#hub/ui/client/parts/status/worker.ts";
import { workloadLook } from "#hub/ui/client/parts/status/workload.ts";
import type { JobStatus } from "#shared/protocol/schema/job.ts";

/** The word and the colour of every state (rules/web-app#states): each has an icon beside them. */

const said = ({ word, tone, icon }: ReturnType<typeof lookOf>) => {
  expect(icon).toBeDefined();
  return `${word} (${tone})`;
};

const job = (status: JobStatus, more: object = {}) =>
  said(
    jobLook({
      status,
      http_status: 200,
      changed: null,
      error: null,
      queue_position: null,
      ...more,
    }),
  );

test("a job is green only where its page answered well and nothing is to be told (rules/web-app#states)", () => {
  expect(job("completed")).toBe("Completed (ok)");
  expect(job("completed", { http_status: null })).toBe("Completed (ok)");
  expect(job("completed", { http_status: 399 })).toBe("Completed (ok)");
  expect(job("completed", { http_status: 400 })).toBe("Completed · 400 (warn)");
  expect(job("completed", { http_status: 500, changed: true })).toBe("Completed · 500 (warn)");
  expect(job("completed", { changed: true })).toBe("Completed · changed (live)");
  expect(job("completed", { changed: false })).toBe("Completed (ok)");
});

test("a job that waits says its place, one that failed why in two words", () => {
  expect(job("queued", { queue_position: 2 })).toBe("Queued · 2nd (idle)");
  expect(job("queued")).toBe("Queued (idle)");
  expect(job("running")).toBe("Running (live)");
  expect(job("cancelled")).toBe("Cancelled (idle)");
  expect(job("failed", { error: "could not open x: net::ERR_NAME_NOT_RESOLVED" })).toBe(
    "Failed · no such host (bad)",
  );
  expect(job("failed", { error: "something nobody foresaw" })).toBe("Failed (bad)");
});

test("reasons are told apart by what the error says first", () => {
  const reasons: [string, string][] = [
    ["could not open http://a/: a refused the connection: check the port", "connection refused"],
    ["could not open https://a/: the TLS connection to a failed", "bad certificate"],
    ["could not open http://a/: no answer within 30 s: raise max_wait_seconds", "too slow"],
    ["could not open http://a/: the navigation failed (net::ERR_X)", "not reached"],
    ["refused to open http://a/: 10.0.0.1 is not allowed", "not allowed"],
    ["queue timeout: no lane was free", "no browser"],
    ["the page crashed", "browser lost"],
  ];
  for (const [error, reason] of reasons)
    expect([error, failureReason(error)]).toEqual([error, reason]);
  expect(failureReason(null)).toBeNull();
});

test("a login is needed where the fleet says so, and not where a selector or a page has the word", () => {
  const judged = "the goal was not reached in 2 of 3 attempts";
  const reasons: [string, string | null][] = [
    [
      "login failed: #logout is not there after the login recipe, on http://a/login",
      "login needed",
    ],
    [
      `${judged} (script_error, credentials_missing): the page asks for a login; TimeoutError: late`,
      "login needed",
    ],
    ["recipe failed at step 1/2 click #login-form: no such element", "recipe failed"],
    ["login recipe failed at step 1/2 fill #password: no such element", "recipe failed"],
    [`${judged} (wrong_result): the button "Login" was not pressed`, "wrong result"],
    ["could not find the element input[name=password]", null],
  ];
  for (const [error, reason] of reasons)
    expect([error, failureReason(error)]).toEqual([error, reason]);
});

test("places in the queue are written as people say them", () => {
  expect([1, 2, 3, 4, 11, 12, 13, 21, 102, 111].map(ordinal)).toEqual([
    ...["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th"],
  ]);
});

test("a session says who drives it, and how it ended", () => {
  expect(said(sessionLook({ state: "opening" }))).toBe("Opening (live)");
  expect(said(sessionLook({ state: "active" }))).toBe("Live (live)");
  expect(said(sessionLook({ state: "active", driver: "you" }))).toBe("You drive (live)");
  expect(said(sessionLook({ state: "active", driver: "Ines" }))).toBe("Ines drives (live)");
  const ended = (end_reason: string) => said(sessionLook({ state: "ended", end_reason }));
  expect(ended("closed by a call")).toBe("Ended (idle)");
  expect(ended("idle for 300 s")).toBe("Ended, unused (idle)");
  expect(ended("its hub was lost, and its worker did not bring it to another")).toBe(
    "Browser lost (bad)",
  );
});

test("runs and tasks have no word of the queue", () => {
  expect(
    ["running", "success", "error", "timeout", "lease_expired", "cancelled"].map((one) =>
      said(runLook(one)),
    ),
  ).toEqual([
    ...["Running (live)", "Succeeded (ok)", "Failed (bad)", "Too slow (warn)"],
    ...["Worker lost (warn)", "Cancelled (idle)"],
  ]);
  const now = Date.parse("2026-11-25T10:00:00Z");
  const task = (state: "pending" | "claimed" | "failed", more: object = {}) =>
    said(
      taskLook(
        { state, run_at: "2026-11-25T09:00:00Z", attempt: 3, max_attempts: 3, ...more },
        now,
      ),
    );
  expect(task("pending")).toBe("Ready (idle)");
  expect(task("pending", { run_at: "2026-11-25T10:30:00Z" })).toMatch(
    /^Delayed until \d\d:\d\d \(idle\)$/,
  );
  // One of another day says which.
  expect(task("pending", { run_at: "2026-12-03T10:30:00Z" })).toMatch(
    /^Delayed until \d Dec, \d\d:\d\d \(idle\)$/,
  );
  expect(task("claimed")).toBe("Running (live)");
  expect(task("failed")).toBe("Failed, no attempt left (bad)");
});

test("broken comes before every other state of a workload", () => {
  const well = { enabled: true, broken: false, running: 0, success_rate: null };
  const state = (more: object) => said(workloadLook({ ...well, ...more }));
  expect(state({ broken: true, enabled: false, paused: true })).toBe("Broken (bad)");
  expect(state({ enabled: false })).toBe("Off (idle)");
  // The supervisor pauses by switching off.
  expect(state({ paused: true, enabled: false })).toBe("Paused (warn)");
  expect(state({ no_worker: true })).toBe("No worker for it (warn)");
  expect(state({ success_rate: 0.38 })).toBe("Failing · 62 % (bad)");
  expect(state({ success_rate: 0.5 })).toBe("Failing · 50 % (bad)");
  expect(state({ success_rate: 0.96 })).toBe("Some fail · 4 % (warn)");
  expect(state({ success_rate: 1, running: 2 })).toBe("Running (live)");
  expect(state({})).toBe("Idle (idle)");
});

test("a worker that drains says what is left; a state that nobody knows is shown as it is", () => {
  const worker = (state: string, more: object = {}) =>
    said(workerLook({ state, in_flight: 0, ...more }));
  expect(worker("active", { in_flight: 3 })).toBe("Active (ok)");
  // Both kinds of workers, each by its own name for it.
  expect(worker("drain", { in_flight: 2 })).toBe("Draining · 2 left (warn)");
  expect(worker("draining", { in_flight: 1 })).toBe("Draining · 1 left (warn)");
  expect(worker("drain")).toBe("Draining (warn)");
  expect(worker("standby")).toBe("Standby (idle)");
  expect(worker("drain", { in_flight: 2, alive: false })).toBe("Offline (bad)");
  expect(worker("offline")).toBe("Offline (bad)");
  expect(said(lookOf("half_open"))).toBe("Half open (idle)");
});

test("a panel stays between its bounds", () => {
  expect(within("left", 10)).toBe(200);
  expect(within("left", 300.4)).toBe(300);
  expect(within("right", 5_000)).toBe(720);
});
