import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CliOptions, type Ran, runCli } from "#test/support/rigs/cli.ts";
import { startFleet } from "#test/support/rigs/fleet-process.ts";
import { type SiteServer, startServer } from "#test/support/servers/site/server.ts";

/** Commands that need a page: a hub and a worker as processes, with a real Chromium. */

const SLOW_MS = 180_000;

let fleet: Awaited<ReturnType<typeof startFleet>>;
let site: SiteServer;
let dir: string;
beforeAll(async () => {
  [fleet, site, dir] = await Promise.all([
    startFleet({ lanes: 1, headless: true }),
    startServer("127.0.0.1"),
    mkdtemp(join(tmpdir(), "flotilla-shots-")),
  ]);
  await fleet.lanesWarm(60_000);
  site.on("/tall", (_req, res) => {
    res.writeHead(200, { "content-type": "text/html" });
    res.end(`<title>Tall</title><style>body { margin: 0; background: rgb(0, 128, 0) }</style>
      <div style="height: 3000px"></div><p id="foot" style="width: 120px; height: 40px">End</p>
      <script>console.error("from the page")</script>`);
  });
}, SLOW_MS);
afterAll(async () => {
  await fleet.stop();
  await site.stop();
  await rm(dir, { recursive: true, force: true });
}, SLOW_MS);

const run = (line: string[], options?: CliOptions): Promise<Ran> =>
  runCli(fleet.url, line, options);
const json = async (line: string[]) => JSON.parse((await run([...line, "--output", "json"])).out);
const openSessions = async (): Promise<number> => (await json(["sessions"])).sessions.length;

async function bytesOf(name: string): Promise<Buffer> {
  return Buffer.from(await Bun.file(join(dir, name)).arrayBuffer());
}
/** From the header of the file. */
async function sizeOfPng(name: string): Promise<[number, number]> {
  const bytes = await bytesOf(name);
  expect(bytes.subarray(1, 4).toString("latin1")).toBe("PNG");
  return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
}

describe("flotilla screenshot (rules/clients#pictures-by-command)", () => {
  test(
    "saves the window, the whole page and one element, in the size that was asked for",
    async () => {
      const url = `${site.origin}/tall`;
      const shot = async (name: string, ...more: string[]) => {
        const line = ["screenshot", url, "-o", join(dir, name), "--viewport", "800x600", ...more];
        expect(await run(line)).toMatchObject({ code: 0, out: expect.stringContaining(name) });
      };
      await shot("window.png");
      expect(await sizeOfPng("window.png")).toEqual([800, 600]);
      await shot("whole.png", "--full-page");
      const [width, height] = await sizeOfPng("whole.png");
      // Beside its scrollbar, where it shows one.
      expect(width).toBeGreaterThan(770);
      expect(height).toBeGreaterThan(3_000);
      await shot("foot.png", "--selector", "#foot");
      expect(await sizeOfPng("foot.png")).toEqual([120, 40]);
      await shot("page.jpeg", "--format", "jpeg", "--quality", "50", "--wait", "1");
      expect((await bytesOf("page.jpeg")).subarray(0, 3).toString("hex")).toBe("ffd8ff");
      expect(await openSessions()).toBe(0);
    },
    SLOW_MS,
  );

  test(
    "of an open session and of a job, which stay as they are",
    async () => {
      const { session_id: sid } = await json(["sessions", "open", `${site.origin}/tall`]);
      expect(await run(["screenshot", sid, "-o", join(dir, "sid.png")])).toMatchObject({ code: 0 });
      expect((await sizeOfPng("sid.png"))[0]).toBeGreaterThan(100);
      expect(await openSessions()).toBe(1);

      const pdf = await json(["pdf", sid, "-o", join(dir, "sid.pdf")]);
      expect(pdf).toMatchObject({ file: join(dir, "sid.pdf") });
      expect((await bytesOf("sid.pdf")).subarray(0, 5).toString()).toBe("%PDF-");

      await run(["sessions", "close", sid]);

      const { job } = await json(["fetch", `${site.origin}/tall`, "--option", "idle_seconds=0.5"]);
      const of_job = await run(["screenshot", job.job_id, "-o", join(dir, "job.png")]);
      expect(of_job).toMatchObject({ code: 0 });
      expect((await sizeOfPng("job.png"))[1]).toBeGreaterThan(3_000);
      expect((await run(["pdf", job.job_id])).err).toContain("try: flotilla pdf URL");
    },
    SLOW_MS,
  );

  test(
    "leaves neither a session nor half a file when the page or the element is not there",
    async () => {
      const before = await readdir(dir);
      const to = ["-o", join(dir, "none.png")];
      const refused = await run(["screenshot", "http://127.0.0.1:9/", ...to]);
      expect(refused).toMatchObject({ code: 2, out: "" });
      const missing = await run(["screenshot", `${site.origin}/tall`, "--selector", "#no", ...to]);
      expect(missing).toMatchObject({ code: 2, out: "" });
      expect((await run(["screenshot", "127.0.0.1:9", ...to])).err).toContain("did you mean");
      expect((await run(["screenshot", "12345", ...to])).err).toContain("is a run");
      expect(await openSessions()).toBe(0);
      expect(await readdir(dir)).toEqual(before);
    },
    SLOW_MS,
  );

  test(
    "Ctrl-C while the page gets its time closes the session",
    async () => {
      const line = ["screenshot", `${site.origin}/tall`, "--wait", "60", "-o", join(dir, "x.png")];
      const waiting = new AbortController();
      const ran = run(line, {
        watch: (_, interrupt) => waiting.signal.addEventListener("abort", interrupt),
      });
      for (;;) if ((await openSessions()) === 1) break;
      waiting.abort();
      expect((await ran).code).toBe(130);
      expect(await openSessions()).toBe(0);
      expect(await Bun.file(join(dir, "x.png")).exists()).toBe(false);
    },
    SLOW_MS,
  );
});

test(
  "flotilla pdf prints a page, wide as asked (rules/clients#pictures-by-command)",
  async () => {
    const line = ["pdf", `${site.origin}/tall`, "--landscape", "--paper", "A5"];
    const { code, out } = await run([...line, "-o", join(dir, "page.pdf")]);
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining("page.pdf (") });
    const text = (await bytesOf("page.pdf")).toString("latin1");
    expect(text).toStartWith("%PDF-");
    const [, width = 0, height = 0] = /\/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]/.exec(text) ?? [];
    expect(Number(width)).toBeGreaterThan(Number(height));
    expect(await openSessions()).toBe(0);
  },
  SLOW_MS,
);

test(
  "flotilla logs SESSION -f tells what happens while it happens, and ends with the session (rules/clients#logs-by-command)",
  async () => {
    const { session_id: sid } = await json(["sessions", "open"]);
    let gone = false;
    let closed = false;
    const act = (action: string, body: unknown) =>
      fetch(`${fleet.url}/sessions/${sid}/${action}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const followed = await run(["logs", sid, "-f"], {
      watch: ({ out }) => {
        if (!gone) void act("navigate", { url: `${site.origin}/tall` });
        gone = true;
        if (!closed && out.includes("from the page")) {
          closed = true;
          void run(["sessions", "close", sid]);
        }
      },
    });
    expect(followed.code).toBe(0);
    expect(followed.out).toMatch(/navigation .*\/tall/);
    expect(followed.out).toMatch(/ERROR console +from the page/);
    const lines = followed.out.trim().split("\n");
    expect(lines.filter((line) => line.includes("from the page"))).toHaveLength(1);
    // The whole of it afterwards is what was followed.
    expect((await run(["logs", sid])).out.trim().split("\n")).toEqual(lines);
  },
  SLOW_MS,
);

test(
  "flotilla bench measures real browsers at the demo page that it serves itself (rules/clients#bench)",
  async () => {
    const { measured } = await json(["bench", "--jobs", "2", "--sessions", "2", "--claims", "50"]);
    const row = (what: string) => measured.find((one: { what: string }) => one.what === what);
    expect(row("job, submitted to ended")).toMatchObject({ count: 2, failed: 0, error: null });
    expect(row("session, opened at a page")).toMatchObject({ count: 2, failed: 0 });
    expect(row("  one action").median_ms).toBeGreaterThan(0);
    expect(row("job, submitted to ended").median_ms).toBeGreaterThan(row("  running").median_ms);
    expect(await openSessions()).toBe(0);
    expect((await json(["jobs", "--label", "made_by:flotilla-bench"])).jobs).toEqual([]);
  },
  SLOW_MS,
);
