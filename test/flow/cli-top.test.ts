import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { type CliOptions, type Ran, runCli } from "#test/support/rigs/cli.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

/** What `flotilla top` draws of a served hub, whose worker has no browser. */

let hub: TestHub;
let worker: FakeWorker;
beforeAll(async () => {
  hub = await startTestHub();
  worker = await hub.worker({ lanes: 2 });
});
afterAll(() => hub.close());
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

const run = (line: string[], options?: CliOptions): Promise<Ran> => runCli(hub.url, line, options);

describe("flotilla top (rules/clients#top)", () => {
  test("prints lanes, what runs and queues once where there is no terminal", async () => {
    const { body: made } = await hub.call("POST", "/jobs", { url: TARGET });
    const job = await worker.assigned.next(({ job_id }) => job_id === made.job_id);
    cleanups.push(async () => worker.finish(job));
    worker.heartbeat();
    await worker.settle();
    const body = { slug: "drawn", executor_type: "command", executor_config: { argv: ["true"] } };
    await hub.call("POST", "/api/v1/workloads", body);
    await hub.call("POST", "/api/v1/workloads/drawn/tasks/batch", { items: [{ pk: "a" }] });
    const { code, out } = await run(["top"]);
    expect(code).toBe(0);
    expect(out).toStartWith(`flotilla top  ${hub.url}  `);
    expect(out).toMatch(/^lanes {5}1 of 2 busy, 1 free; nothing queued$/m);
    expect(out).toMatch(new RegExp(`^w11/\\d +job.* +${job.job_id} +\\d+ s +${TARGET}$`, "m"));
    expect(out).toMatch(/^w11 +active +(#\.|\.#) +\d/m);
    expect(out).toMatch(/^tasks {5}1 pending, 0 claimed, 0 failed/m);
    expect(out).toMatch(/^drawn +1 +0 +0 +\d+ s +0$/m);
    expect(out).not.toContain("\u001b");
    const now = await run(["top", "--output", "json"]);
    expect(JSON.parse(now.out)).toMatchObject({ fleet: { figures: { lanes: { busy: 1 } } } });
  });

  test("is live on a terminal: it draws anew, ends with q, and gives the screen back", async () => {
    let press: (key: string) => void = () => {};
    let let_go = 0;
    const frames = (text: string) => text.split("\u001b[H").length - 1;
    const seen = await run(["top", "--every", "1"], {
      terminal: {
        width: 60,
        height: 6,
        onKey: (listen) => {
          press = listen;
          return () => {
            let_go += 1;
          };
        },
      },
      // Two keys at once, behind an arrow.
      watch: ({ out }) => void (frames(out) === 2 && press("\u001b[Aqq")),
    });
    expect(seen.code).toBe(0);
    expect(let_go).toBe(1);
    expect(seen.out).toStartWith("\u001b[?1049h");
    expect(seen.out).toEndWith("\u001b[?25h\u001b[?1049l");
    const [, frame = ""] = seen.out.split("\u001b[H");
    const lines = Bun.stripANSI(frame).split("\r\n");
    expect(lines).toHaveLength(6);
    for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(60);
    expect(lines.at(-1)).toMatch(/^… \d+ more lines/);
  });

  test("shows what it knew last, and why, while the hub refuses, and goes on afterwards", async () => {
    let refuses = false;
    const router = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ url }) => {
        if (refuses) return Response.json({ detail: "too many calls" }, { status: 429 });
        const { pathname, search } = new URL(url);
        return fetch(hub.url + pathname + search);
      },
    });
    cleanups.push(() => router.stop(true));
    const notes = (text: string) => text.split("nothing new since").length - 1;
    const seen = await runCli(router.url.href, ["top", "--every", "1"], {
      terminal: { width: 100, height: 30 },
      watch: ({ out }, interrupt) => {
        const frames = out.split("\u001b[H");
        refuses = notes(out) === 0;
        if (notes(out) > 0 && notes(frames.at(-1) ?? "") === 0) interrupt();
      },
    });
    expect(seen.code).toBe(130);
    expect(seen.out).toMatch(/! {2}nothing new since \d.*: too many calls/);
    expect(seen.err).toBe("");
  });

  test("of what is no hub it says so instead of drawing nothing", async () => {
    const other = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response("", { status: 404 }),
    });
    cleanups.push(() => other.stop(true));
    const { code, out, err } = await runCli(other.url.href, ["top"]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toStartWith("flotilla: neither a hub nor a control plane answers at http://");
  });

  test("a terminal without keys ends it by Ctrl-C, and --once prints it there too", async () => {
    const terminal = { width: 100, height: 40, colours: true };
    const seen = await run(["top"], { terminal, watch: (_, interrupt) => interrupt() });
    expect(seen.code).toBe(130);
    const once = await run(["top", "--once"], { terminal });
    expect(once.out).not.toContain("\u001b[?1049h");
    expect(once.out).toContain("\u001b[1m");
  });
});
