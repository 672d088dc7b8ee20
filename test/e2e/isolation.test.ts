import { afterAll, beforeAll, expect, test } from "bun:test";
import { type FleetProcesses, startFleet } from "#test/support/rigs/fleet-process.ts";

/** Bun ends the fleet with a test that is late, and with it every test after it. */
const SLOW_MS = 240_000;

/**
 * A page that leaves a mark in every store a browser has, and tells which marks of others it found. Its first request is
 * answered when it has told: while that runs the network is not silent, so that no job ends before, however slow the stores.
 */
const MARKING_PAGE = (mark: string) => `<!doctype html><title>${mark}</title>
<img src=/cached.png>
<script>fetch("/until-found?mark=${mark}");</script>
<script type=module>
  const found = {
    cookie: document.cookie,
    local: { ...localStorage },
    session: { ...sessionStorage },
    caches: await caches.keys(),
    databases: (await indexedDB.databases()).map((d) => d.name),
    workers: (await navigator.serviceWorker.getRegistrations()).length,
    name: window.name,
    history: history.length,
  };
  document.cookie = "mark=${mark}; max-age=86400";
  localStorage.mark = "${mark}";
  sessionStorage.mark = "${mark}";
  window.name = "${mark}";
  await (await caches.open("${mark}")).put("/kept", new Response("${mark}"));
  await new Promise((done) => { const r = indexedDB.open("${mark}"); r.onsuccess = r.onerror = done; });
  await navigator.serviceWorker.register("/sw.js");
  await fetch("/found?mark=${mark}", { method: "POST", body: JSON.stringify(found) });
</script>`;

interface Found {
  cookie: string;
  local: object;
  session: object;
  caches: string[];
  databases: string[];
  workers: number;
  name: string;
}

let fleet: FleetProcesses;
let site: ReturnType<typeof Bun.serve>;
const found = new Map<string, Found>();
const told = new Map<string, PromiseWithResolvers<void>>();
const requests: { mark: string; path: string; cookie: string | null; validator: string | null }[] =
  [];
let currentMark = "";

beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const url = new URL(request.url);
      if (url.pathname === "/") currentMark = url.searchParams.get("mark") ?? "";
      requests.push({
        mark: currentMark,
        path: url.pathname,
        cookie: request.headers.get("cookie"),
        validator: request.headers.get("if-none-match"),
      });
      if (url.pathname === "/")
        return new Response(MARKING_PAGE(currentMark), {
          headers: {
            "content-type": "text/html",
            "set-cookie": "server=1; Max-Age=86400; HttpOnly",
          },
        });
      if (url.pathname === "/found") {
        const mark = url.searchParams.get("mark") ?? "";
        found.set(mark, (await request.json()) as Found);
        told.get(mark)?.resolve();
        return new Response("ok");
      }
      if (url.pathname === "/until-found") {
        await told.get(url.searchParams.get("mark") ?? "")?.promise;
        return new Response("found");
      }
      if (url.pathname === "/sw.js")
        return new Response("self.addEventListener('fetch', () => {});", {
          headers: { "content-type": "text/javascript" },
        });
      return new Response("z".repeat(5_000), {
        headers: {
          "content-type": "image/png",
          "cache-control": "max-age=86400, immutable",
          etag: '"one"',
        },
      });
    },
  });
  fleet = await startFleet({ lanes: 1 });
  await fleet.lanesWarm(60_000);
}, 90_000);

afterAll(async () => {
  await fleet?.stop();
  await site?.stop(true);
});

async function visit(mark: string, headless: boolean): Promise<{ lane_idx: number | null }> {
  told.set(mark, Promise.withResolvers());
  const job = await fleet.submit(`${site.url}?mark=${mark}`, { idle_seconds: 0.5, headless });
  const end = await fleet.finished(job.job_id);
  expect({ status: end.status, error: end.error }).toEqual({ status: "completed", error: null });
  return end;
}

const NOTHING = { local: {}, session: {}, caches: [], databases: [], workers: 0, name: "" };

for (const [first, second] of [
  ["headful", "headful"],
  ["headless", "headless"],
  ["headful", "headless"],
  ["headless", "headful"],
] as const)
  test(
    `a ${second} job on the lane of a ${first} one finds no cookie, cache entry or storage item of it`,
    async () => {
      const marks = [`${first}-${second}-a`, `${first}-${second}-b`] as const;
      const one = await visit(marks[0], first === "headless");
      const two = await visit(marks[1], second === "headless");
      expect(two.lane_idx).toBe(one.lane_idx);
      for (const mark of marks) {
        expect(found.get(mark)).toMatchObject(NOTHING);
        expect(found.get(mark)?.cookie).toBe("");
        const own = requests.filter((r) => r.mark === mark);
        expect(own.find((r) => r.path === "/")?.cookie).toBeNull();
        // Asked anew and without a validator: the HTTP cache was empty too.
        expect(own.filter((r) => r.path === "/cached.png").map((r) => r.validator)).toEqual([null]);
      }
    },
    SLOW_MS,
  );
