import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect, createServer, type Server, type Socket } from "node:net";
import { openPostgres } from "#hub/db/postgres.ts";
import { silentLog } from "#shared/log.ts";
import { startPostgres, type TestPostgres } from "#test/support/postgres.ts";

/** Connections of the queue whose other end goes away without a word (pipeline spec §1: nothing may stand still for it). */

const DEADLINE_MS = 500;

let server: TestPostgres;
let proxy: Server;
const open = new Set<Socket>();
/** What is open now is heard and answered no more; new connections are. */
const silence = () => {
  for (const socket of open) socket.unpipe().pause();
  open.clear();
};
beforeAll(async () => {
  server = await startPostgres();
  const { port } = new URL(server.url);
  proxy = createServer((near) => {
    const far = connect(Number(port), "127.0.0.1");
    for (const socket of [near, far]) open.add(socket.on("error", () => {}));
    near.pipe(far);
    far.pipe(near);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
}, 60_000);
afterAll(async () => {
  proxy.close();
  await server.stop();
}, 30_000);

test("connections that went silent are given up with their calls, and the queue goes on by new ones", async () => {
  const url = new URL(await server.createDatabase());
  url.port = String((proxy.address() as { port: number }).port);
  const conn = await openPostgres(url.href, { log: silentLog, call_deadline_ms: DEADLINE_MS });
  const store = conn.openQueue({ node: "n", now: Date.now, random: Math.random });
  const claim = { op: "claim", worker: "i", worker_id: "w", workload_id: 1, max: 1 } as const;
  const limits = { lease_ms: 1_000, timeout_ms: null, max_in_flight: null, rate_limit: null };
  const NOTHING = { tasks: [], limit: null };
  const flush = () => store.flush([{ ...claim, ...limits }]);
  try {
    expect(await Promise.all([flush(), flush()])).toEqual([[NOTHING], [NOTHING]]);
    silence();
    const failed = await Promise.allSettled([flush(), flush()]);
    expect(failed.map((one) => one.status === "rejected" && one.reason.name)).toEqual([
      "DeadlineError",
      "DeadlineError",
    ]);
    expect(await Promise.all([flush(), flush()])).toEqual([[NOTHING], [NOTHING]]);
    expect(await store.now()).toBeGreaterThan(0);
  } finally {
    await conn.close();
  }
}, 30_000);
