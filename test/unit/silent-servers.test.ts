import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { probeBridge } from "#hub/fleet/viewer/dial.ts";
import { saveFile } from "#hub/program/cli/save-file.ts";
import { silentLog } from "#shared/kit/log.ts";
import { WEBDRIVER } from "#shared/protocol/limits.ts";
import type { WorkloadSettings } from "#shared/protocol/schema/pull.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { readManifest } from "#worker/browser/video/request.ts";
import { newDriverSession } from "#worker/browser/webdriver/new-session.ts";
import { createWorkerPlugins } from "#worker/tasks/plugins.ts";
import { putPiece } from "#worker/upload/recording-tail.ts";

/** Calls of servers that begin an answer and never end it, by a clock that is moved. */

let asked = Promise.withResolvers<void>();
let server: Bun.Server<undefined>;
let url = "";
beforeAll(() => {
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => {
      asked.resolve();
      return new Response(new ReadableStream({ start: (body) => body.enqueue(Buffer.from("{")) }));
    },
  });
  url = server.url.origin;
});
afterAll(() => server.stop(true));

/** What a call comes to once `ms` have passed, or what it throws. */
async function after(
  ms: number,
  call: (clock: ReturnType<typeof createFakeClock>) => Promise<unknown>,
): Promise<unknown> {
  const clock = createFakeClock();
  asked = Promise.withResolvers();
  let ended = false;
  const answer = call(clock)
    .catch((err) => err)
    .finally(() => {
      ended = true;
    });
  await asked.promise;
  await clock.advance(ms - 1);
  expect(ended).toBe(false);
  await clock.advance(1);
  return answer;
}

test("a bridge that ends no answer is one that did not answer (rules/viewer#viewer-page)", async () => {
  const err = await after(10_000, (clock) => probeBridge(clock, { base: url, token: "t" }));
  expect(err).toMatchObject({
    status: 502,
    message: expect.stringMatching(/bridge did not answer: its answer timed out after 10000 ms$/),
  });
});

test("a piece of a recording is sent again when the hub ends no answer", async () => {
  const place = {
    base_url: async () => url,
    worker_id: "w",
    job_id: null,
    session_id: "s",
    lease_token: () => 1,
    upload_token: () => "t",
  };
  const piece = (clock: Parameters<typeof putPiece>[0]) =>
    putPiece(clock, place, 0, new Uint8Array(8));
  expect(await after(10_000, piece)).toEqual({
    kind: "later",
    reason: "DeadlineError: a piece timed out after 10000 ms",
  });
});

test("a chromedriver that ends no answer has no session", async () => {
  const { start_ms } = WEBDRIVER;
  const err = await after(start_ms, (clock) => newDriverSession(clock, url, "127.0.0.1:1", {}));
  expect(err).toMatchObject({ message: `chromedriver timed out after ${start_ms} ms` });
});

test("a file that never ends is given up, and nothing is left of it", async () => {
  const dir = await mkdtemp(join(tmpdir(), "flotilla-silent-"));
  try {
    const open = (signal: AbortSignal) => fetch(url, { signal });
    const err = await after(600_000, (clock) => saveFile(clock, open, join(dir, "a.bin")));
    expect(err).toMatchObject({ message: "the file timed out after 600000 ms" });
    expect(await readdir(dir)).toEqual([]);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

test("a manifest that never ends is not read", async () => {
  const { signal } = new AbortController();
  const who = { user_agent: "UA", referer: null, origin: null };
  const err = await after(30_000, (clock) =>
    readManifest({ clock, proxy: url, cookies: [], signal }, "http://site.test/a.m3u8", who),
  );
  expect(err).toMatchObject({ message: "the manifest timed out after 30000 ms" });
});

test("the archive of a plugin that never ends is given up, and its folder is not there", async () => {
  const dir = await mkdtemp(join(tmpdir(), "flotilla-silent-"));
  const plugin = { slug: "demo", sha256: "0".repeat(64), path: "main.py", error: null };
  const workload = { plugin, executor_type: "python_module", executor_config: {} };
  const { signal } = new AbortController();
  const access = { control_url: url, secret: null, api_token: null };
  let close = async () => {};
  try {
    const err = await after(120_000, (clock) => {
      const plugins = createWorkerPlugins({ ...access, dir, clock, log: silentLog, signal });
      close = plugins.close;
      return plugins.createExecutor(workload as unknown as WorkloadSettings, () => {
        throw new Error("there is no code");
      });
    });
    // On a busy machine the time may be over before the answer's head has been read, which names the call as well.
    expect(err).toMatchObject({
      message: expect.stringMatching(/plugin demo timed out after 120000 ms$/),
    });
    expect(await readdir(join(dir, "plugins"))).toEqual([]);
  } finally {
    await close();
    await rm(dir, { recursive: true, force: true });
  }
});
