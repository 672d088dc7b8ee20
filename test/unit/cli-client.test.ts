import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { UsageError } from "#hub/program/cli/exit.ts";
import type { Terminal } from "#hub/program/cli/print.ts";
import { runClientCommand } from "#hub/program/cli/run-command.ts";

/** A hub that answers what a test tells it to; the client commands talk to it over real sockets. */
interface Script {
  submit: () => Response;
  job: Record<string, unknown>;
  /** What the event stream sends before it closes. */
  events: Record<string, unknown>[];
  assets: Record<string, unknown>[];
  files: Record<string, string>;
  /** Called when somebody opens the event stream. */
  opened: () => void;
}

const requests: { method: string; path: string; body: string; token: string | null }[] = [];
let script: Script;
let server: ReturnType<typeof Bun.serve>;
let dir: string;

const sha = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest("hex");
const done = (status: string) => ({
  job_id: "j1",
  status,
  error: status === "failed" ? "page crashed" : null,
  duration_ms: 1234,
  http_status: 200,
  asset_bytes: 3,
  capture: { seen: 1, captured: 1, partial: 0, lost: 0, skipped: 0, ratio: 1, reasons: {} },
});
const item = (name: string, body: string) => ({
  name,
  kind: "image",
  size: body.length,
  source_url: `http://a.test/${name}`,
  sha256: sha(body),
  partial: false,
});

beforeAll(() => {
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request, self) => {
      const { pathname, search } = new URL(request.url);
      if (pathname.endsWith("/events")) {
        script.opened();
        return self.upgrade(request, { data: { since: Number(search.split("=")[1]) } })
          ? undefined
          : new Response("no", { status: 400 });
      }
      requests.push({
        method: request.method,
        path: pathname + search,
        body: await request.text(),
        token: request.headers.get("authorization"),
      });
      if (request.method === "POST" && pathname === "/jobs") return script.submit();
      if (pathname === "/jobs/import")
        return Response.json({ ...done("completed"), url: "http://a.test/" });
      if (pathname.endsWith("/cancel")) return Response.json(done("cancelled"));
      if (pathname === "/jobs/j1") return Response.json(script.job);
      if (pathname === "/jobs/j1/assets.json") return Response.json({ items: script.assets });
      if (pathname === "/jobs") return Response.json({ jobs: [], next_cursor: null });
      const file = script.files[decodeURIComponent(pathname).replace("/jobs/j1/", "")];
      return file === undefined ? new Response("no", { status: 404 }) : new Response(file);
    },
    websocket: {
      message: () => {},
      open: (socket) => {
        const { since } = socket.data as { since: number };
        for (const event of script.events)
          if (Number(event.seq) > since) socket.send(JSON.stringify(event));
        socket.close(1000);
      },
    },
  });
});
afterAll(() => server.stop(true));
beforeEach(() => {
  requests.length = 0;
  dir = mkdtempSync(join(tmpdir(), "flotilla-cli-"));
  script = {
    submit: () => Response.json({ job_id: "j1", status: "running" }),
    job: done("completed"),
    events: [
      { seq: 1, type: "log", data: { level: "info", stage: "page", message: "opened" } },
      { seq: 2, type: "done", data: done("completed") },
    ],
    assets: [item("a.png", "abc")],
    files: { "page.html": "<p>", "log.txt": "log", "links.json": "{}", "assets/a.png": "abc" },
    opened: () => {},
  };
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function run(
  command: "fetch" | "jobs" | "cancel" | "import",
  words: string[],
  flags: Record<string, string[]> = {},
  env: Record<string, string> = {},
  signal = new AbortController().signal,
) {
  const seen = { out: "", err: "" };
  const terminal: Terminal = {
    out: (text) => {
      seen.out += text;
    },
    err: (text) => {
      seen.err += text;
    },
    width: null,
    live: false,
    liveWidth: 80,
  };
  const all = { SVC_HUB: server.url.href, ...env };
  const code = await runClientCommand(command, words, flags, all, terminal, signal);
  return { code, ...seen };
}

describe("flotilla fetch", () => {
  test("exits 0 when the job completed, and lists name, kind, size, url and the capture ratio", async () => {
    const { code, out, err } = await run("fetch", ["http://a.test/"]);
    expect(code).toBe(0);
    expect(out).toMatch(/a\.png +image +3 B +http:\/\/a\.test\/a\.png/);
    expect(out).toContain("captured 1 of 1 bodies (100 %)");
    expect(err).toContain("opened");
  });

  test("sends --option and --headless as job options", async () => {
    await run("fetch", ["http://a.test/"], { option: ["idle_seconds=1"], headless: ["1"] });
    expect(JSON.parse(requests[0]?.body ?? "")).toEqual({
      url: "http://a.test/",
      options: { idle_seconds: 1, headless: true },
    });
  });

  for (const status of ["failed", "cancelled"])
    test(`exits 1 when the job ${status}`, async () => {
      script.job = done(status);
      const { code, out } = await run("fetch", ["http://a.test/"]);
      expect(code).toBe(1);
      expect(out).toContain(`job j1 ${status}`);
    });

  test("a refused option is a usage error that names the field", async () => {
    script.submit = () =>
      Response.json(
        { detail: [{ loc: ["body", "options", "scroll"], msg: "must be boolean", type: "x" }] },
        { status: 422 },
      );
    await expect(run("fetch", ["http://a.test/"])).rejects.toThrow(
      new UsageError("options.scroll: must be boolean"),
    );
  });

  test("exits 3 when the hub is unreachable", async () => {
    const { code, err } = await run(
      "fetch",
      ["http://a.test/"],
      {},
      { SVC_HUB: "http://127.0.0.1:1" },
    );
    expect(code).toBe(3);
    expect(err).toContain("not reachable");
  });

  test("waits for the queued job of a 503 and says so", async () => {
    script.submit = () =>
      Response.json({ detail: "fleet at capacity", job_id: "j1" }, { status: 503 });
    const { code, err } = await run("fetch", ["http://a.test/"]);
    expect(code).toBe(0);
    expect(err).toContain("fleet at capacity: job j1 is queued");
  });

  test("a stream that breaks is taken up again after the last event seen", async () => {
    script.job = done("running");
    script.events = [
      { seq: 1, type: "log", data: { level: "info", stage: "page", message: "one" } },
    ];
    let opened = 0;
    script.opened = () => {
      opened += 1;
      if (opened < 2) return;
      script.job = done("completed");
      script.events.push({
        seq: 2,
        type: "log",
        data: { level: "info", stage: "page", message: "two" },
      });
    };
    const { code, err } = await run("fetch", ["http://a.test/"]);
    expect(code).toBe(0);
    expect(err.match(/one/g)).toHaveLength(1);
    expect(err.match(/two/g)).toHaveLength(1);
  });

  test("the first Ctrl-C cancels the job and exits 130", async () => {
    script.job = done("running");
    const interrupt = new AbortController();
    script.opened = () => interrupt.abort();
    const { code, err } = await run("fetch", ["http://a.test/"], {}, {}, interrupt.signal);
    expect(code).toBe(130);
    expect(err).toContain("job j1 cancelled");
    expect(requests.at(-1)).toMatchObject({ method: "POST", path: "/jobs/j1/cancel" });
  });

  test("--json prints the job, its assets and the files as one document", async () => {
    const { out } = await run("fetch", ["http://a.test/"], { json: ["1"], out: [dir] });
    const printed = JSON.parse(out);
    expect(printed.job.job_id).toBe("j1");
    expect(printed.assets).toHaveLength(1);
    expect(printed.saved.files).toContain("assets/a.png");
  });

  test("a URL that is not http is refused before the hub is asked", async () => {
    await expect(run("fetch", ["file:///etc/passwd"])).rejects.toThrow("not an http or https URL");
    expect(requests).toEqual([]);
  });

  test("SVC_API_TOKEN goes along as a bearer, and --hub wins over SVC_HUB", async () => {
    await run(
      "jobs",
      [],
      { hub: [server.url.href] },
      { SVC_HUB: "http://127.0.0.1:1", SVC_API_TOKEN: "t" },
    );
    expect(requests[0]?.token).toBe("Bearer t");
  });
});

describe("flotilla fetch -o", () => {
  const files = (where = dir) => readdirSync(where, { recursive: true }).map(String).sort();

  test("writes page.html, log.txt, links.json and assets/", async () => {
    const { code } = await run("fetch", ["http://a.test/"], { out: [dir] });
    expect(code).toBe(0);
    expect(files()).toEqual(["assets", "assets/a.png", "links.json", "log.txt", "page.html"]);
    expect(readFileSync(join(dir, "assets/a.png"), "utf8")).toBe("abc");
  });

  test("a document that the job does not have is no mistake", async () => {
    script.files = { "log.txt": "log", "assets/a.png": "abc" };
    expect((await run("fetch", ["http://a.test/"], { out: [dir] })).code).toBe(0);
    expect(files()).toEqual(["assets", "assets/a.png", "log.txt"]);
  });

  test("a body whose checksum differs is reported, exits 1 and leaves nothing behind", async () => {
    script.files["assets/a.png"] = "abd";
    const { code, err } = await run("fetch", ["http://a.test/"], { out: [dir] });
    expect(code).toBe(1);
    expect(err).toContain("assets/a.png: checksum differs");
    expect(files()).not.toContain("assets/a.png");
    expect(files(join(dir, "assets"))).toEqual([]);
  });

  test("a name that leaves the directory is refused", async () => {
    const outside = join(dir, "out");
    for (const name of ["../../evil", "..", "a/b", "/etc/x", "a\u0000b"]) {
      script.assets = [item(name, "abc")];
      script.files[`assets/${name}`] = "abc";
      const { code, err } = await run("fetch", ["http://a.test/"], { out: [outside] });
      expect(code).toBe(1);
      expect(err).toContain("is not a safe file name");
    }
    expect(files()).toEqual([
      "out",
      "out/assets",
      "out/links.json",
      "out/log.txt",
      "out/page.html",
    ]);
  });

  test("an assets directory that is a link is refused, a file that is a link is replaced", async () => {
    const elsewhere = join(dir, "elsewhere");
    const out = join(dir, "out");
    mkdirSync(elsewhere);
    mkdirSync(out);
    symlinkSync(elsewhere, join(out, "assets"));
    expect((await run("fetch", ["http://a.test/"], { out: [out] })).code).toBe(1);
    rmSync(join(out, "assets"));
    symlinkSync(join(elsewhere, "victim"), join(out, "page.html"));
    expect((await run("fetch", ["http://a.test/"], { out: [out] })).code).toBe(0);
    expect(existsSync(join(elsewhere, "victim"))).toBe(false);
    expect(readFileSync(join(out, "page.html"), "utf8")).toBe("<p>");
  });
});

test("flotilla cancel asks the hub and exits 0", async () => {
  const { code, out } = await run("cancel", ["j1"]);
  expect({ code, out }).toEqual({ code: 0, out: "job j1 cancelled\n" });
});

test("flotilla import sends the file and says what became of it", async () => {
  const path = join(dir, "old.warc");
  await Bun.write(path, "WARC/1.1");
  const { code, out } = await run("import", [path]);
  expect(code).toBe(0);
  expect(requests).toMatchObject([{ method: "POST", path: "/jobs/import", body: "WARC/1.1" }]);
  expect(out).toContain("job j1 imported:");
  expect(out).toContain("captured 1 of 1 bodies (100 %)");
  await expect(run("import", [join(dir, "nothing")])).rejects.toThrow(UsageError);
});
