import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromiumPath } from "#test/support/rigs/chromium.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { installPackage } from "./install-package.ts";

/** browserless on the Chromium of this machine, with a package.json of its own; installed at the first use, never by the product. */

const DIR = join(import.meta.dir, "browserless");
const NODE = join(DIR, `node_modules/node-linux-${process.arch}/bin/node`);
const START_MS = 60_000;
/** The longest that one call may take here, with its wait for a browser. */
const CALL_MS = 120_000;
const STOP_MS = 10_000;

export interface Browserless {
  /** One of its calls, such as `/screenshot`; `launch`: options of its browser. @throws Error with its answer when it refuses */
  post(path: string, body: object, launch?: object): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** `at_once`: how many calls it answers at the same time; others wait in its queue. */
export async function startBrowserless(at_once: number): Promise<Browserless> {
  await installPackage(DIR);
  const browsers = mkdtempSync(join(tmpdir(), "flotilla-browserless-"));
  const said = Bun.file(join(browsers, "stderr"));
  const url = `http://127.0.0.1:${freePort()}`;
  const child = Bun.spawn([NODE, "serve.js"], {
    cwd: DIR,
    env: {
      ...process.env,
      CHROMIUM: chromiumPath(),
      BROWSERS: browsers,
      HOST: "127.0.0.1",
      PORT: new URL(url).port,
      TOKEN: "benchmark",
      CONCURRENT: String(at_once),
      QUEUED: "100",
      DEBUG: "-*",
    },
    stdout: "ignore",
    // It warns of its own schemas at every call.
    stderr: said,
  });
  const close = async () => {
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await child.exited;
    clearTimeout(late);
    rmSync(browsers, { recursive: true, force: true });
  };
  const isUp = () =>
    fetch(`${url}/active?token=benchmark`, { signal: AbortSignal.timeout(START_MS) }).then(
      () => true,
      () => false,
    );
  try {
    await until("browserless", START_MS, () => child.exitCode !== null || isUp());
    if (child.exitCode !== null) throw new Error(`browserless ended: ${await said.text()}`);
  } catch (err) {
    await close();
    throw err;
  }
  return {
    post: async (path, body, launch = {}) => {
      const query = new URLSearchParams({ token: "benchmark", launch: JSON.stringify(launch) });
      const answer = await fetch(`${url}${path}?${query}`, {
        method: "POST",
        signal: AbortSignal.timeout(CALL_MS),
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      if (answer.ok) return answer.bytes();
      throw new Error(`browserless POST ${path}: ${answer.status} ${await answer.text()}`);
    },
    close,
  };
}
