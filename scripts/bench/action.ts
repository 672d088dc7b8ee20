import type { Session } from "#shared/protocol/schema/session.ts";
import { type FleetProcesses, startFleet } from "#test/support/rigs/fleet-process.ts";
import { type BareBrowser, startBareBrowser } from "./bare-playwright.ts";
import { type Bench, showMs, statsOf, timed } from "./harness.ts";
import { servePages } from "./pages.ts";

/** The longest that anything measured here may take. */
const CALL_MS = 60_000;

async function call(fleet: FleetProcesses, method: string, path: string, body: object = {}) {
  const answer = await fetch(fleet.url + path, {
    method,
    signal: AbortSignal.timeout(CALL_MS),
    ...(method === "POST"
      ? { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }
      : {}),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
}

const openSession = (fleet: FleetProcesses, url: string | null): Promise<Session> =>
  call(fleet, "POST", "/sessions", { url });
const evaluate = (fleet: FleetProcesses, { session_id }: Session) =>
  call(fleet, "POST", `/sessions/${session_id}/evaluate`, { code: "1 + 1" });

async function withFleet<T>(
  display: number,
  work: (fleet: FleetProcesses, bare: BareBrowser) => Promise<T>,
): Promise<T> {
  const fleet = await startFleet({ lanes: 1, env: { SVC_DRAIN_TIMEOUT_S: "1" } });
  try {
    await fleet.lanesWarm(60_000);
    const bare = await startBareBrowser(display);
    try {
      return await work(fleet, bare);
    } finally {
      await bare.close();
    }
  } finally {
    await fleet.stop();
  }
}

/** POST /sessions/{sid}/evaluate, through hub, link and worker, against playwright-core on a browser of its own. */
export const action: Bench = ({ runs, tiny }) =>
  withFleet(474, async (fleet, bare) => {
    const site = servePages();
    const url = `${site.url}sixty`;
    const samples = tiny ? 5 : Math.max(200, runs * 100);
    try {
      const session = await openSession(fleet, url);
      const page = await bare.browser.newPage();
      await page.goto(url);
      const ours: number[] = [];
      const theirs: number[] = [];
      // Alternated, so that a noisy moment hits both; the first ones warm both up.
      for (let i = -20; i < samples; i += 1) {
        const one = await timed(() => evaluate(fleet, session));
        const other = await timed(() => page.evaluate("1 + 1"));
        if (i < 0) continue;
        ours.push(one.ms);
        theirs.push(other.ms);
      }
      await call(fleet, "DELETE", `/sessions/${session.session_id}`);
      const a = statsOf(ours);
      const b = statsOf(theirs);
      const over = (p50: number, p95: number) =>
        `+${p50.toFixed(2)} ms p50, +${p95.toFixed(2)} ms p95`;
      return [
        {
          bench: "action",
          metric: "POST /sessions/{sid}/evaluate over playwright-core directly",
          value: over(a.median - b.median, a.p95 - b.p95),
          reference: `${showMs(a)}, p95 ${a.p95.toFixed(2)} against ${showMs(b)}, p95 ${b.p95.toFixed(2)}`,
          target: "≤ +3 ms p50, ≤ +15 ms p95",
          raw: { ours: a, theirs: b },
        },
      ];
    } finally {
      await site.stop(true);
    }
  });

/** POST /sessions on a warm lane until the first evaluate is answered, against a new context and page. */
export const sessionStart: Bench = ({ runs, tiny }) =>
  withFleet(475, async (fleet, bare) => {
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let i = tiny ? 0 : -1; i < (tiny ? 1 : Math.max(runs, 5)); i += 1) {
      const started = await timed(async () => {
        const session = await openSession(fleet, null);
        await evaluate(fleet, session);
        return session;
      });
      await call(fleet, "DELETE", `/sessions/${started.result.session_id}`);
      await fleet.lanesWarm();
      const other = await timed(async () => {
        const context = await bare.browser.newContext();
        const page = await context.newPage();
        await page.evaluate("1 + 1");
        return context;
      });
      await other.result.close();
      if (!tiny && i < 0) continue;
      ours.push(started.ms);
      theirs.push(other.ms);
    }
    const a = statsOf(ours);
    const b = statsOf(theirs);
    return [
      {
        bench: "session-start",
        metric: "POST /sessions on a warm lane → first evaluate answered",
        value: showMs(a),
        reference: `new context and page of a warm Chromium ${showMs(b)}`,
        ratio: a.median / b.median,
        target: "p50 ≤ 120 ms",
        raw: { ours, theirs },
      },
    ];
  });
