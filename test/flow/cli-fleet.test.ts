import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { type CliOptions, type Ran, runCli } from "#test/support/rigs/cli.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

/** Commands about jobs and sessions against a served hub, whose worker has no browser. */

let hub: TestHub;
let worker: FakeWorker;
let dir: string;
beforeAll(async () => {
  hub = await startTestHub();
  worker = await hub.worker({ lanes: 2 });
  dir = await mkdtemp(join(tmpdir(), "flotilla-cli-fleet-"));
});
afterAll(async () => {
  await hub.close();
  await rm(dir, { recursive: true, force: true });
});
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

const run = (line: string[], options?: CliOptions): Promise<Ran> => runCli(hub.url, line, options);
const json = async (line: string[]) => JSON.parse((await run([...line, "--output", "json"])).out);

/** A job that runs on the fake worker. */
async function startJob() {
  const { body } = await hub.call("POST", "/jobs", { url: TARGET });
  return worker.assigned.next(({ job_id }) => job_id === body.job_id);
}
async function endedJob(more: Record<string, unknown> = {}): Promise<string> {
  const job = await startJob();
  worker.finish(job, more);
  await worker.settle();
  return job.job_id;
}

describe("flotilla sessions (rules/clients#sessions-by-command)", () => {
  test("opens one with options, lists, shows and closes it", async () => {
    const opened = await json([
      ...["sessions", "open", "http://site.test/a", "--headless", "--viewport", "800x600"],
      ...["--option", "idle_ttl_s=77"],
    ]);
    const sid = opened.session_id;
    expect(opened).toMatchObject({ headless: true, idle_ttl_s: 77, url: "http://site.test/a" });
    const asked = await worker.opening.next((one) => one.session_id === sid);
    expect(asked.viewport).toEqual({ width: 800, height: 600 });

    const { out } = await run(["sessions"]);
    expect(out).toMatch(/^SESSION +WORKER +LANE/);
    expect(out).toContain(sid);
    expect((await json(["sessions", "list"])).sessions).toHaveLength(1);
    const shown = await run(["sessions", "show", sid]);
    expect(shown.out).toMatch(/^where +w11, lane \d, headless$/m);
    expect(shown.out).toContain(`${hub.url}/sessions/${sid}/novnc/`);
    expect(shown.out).toContain(`${hub.url}/sessions/${sid}/cdp`);

    expect(await run(["sessions", "close", sid])).toEqual({
      code: 0,
      out: `session ${sid} closed\n`,
      err: "",
    });
    expect((await run(["sessions"])).out).toBe("no sessions are open\n");
    const ended = await run(["sessions", "list", "--ended", "--limit", "5"]);
    expect(ended.out).toMatch(new RegExp(`^${sid} +w11 .*it was deleted`, "m"));
    // It has no record any more, but is among those that have ended.
    const past = await run(["sessions", "show", sid]);
    expect(past.out).toMatch(/^state +ended$/m);
    expect(await json(["sessions", "show", sid])).toMatchObject({ state: "ended" });
  });

  test("closes what is there although another one is gone, and says so", async () => {
    const { session_id: sid } = await json(["sessions", "open"]);
    const closed = await run(["sessions", "close", "no-such-session-000000", sid]);
    expect(closed).toMatchObject({ code: 1, out: `session ${sid} closed\n` });
    expect(closed.err).toContain("try: flotilla sessions");
  });

  test("what does not go together is refused, and so is what the hub refuses", async () => {
    const rows: [string[], string][] = [
      [["sessions", "list", "--headless"], "--headless is not for sessions list"],
      [["sessions", "open", "--ended"], "--ended is not for sessions open"],
      [["sessions", "list", "--limit", "3"], "add --ended"],
      [["sessions", "close"], "sessions close needs ID…"],
      [["sessions", "show", "a", "b"], 'unexpected word "b"'],
      [["sessions", "kill", "a"], "sessions takes list, show, open, close"],
      [["sessions", "open", "--viewport", "big"], "is not WIDTHxHEIGHT"],
      [["sessions", "open", "--option", "idle_ttl_s=1"], "idle_ttl_s"],
      [["sessions", "open", "not-a-url"], "url"],
    ];
    for (const [line, says] of rows) {
      const { code, err } = await run(line);
      expect({ line, code }).toEqual({ line, code: 2 });
      expect(err).toContain(says);
    }
  });
});

describe("flotilla screenshot of a job (rules/clients#pictures-by-command)", () => {
  const PICTURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0xff]);

  test("that has ended is the stored file, in a file or as bytes alone", async () => {
    const job = await startJob();
    await worker.putDocument(job, "screenshot.png", PICTURE);
    worker.finish(job);
    await worker.settle();
    const file = join(dir, "job.png");
    const saved = await run(["screenshot", job.job_id, "-o", file]);
    expect(saved).toMatchObject({ code: 0, out: `${file} (10 B)\n` });
    expect(Buffer.from(await Bun.file(file).arrayBuffer())).toEqual(PICTURE);
    const piped = await run(["screenshot", job.job_id, "-o", "-"]);
    expect(piped).toMatchObject({ code: 0, out: PICTURE.toString("latin1") });

    const rows: [string[], string][] = [
      [["--format", "jpeg"], "--format is not for a completed job, whose picture is stored as PNG"],
      [["--selector", "h1"], "--selector is not for a completed job"],
      [["--wait", "3"], "--wait is not for a job, whose page is there already"],
      [["-o", "-", "--json"], "-o - is for a pipe"],
    ];
    for (const [flags, says] of rows) {
      const { code, out, err } = await run(["screenshot", job.job_id, ...flags]);
      expect({ flags, code, out }).toEqual({ flags, code: 2, out: "" });
      expect(err).toContain(says);
    }
    // Both lanes are taken, so the third waits.
    const held = [await startJob(), await startJob()];
    const at_once = { headers: { prefer: "respond-async" } };
    const { body: waiting } = await hub.call("POST", "/jobs", { url: TARGET }, at_once);
    const early = await run(["screenshot", waiting.job_id]);
    expect(early.code).toBe(2);
    expect(early.err).toContain(`try: flotilla logs ${waiting.job_id} -f`);
    await run(["cancel", waiting.job_id]);
    for (const one of held) worker.finish(one);
    await worker.settle();
    const to_terminal = { terminal: { width: 80 } };
    expect((await run(["screenshot", job.job_id, "-o", "-"], to_terminal)).code).toBe(2);
  });

  test("a session has no use for what a page is opened with", async () => {
    const { session_id: sid } = await json(["sessions", "open"]);
    cleanups.push(() => run(["sessions", "close", sid]));
    for (const flag of ["--viewport=1x1", "--headful", "--profile=a", "--wait=1"])
      expect((await run(["screenshot", sid, flag])).err).toContain(" is not for a session, whose");
    expect((await run(["pdf", sid, "--wait", "1"])).code).toBe(2);
  });
});

describe("flotilla retry of a job (rules/clients#retry-by-command)", () => {
  test("submits it again once, and names the job that runs instead", async () => {
    const id = await endedJob({ status: "failed", error: "page crashed" });
    const first = await run(["retry", id]);
    expect(first.code).toBe(0);
    const next = /^job \w+ runs again as (\w{14})\n$/.exec(first.out)?.[1];
    expect(next).toBeDefined();
    const job = await worker.assigned.next(({ job_id }) => job_id === next);
    expect(await run(["retry", id])).toMatchObject({
      code: 0,
      out: `job ${id} was retried before, as ${next}\n`,
    });
    // One that still runs is not retried.
    const early = await run(["retry", job.job_id]);
    expect(early.code).toBe(2);
    expect(early.err).toContain(`try: flotilla logs ${job.job_id} -f`);
    worker.finish(job);
    await worker.settle();
    // A completed one is, because it was named.
    expect(await json(["retry", job.job_id])).toMatchObject({ job_id: job.job_id });
    worker.finish(await worker.assigned.next(({ job_id }) => job_id !== next));
  });

  test("the filter job_id means this job alone (rules/failures#acting-on-jobs)", async () => {
    const [one, other] = [
      await endedJob({ status: "failed", error: "x" }),
      await endedJob({ status: "failed", error: "x" }),
    ];
    const dry = await hub.call("POST", "/jobs/retry", { job_id: one, dry_run: true });
    expect(dry.body).toMatchObject({ matched: 1, examples: [{ job_id: one }] });
    const gone = await hub.call("POST", "/jobs/delete", { job_id: other });
    expect(gone.body).toMatchObject({ changed: 1 });
    expect((await hub.call("GET", `/jobs/${one}`)).status).toBe(200);
    expect((await hub.call("GET", `/jobs/${other}`)).status).toBe(404);
  });

  test("an unknown one is said, with where jobs are listed", async () => {
    const { code, err } = await run(["retry", "0123456789abcd"]);
    expect({ code, err }).toEqual({
      code: 1,
      err: "flotilla: job not found\ntry: flotilla jobs\n",
    });
  });
});

describe("flotilla logs of a job (rules/clients#logs-by-command)", () => {
  test("prints its events; -f follows it to its end, and the exit code says how that was", async () => {
    const job = await startJob();
    worker.log(job, "page", "opened \u001b[2J");
    await worker.settle();
    const so_far = await run(["logs", job.job_id]);
    expect(so_far.code).toBe(0);
    expect(so_far.out).toMatch(/INFO {2}page {2}opened \?\[2J\n$/);

    let told = false;
    const followed = await run(["logs", job.job_id, "-f"], {
      watch: ({ out }) => {
        if (told || !out.includes("opened")) return;
        told = true;
        worker.log(job, "idle", "quiet");
        worker.finish(job, { status: "failed", error: "page crashed" });
      },
    });
    expect(followed.code).toBe(1);
    expect(followed.out).toMatch(/opened.*\n.*quiet\n.*ERROR failed: .*page crashed\n$/);
    const lines = (await run(["logs", job.job_id, "--json"])).out.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line).type)).toEqual(["log", "log", "log", "error"]);
    const unknown = await run(["logs", "0123456789abcd", "-f"]);
    expect(unknown).toMatchObject({ code: 1, out: "" });
    expect(unknown.err).toEndWith("try: flotilla jobs\n");
  });
});

describe("flotilla open (rules/clients#open-in-a-browser)", () => {
  test("prints the page of what the id or name means, which is there", async () => {
    const { session_id: sid } = await json(["sessions", "open", TARGET]);
    cleanups.push(() => run(["sessions", "close", sid]));
    const id = await endedJob();
    const body = { slug: "runs", executor_type: "command", executor_config: { argv: ["true"] } };
    await hub.call("POST", "/api/v1/workloads", body);
    await hub.call("PUT", "/hosts/site.test", {});
    const long = { ...body, slug: "thumbnails-of-products" };
    await hub.call("POST", "/api/v1/workloads", long);
    const { session_id: past } = await json(["sessions", "open", TARGET]);
    await run(["sessions", "close", past]);
    const rows: [string[], string][] = [
      [[], "/"],
      [[id], `/ui/captures/${id}`],
      [[sid], `/ui/browsers/${sid}`],
      [[sid, "--viewer"], `/sessions/${sid}/novnc/`],
      // A workload whose name is that of a page, too.
      [["runs"], "/ui/pipelines/workloads/runs"],
      // And one whose name has the form of a session's id.
      [["thumbnails-of-products"], "/ui/pipelines/workloads/thumbnails-of-products"],
      [[past], `/ui/browsers/${past}`],
      [["w11"], "/ui/system/workers?kind=browser"],
      [["site.test"], "/ui/library/hosts/site.test"],
    ];
    for (const [words, path] of rows) {
      const { code, out, err } = await run(["open", ...words]);
      expect({ words, code, err }).toEqual({ words, code: 0, err: "" });
      expect(out).toStartWith(hub.url + path);
      expect((await fetch(out.trim())).status).toBe(200);
      expect(await json(["open", ...words])).toEqual({ url: out.trim() });
    }
  });

  test("what is not there is not opened", async () => {
    const rows: [string[], string][] = [
      [["0123456789abcd"], "try: flotilla jobs"],
      [["99999"], "try: flotilla runs SLUG"],
      [["nobody"], "try: flotilla find nobody"],
      [["abcdefghijklmnopqrstuv"], "try: flotilla sessions"],
      [["runs", "--viewer"], "--viewer is for a session"],
      [["--viewer"], "--viewer is for a session"],
    ];
    for (const [words, says] of rows) {
      const { code, out, err } = await run(["open", ...words]);
      expect({ words, out }).toEqual({ words, out: "" });
      expect(code).toBeGreaterThan(0);
      expect(err).toContain(says);
    }
    const id = await endedJob();
    expect((await run(["open", id, "--viewer"])).err).toContain(`try: flotilla open ${id}`);
  });

  test("starts the browser with the address alone; one that cannot be started is said", async () => {
    const heard = join(dir, "heard");
    const browser = join(dir, "browser");
    await Bun.write(browser, `#!/bin/sh\nprintf '%s|' "$#" "$@" > ${heard}\n`);
    await Bun.spawn(["chmod", "+x", browser]).exited;
    const opened = await run(["open"], { env: { BROWSER: browser } });
    expect(opened).toEqual({ code: 0, out: `${hub.url}/\n`, err: "" });
    expect(await Bun.file(heard).text()).toBe(`1|${hub.url}/|`);
    await run(["open"], { env: { BROWSER: `${browser} --new %s:${join(dir, "other")}` } });
    expect(await Bun.file(heard).text()).toBe(`2|--new|${hub.url}/|`);
    await rm(heard);
    await run(["open", "--print"], { env: { BROWSER: browser } });
    expect(await Bun.file(heard).exists()).toBe(false);
    const none = await run(["open"], { env: { BROWSER: join(dir, "none") } });
    expect(none).toMatchObject({ code: 1, out: `${hub.url}/\n` });
    expect(none.err).toContain("the browser was not opened");
  });
});

test("Ctrl-C ends a call that is not answered, with 130 and no word about the hub (rules/clients#errors-of-commands)", async () => {
  for (const line of [["jobs"], ["top"], ["logs", "0123456789abcd"], ["sessions", "open"]]) {
    const interrupt = new AbortController();
    const silent = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ method }) => {
        interrupt.abort();
        // Only who has the id of a session ends it, so its call is waited for (rules/clients#errors-of-commands).
        if (method === "POST") void silent.stop(true);
        return new Promise<Response>(() => {});
      },
    });
    cleanups.push(() => silent.stop(true));
    const ran = await runCli(silent.url.href, line, { interrupt });
    expect({ line, ran }).toEqual({ line, ran: { code: 130, out: "", err: "" } });
  }
});
