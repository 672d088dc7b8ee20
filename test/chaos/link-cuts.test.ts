import { afterAll, beforeAll, expect, test } from "bun:test";
import { type FleetProcesses, startFleet } from "#test/support/rigs/fleet-process.ts";
import { type CuttableProxy, startCuttableProxy } from "#test/support/servers/cuttable-proxy.ts";

/** Full size: `LINK_CUTS=20 bun test test/chaos/link-cuts.test.ts`; the suite cuts the link a few times. */
const CUTS = Number(process.env.LINK_CUTS ?? 2);
const PARTS = 14;
/** Between two parts of the page: the cut comes in between. */
const PART_MS = 250;

let fleet: FleetProcesses;
let site: ReturnType<typeof Bun.serve>;
let proxy: CuttableProxy;
/** Called with the number of each part that is asked for. */
let onPart: (n: number) => void = () => {};

const PAGE = `<!doctype html><title>cut</title><link rel=icon href=data:,><body><script>
(async () => {
  for (let n = 1; n <= ${PARTS}; n += 1) await (await fetch("/" + n + ".json")).text();
})();
</script>`;

beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const n = Number(/^\/(\d+)\.json$/.exec(new URL(request.url).pathname)?.[1] ?? 0);
      if (n === 0) return new Response(PAGE, { headers: { "content-type": "text/html" } });
      onPart(n);
      await Bun.sleep(PART_MS);
      return Response.json({ n, text: "x".repeat(20_000) });
    },
  });
  fleet = await startFleet({
    lanes: 2,
    // A worker that comes back late is none that is lost.
    env: { SVC_DRAIN_TIMEOUT_S: "1", SVC_LINK_GRACE_S: "60" },
    dialPort: async (hub_port) => {
      proxy = await startCuttableProxy(hub_port);
      return proxy.port;
    },
  });
  await fleet.lanesWarm(120_000);
}, 180_000);

afterAll(async () => {
  expect(await fleet?.stop()).toEqual([]);
  await proxy?.close();
  await site?.stop(true);
}, 180_000);

/** The network between worker and hub, its uploads included, is away for so long. */
async function cutFor(ms: number): Promise<void> {
  proxy.cut();
  await Bun.sleep(ms);
  proxy.mend();
}

async function call(method: string, path: string, body?: object) {
  const answer = await fetch(fleet.url + path, {
    method,
    signal: AbortSignal.timeout(90_000),
    ...(body && {
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? null : JSON.parse(text), text };
}

/** The first bytes a viewer is sent. */
function greeting(sid: string): Promise<string> {
  const url = `${fleet.url.replace("http", "ws")}/sessions/${sid}/novnc/websockify`;
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, ["binary"]);
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => {
      resolve(new TextDecoder().decode(data as ArrayBuffer));
      socket.close();
    };
    socket.onclose = ({ code, reason }) => reject(new Error(`closed ${code} ${reason}`));
  });
}

for (const cut_ms of [700, 5_000])
  test(`a link cut for ${cut_ms / 1_000} s costs a job nothing: every body is stored, and its log tells of the cut`, async () => {
    for (let run = 0; run < CUTS; run += 1) {
      const cut = Promise.withResolvers<void>();
      onPart = (n) => {
        // Later in each run: during the page, its uploads, and its end.
        if (n === 3 + ((run * 5) % PARTS)) cutFor(cut_ms).then(cut.resolve, cut.reject);
      };
      const { job_id } = await fleet.submit(`http://127.0.0.1:${site.port}/`, { idle_seconds: 3 });
      await cut.promise;
      const ended = await fleet.finished(job_id);
      expect(ended).toMatchObject({ status: "completed", error: null });
      expect(ended.capture).toMatchObject({ seen: PARTS + 1, captured: PARTS + 1, lost: 0 });
      const log = await (await fetch(`${fleet.url}/jobs/${job_id}/log.txt`)).text();
      expect(log).toMatch(/the link to worker \S+ was cut[\s\S]*is back on its link/);
    }
  }, 300_000);

test("a session goes on where it was after a cut of 5 s, and a call in between waits for it", async () => {
  const { session_id: sid } = (await call("POST", "/sessions", {})).body;
  const evaluate = (code: string) =>
    call("POST", `/sessions/${sid}/evaluate`, { code, timeout_s: 60 });
  expect((await evaluate("window.kept = 41")).status).toBe(200);
  expect(await greeting(sid)).toStartWith("RFB 003");
  const cut = cutFor(5_000);
  const during = await evaluate("window.kept + 1");
  expect(during).toMatchObject({ status: 200, body: { result: 42 } });
  await cut;
  expect(await greeting(sid)).toStartWith("RFB 003");
  expect((await evaluate("window.kept")).body.result).toBe(41);
  expect((await call("DELETE", `/sessions/${sid}`)).status).toBeLessThan(300);
  await fleet.lanesWarm(60_000);
}, 180_000);
