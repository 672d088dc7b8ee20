import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { LinkList } from "#shared/protocol/schema/asset.ts";
import { type JobLane, openJobLane } from "#test/support/rigs/lane-jobs.ts";
import { seededBytes, sha256 } from "#test/support/servers/site/bytes.ts";
import { startServer } from "#test/support/servers/site/server.ts";
import { startTroubleSite, type TroubleSite } from "#test/support/servers/site/trouble.ts";

/** `LARGE_BODY_MB=1024` in the long form of the suite. */
const LARGE_MB = Number(Bun.env.LARGE_BODY_MB ?? 280);
/** `LARGE_RUNS=50` in the long form: a part of a body that is lost once in a while is not lost in one run. */
const LARGE_RUNS = Number(Bun.env.LARGE_RUNS ?? 1);
const SLOW_MS = 180_000;

let site: TroubleSite;
let lane: JobLane;
beforeAll(async () => {
  [site, lane] = await Promise.all([startTroubleSite(), openJobLane()]);
}, SLOW_MS);
afterAll(async () => {
  await lane.close();
  await site.stop();
});

describe("JobOptions of a fetch (rules/job-options#the-options)", () => {
  test(
    "referer is sent whole",
    async () => {
      const referer = "https://example.com/from?x=1";
      const { documents } = await lane.run({ url: `${site.origin}/referer`, options: { referer } });
      expect(documents.get("page.html")).toContain(`<p>${referer}</p>`);
    },
    SLOW_MS,
  );

  test(
    "wait_seconds: a page that never finishes loading is no error",
    async () => {
      const { outcome, log } = await lane.run({
        url: `${site.origin}/waits`,
        options: { wait_seconds: 5, max_wait_seconds: 6, settle_seconds: 0.1 },
      });
      expect(outcome).toMatchObject({ status: "completed", title: "Trouble" });
      expect(log.join("\n")).toContain("settling for 0.1 s");
      expect(log.join("\n")).toContain("max_wait_seconds (6 s) are over with 1 requests open");
    },
    SLOW_MS,
  );

  test(
    "scroll: lazy pictures below the fold are loaded, and scroll_max ends it",
    async () => {
      // One step to the end of the page: steps of a busy machine are further apart than what is too early here.
      const options = {
        scroll: true,
        scroll_step: 6_000,
        scroll_max: 9_000,
        scroll_early_after: 1,
      };
      const down = await lane.run({ url: `${site.origin}/scroll`, options });
      expect(down.assets.some((a) => a.sha256 === site.image.sha256)).toBe(true);
      expect(down.log.join("\n")).toContain("nothing new appeared");
      const short = await lane.run({
        url: `${site.origin}/scroll`,
        options: { ...options, scroll_step: 500, scroll_max: 1_000, scroll_early_after: 60 },
      });
      expect(short.log.join("\n")).toContain("scrolled 1000 px: scroll_max reached");
    },
    SLOW_MS,
  );

  test(
    "min_asset_size_bytes drops smaller bodies and counts them as skipped",
    async () => {
      const { assets, outcome } = await lane.run({
        url: `${site.origin}/sized`,
        options: { min_asset_size_bytes: 1_000 },
      });
      expect(assets.map((a) => a.source_url)).toEqual([`${site.origin}/image.bmp`]);
      expect(outcome.capture).toMatchObject({ captured: 1, lost: 0, skipped: 2 });
    },
    SLOW_MS,
  );

  test(
    "capture_assets false stores no body, but the page and its links",
    async () => {
      const { assets, documents, outcome } = await lane.run({
        url: `${site.origin}/plain`,
        options: { capture_assets: false },
      });
      expect(assets).toEqual([]);
      expect([...documents.keys()]).toEqual(["page.html", "links.json", "har.json"]);
      expect(outcome.capture).toMatchObject({ seen: 0, captured: 0, ratio: 1 });
    },
    SLOW_MS,
  );
});

describe("what is stored (rules/capture#what-is-captured)", () => {
  test(
    "links.json has every distinct link of all frames, resolved",
    async () => {
      const { documents } = await lane.run({ url: `${site.origin}/svg-links` });
      const { links } = LinkList.parse(JSON.parse(documents.get("links.json") ?? ""));
      expect(links).toEqual([
        link("/base/rel?x#y", "Rel"),
        link("/svg", "Svg"),
        { ...link("/inner", "Inner"), page_url: "about:srcdoc" },
      ]);
      function link(path: string, text: string) {
        return { url: site.origin + path, text, rel: "", page_url: `${site.origin}/svg-links` };
      }
    },
    SLOW_MS,
  );

  test(
    "popups are captured",
    async () => {
      const { assets } = await lane.run({ url: `${site.origin}/popups` });
      expect(assets.map((a) => a.source_url)).toEqual(
        expect.arrayContaining([
          `${site.origin}/plain`,
          `${site.origin}/image.bmp`,
          `${site.origin}/asks`,
        ]),
      );
    },
    SLOW_MS,
  );

  test(
    "without durable messages the renderer's buffers are read, and the report says so",
    async () => {
      const { assets, outcome } = await lane.run({
        url: `${site.origin}/many`,
        adapt: (browser) => ({ ...browser, capture: "buffered" }),
      });
      expect(outcome.capture).toMatchObject({ lost: 0, partial: 0, method: "buffered" });
      expect(assets.filter((a) => a.source_url.includes("/block-"))).toHaveLength(12);
    },
    SLOW_MS,
  );

  test(
    "a range of a file is a partial asset with its ranges",
    async () => {
      const { assets, outcome } = await lane.run({ url: `${site.origin}/half-ranged` });
      const part = assets.find((a) => a.source_url.endsWith("/ranged.bin"));
      expect(part).toMatchObject({
        partial: true,
        size: 1_000,
        ranges: [{ start: 1_000, end: 1_999 }],
        sha256: sha256(seededBytes(3, 9_000).subarray(1_000, 2_000)),
      });
      expect(outcome.capture).toMatchObject({ partial: 1, reasons: { aborted: 1 } });
    },
    SLOW_MS,
  );

  test(
    "answers that have no body by nature are neither seen nor lost",
    async () => {
      const { assets, outcome } = await lane.run({ url: `${site.origin}/head-page` });
      expect(outcome).toMatchObject({ status: "completed", title: "done" });
      const paths = assets.map((a) => new URL(a.source_url).pathname).toSorted();
      expect(paths).toEqual(["/head-page"]);
      expect(outcome.capture).toMatchObject({ seen: 1, captured: 1, lost: 0 });
    },
    SLOW_MS,
  );
});

describe("the navigation guard (rules/capture#navigation-guard)", () => {
  const own = () => ({ own_ports: [site.server.port] });

  test(
    "refuses the lanes' own ports, whatever the address is called",
    async () => {
      for (const host of [
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "localhost",
        "a.localhost",
        "[::1]",
      ]) {
        const { outcome } = await lane.run({
          url: `http://${host}:${site.server.port}/plain`,
          refuses: own(),
        });
        expect(outcome.status).toBe("failed");
        expect(outcome.error).toContain("is a port of this worker's own lanes");
      }
      expect(
        site.server.hits.filter(({ headers }) => headers.host?.startsWith("a.localhost")),
      ).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "refuses link-local and metadata addresses always, loopback when it is blocked",
    async () => {
      const local = await lane.run({ url: "http://169.254.1.1/" });
      expect(local.outcome.error).toContain("169.254.1.1 is a link-local address");
      const cloud = await lane.run({ url: "http://[::ffff:169.254.169.254]/" });
      expect(cloud.outcome.error).toContain("is a cloud metadata address");
      const loopback = await lane.run({
        url: `${site.origin}/plain`,
        refuses: { navigation_block: ["loopback"] },
      });
      expect(loopback.outcome.error).toContain("127.0.0.1 is a loopback address");
    },
    SLOW_MS,
  );

  test(
    "lets no script of a page connect to a port of the lanes",
    async () => {
      const hits: string[] = [];
      const bridge = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch: (request) => {
          hits.push(request.url);
          return new Response("secret");
        },
      });
      const guarded = await openJobLane({ NOVNC_BASE_PORT: String(bridge.port) });
      try {
        const page = `<title>trying</title><script type=module>
          fetch("${site.server.openUntil("/tried")}").then((r) => r.text());
          const tries = ["127.0.0.1", "localhost", "a.localhost", "[::ffff:127.0.0.1]"].flatMap((host) => [
            fetch("http://" + host + ":${bridge.port}/f", { mode: "no-cors" }).then(() => "open", () => "shut"),
            new Promise((done) => {
              const socket = new WebSocket("ws://" + host + ":${bridge.port}/w");
              socket.onopen = socket.onmessage = () => done("open");
              socket.onclose = () => done("shut");
            }),
          ]);
          document.title = [...new Set(await Promise.all(tries))].join();
          await fetch("/tried");
        </script>`;
        site.server.body("/tries-ports", {
          mime: "text/html",
          bytes: new TextEncoder().encode(page),
        });
        const { outcome } = await guarded.run({ url: `${site.origin}/tries-ports` });
        expect(outcome).toMatchObject({ status: "completed", title: "shut" });
        expect(hits).toEqual([]);
      } finally {
        await guarded.close();
        await bridge.stop(true);
      }
    },
    SLOW_MS,
  );

  test(
    "ends the job when a redirect or a frame leads to a refused address, and drops other bodies",
    async () => {
      const other = await startServer("127.0.0.1");
      other.body("/secret", { mime: "text/html", bytes: seededBytes(1, 500) });
      try {
        const refuses = { own_ports: [other.port] };
        const to = encodeURIComponent(`${other.origin}/secret`);
        for (const path of [`/redirect?to=${to}`, `/embed?to=${to}`]) {
          const { outcome, assets } = await lane.run({ url: site.origin + path, refuses });
          expect(outcome.status).toBe("failed");
          expect(outcome.error).toContain(
            `127.0.0.1:${other.port} is a port of this worker's own lanes`,
          );
          expect(assets.filter((a) => a.source_url.startsWith(other.origin))).toEqual([]);
        }
        const { outcome, assets } = await lane.run({
          url: `${site.origin}/embed?as=img&to=${to}`,
          refuses,
        });
        expect(outcome.status).toBe("completed");
        expect(assets.filter((a) => a.source_url.startsWith(other.origin))).toEqual([]);
        expect(outcome.capture?.reasons).toEqual({ protected: 1 });
      } finally {
        await other.stop();
      }
    },
    SLOW_MS,
  );
});

describe("a body larger than any buffer", () => {
  let whole = "";
  beforeAll(() => {
    const hasher = new Bun.CryptoHasher("sha256");
    const block = seededBytes(7, 2 ** 20);
    for (let i = 0; i < LARGE_MB; i += 1) hasher.update(block);
    whole = hasher.digest("hex");
  });
  const runs = Array.from({ length: LARGE_RUNS }, (_, i) => i + 1);
  test.each(runs)(
    `of ${LARGE_MB} MB is kept whole as it streams by (run %d of ${LARGE_RUNS})`,
    async () => {
      const { outcome, assets, log } = await lane.run({
        url: `${site.origin}/large-page?mb=${LARGE_MB}`,
        options: { max_wait_seconds: 300 },
        verify: false,
      });
      const large = assets.find((a) => a.source_url.includes("/large?"));
      expect({ large, log }).toMatchObject({ large: { partial: false, size: LARGE_MB * 2 ** 20 } });
      expect(large?.sha256).toBe(whole);
      expect(outcome).toMatchObject({ status: "completed", title: "read" });
    },
    5 * SLOW_MS,
  );
});
