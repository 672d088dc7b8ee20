import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdtemp, open, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContext } from "playwright-core";
import { systemClock } from "#shared/kit/clock.ts";
import { TRACE_LIMITS } from "#shared/protocol/limits.ts";
import { filesOfTrace } from "#test/support/clients/trace-file.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { createRunTrace } from "#worker/browser/trace/run-trace.ts";
import { writeZip } from "#worker/browser/trace/write-zip.ts";

/** A run's trace from its beginning to its file, with a Playwright that the test plays. */

let root: string;
let made = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "flotilla-run-trace-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

interface Played {
  calls: string[];
  context: BrowserContext;
}

/** Writes `text` as the trace; with `broken`, its browser is gone when it is stopped. */
function play(text = "secret-one", broken = false): Played {
  const calls: string[] = [];
  const tracing = {
    start: async () => void calls.push("start"),
    startChunk: async () => void calls.push("again"),
    stop: async ({ path }: { path: string }) => {
      calls.push("stop");
      if (broken) throw new Error("tracing.stop: the browser has been closed\n  at nowhere");
      const file = await open(path, "wx");
      const body = (async function* () {
        yield Buffer.from(text);
      })();
      await writeZip(file, [{ name: "trace.trace", body, compress: true }]);
      await file.close();
    },
  };
  return { calls, context: { tracing } as unknown as BrowserContext };
}

const start = () => {
  const dir = join(root, String(++made));
  const out = `${dir}.zip`;
  const limits: string[] = [];
  const onLimit = (limit: string) => void limits.push(limit);
  const trace = createRunTrace({ of: "job", dir, out, clock: systemClock, onLimit });
  return { dir, out, limits, trace };
};

describe("a run's trace (rules/traces#traces-of-jobs)", () => {
  test("is masked with what became known meanwhile, and leaves nothing else behind", async () => {
    const { dir, out, trace } = start();
    const { calls, context } = play();
    await trace.begin(context);
    await trace.again();
    trace.know(["", 5, null, "secret-one"]);
    const [file, same] = await Promise.all([trace.end(), trace.end()]);
    expect(same).toBe(file);
    expect(calls).toEqual(["start", "again", "stop"]);
    expect(file).toMatchObject({ path: out, note: null, sha256: expect.any(String) });
    const files = await filesOfTrace(await readFile(out));
    expect(String(files.get("trace.trace"))).toBe("***\n");
    expect(existsSync(dir)).toBeFalse();
    // What comes after its end changes nothing.
    await trace.begin(context);
    await trace.again();
    expect(calls).toHaveLength(3);
  });

  test("says why there is none: nothing connected, a browser that is gone, a file that is no trace", async () => {
    expect(await start().trace.end()).toBe("Playwright was never connected to its browser");
    const gone = start();
    await gone.trace.begin(play("", true).context);
    expect(await gone.trace.end()).toBe("tracing.stop: the browser has been closed");
    const torn = start();
    const { context } = play();
    context.tracing.stop = async (options) => writeFile(options?.path ?? "", "no zip");
    await torn.trace.begin(context);
    expect(await torn.trace.end()).toBe("the zip has no directory: it is cut off, or no zip");
    expect(await readdir(root)).toEqual(["1.zip"]);
  });

  test("begins again where the browser is connected to again, and says so", async () => {
    const { trace } = start();
    const [first, second] = [play("first"), play("second")];
    await trace.begin(first.context);
    await trace.begin(second.context);
    expect(await trace.end()).toMatchObject({
      note: "it begins where the browser was connected to again",
    });
    expect([first.calls, second.calls]).toEqual([["start"], ["start", "stop"]]);
  });

  test("ends where it is as long as it may be, and keeps what there is (rules/traces#limits-of-a-trace)", async () => {
    const { dir, limits, trace } = start();
    const { calls, context } = play();
    await trace.begin(context);
    await writeFile(join(dir, "resources"), "");
    await truncate(join(dir, "resources"), TRACE_LIMITS.max_bytes);
    await until("the limit", 60_000, () => calls.includes("stop"));
    await trace.again();
    expect(await trace.end()).toMatchObject({ note: "it ends where it had 64 MiB" });
    expect(calls).toEqual(["start", "stop"]);
    expect(limits).toEqual(["it ends where it had 64 MiB"]);
  }, 90_000);
});
