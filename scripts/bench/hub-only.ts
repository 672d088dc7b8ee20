import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { superviseProcess, until } from "#test/support/rigs/fleet-process.ts";
import { freePort } from "#test/support/servers/ports.ts";

const MAIN = join(import.meta.dir, "../../hub/main.ts");

export interface HubOnly {
  url: string;
  pid: number;
  stop(): Promise<void>;
}

/** A hub of its own process and data directory, from source; `env` for stores it shares with others. */
export async function startHubOnly(env: Record<string, string> = {}): Promise<HubOnly> {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-bench-hub-"));
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const hub = superviseProcess("hub", [process.execPath, MAIN, "hub"], {
    SVC_HOST: "127.0.0.1",
    SVC_PORT: String(port),
    SVC_DATA_DIR: dir,
    SVC_LOG_LEVEL: "warn",
    ...env,
  });
  await until(
    "the hub's health",
    20_000,
    async () => (await fetch(`${url}/health`).catch(() => null))?.ok,
  );
  return {
    url,
    pid: hub.pid,
    stop: async () => {
      await hub.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
