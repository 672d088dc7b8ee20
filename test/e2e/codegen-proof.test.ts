import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  type CodegenRig,
  script,
  startCodegenRig,
  verdict,
} from "#test/support/rigs/codegen-rig.ts";

/** Scripts that are proved in a replay before they touch the site (rules/scripts#proof-in-replay), in real browsers. */

const LONG_MS = 300_000;
/** Whoever asks for the stock gets another number, so that a result says where it comes from. */
const PAGE = `<!doctype html><title>Shop</title><link rel=icon href=data:,>
<button id=go onclick="fetch('/stock').then(async (r) => { out.textContent = await r.text(); })">Stock</button>
<p id=out></p>`;
const READ = `import { session } from "flotilla";
await session.click("#go");
await session.wait("#out:not(:empty)");
const stock = await session.text("#out");
`;
const WRONG = `${READ}export default { wrong: stock };`;
const GOOD = `${READ}export default { stock };`;
const THROWS = `import { session } from "flotilla";
await session.click("#nope", { timeout_s: 0.3 });`;
/** What a wrong script must not do to the site. */
const ORDERS = `import { session } from "flotilla";
const status = await session.evaluate("fetch('/order', { method: 'POST', body: 'all' }).then((r) => r.status)");
export default { status };`;

let rig: CodegenRig;
let site: ReturnType<typeof Bun.serve>;
/** Requests of the site, in order. */
const hits: string[] = [];
let url = "";

beforeAll(async () => {
  let stock = 0;
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      hits.push(`${request.method} ${pathname}`);
      if (pathname === "/stock") return new Response(`${++stock} pears`);
      return new Response(PAGE, { headers: { "content-type": "text/html" } });
    },
  });
  url = site.url.href;
  rig = await startCodegenRig({ lanes: 2 });
}, LONG_MS);
afterAll(async () => {
  expect(await rig?.stop()).toEqual([]);
  await site?.stop(true);
}, LONG_MS);

/** What the site had been asked by the moment of the engine's n-th request about a goal. */
const hitsAt = async (goal: string, n: number): Promise<string[]> => {
  await rig.asked(goal, n);
  return [...hits];
};
const resultOf = async (job_id: string) =>
  (await rig.call("GET", `/jobs/${job_id}/assets/result.json`)).body;
const PROVE = { prove_in_replay: true, idle_seconds: 0.3 };
const ONCE = ["GET /", "GET /stock"];

describe("a loop that proves its scripts in replay", () => {
  test(
    "captures its first script's run; the site sees nothing of what is rejected, and once what is proved",
    async () => {
      const goal = "read the stock, proved by the first run";
      hits.length = 0;
      const job_id = await rig.submit(
        url,
        {
          goal,
          plan: [script(WRONG), script(THROWS), script(ORDERS), script(GOOD)],
          judge: [
            verdict("wrong_result", "name it stock"),
            verdict("script_error"),
            verdict("wrong_result"),
            verdict("success"),
            verdict("success"),
          ],
        },
        { ...PROVE, max_codegen_attempts: 4 },
      );
      // A script and its verdict are two requests; the last script has a verdict more.
      const [captured, proved] = await Promise.all([hitsAt(goal, 3), hitsAt(goal, 8)]);
      const { job, attempts, attempt, events } = await rig.outcome(job_id);
      expect(job).toMatchObject({ status: "completed", error: null, attempts: 4 });
      expect(captured).toEqual(ONCE);
      expect(proved).toEqual(ONCE);
      expect(hits).toEqual([...ONCE, ...ONCE]);

      // Matchers take the place of what they match.
      const replays = attempts.map((one) => one.proof?.session_id);
      const proof = { job_id, session_id: expect.any(String), run_ms: expect.any(Number) };
      expect(attempts).toMatchObject([
        { ran_in: "site", proof: null, verdict: { class: "wrong_result" } },
        { ran_in: "replay", proof: { ...proof, ok: false }, verdict: { class: "script_error" } },
        {
          ran_in: "replay",
          proof: { ...proof, ok: false, missed_count: 1 },
          verdict: {
            class: "wrong_result",
            reason: `not proved in replay: judged wrong_result (the capture of job ${job_id} has no answer for POST ${url}order)`,
          },
        },
        {
          ran_in: "site",
          proof: { ...proof, ok: true, reason: "judged success", answered: 2, missed_count: 0 },
          verdict: { class: "success", ok: true },
        },
      ]);
      // The engine hears of it, and the last result is the site's.
      expect((await attempt(4)).prompt).toContain("not proved in replay: judged wrong_result");
      expect((await attempt(4)).result).toEqual({ stock: "2 pears" });
      expect(await resultOf(job_id)).toEqual({ stock: "2 pears" });
      expect(events.map(({ data }) => data.message)).toContain(
        "attempt 4: proved in replay: judged success",
      );

      // The job's own capture is of the site alone, and each proof is a session with its recording.
      const har = (await rig.call("GET", `/jobs/${job_id}/har.json`)).body;
      const asked = har.log.entries.map(
        ({ request }: { request: { method: string; url: string } }) =>
          `${request.method} ${new URL(request.url).pathname}`,
      );
      expect(asked.filter((one: string) => one !== "GET /favicon.ico")).toEqual([...ONCE, ...ONCE]);
      expect(job.capture?.replay).toBeUndefined();
      const { sessions } = (await rig.call("GET", "/sessions?status=ended")).body;
      const told = sessions.map((one: { session_id: string; opened_by: string }) => [
        one.session_id,
        one.opened_by,
      ]);
      expect(told.toReversed()).toEqual(replays.slice(1).map((id) => [id, `job ${job_id}`]));
      for (const id of replays.slice(1))
        expect((await rig.call("GET", `/sessions/${id}/recording`)).status).toBe(200);
      expect((await rig.call("GET", "/sessions")).body.sessions).toEqual([]);
    },
    LONG_MS,
  );

  test(
    "by a capture that it names does not even open the site before one is proved",
    async () => {
      const options = { mode: "rerun", code: GOOD, idle_seconds: 0.3 };
      const { body } = await rig.call("POST", "/jobs", { url, options });
      const captured = (await rig.outcome(body.job_id)).job;
      expect(captured).toMatchObject({ status: "completed", error: null });
      const named = { ...PROVE, proof_capture: captured.job_id };

      const goal = "read the stock, proved by an earlier job";
      hits.length = 0;
      const job_id = await rig.submit(
        url,
        {
          goal,
          plan: [script(ORDERS), script(GOOD)],
          judge: [verdict("wrong_result"), verdict("success"), verdict("success")],
        },
        named,
      );
      const before = await hitsAt(goal, 4);
      const { job, attempts } = await rig.outcome(job_id);
      expect({ job, before, hits }).toMatchObject({
        job: { status: "completed", error: null, final_url: url, http_status: 200 },
        before: [],
        hits: ONCE,
      });
      const { job_id: by } = captured;
      expect(attempts).toMatchObject([
        { ran_in: "replay", proof: { job_id: by, ok: false } },
        { ran_in: "site", proof: { job_id: by, ok: true } },
      ]);

      hits.length = 0;
      const hopeless = "read the stock, never proved";
      const failed = await rig.outcome(
        await rig.submit(
          url,
          { goal: hopeless, plan: [script(ORDERS)], judge: [verdict("wrong_result")] },
          { ...named, max_codegen_attempts: 1 },
        ),
      );
      expect(failed.job).toMatchObject({
        status: "failed",
        error: expect.stringContaining("1 of 1 attempt (wrong_result): not proved in replay"),
      });
      expect(hits).toEqual([]);
    },
    LONG_MS,
  );
});
