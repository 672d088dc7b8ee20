import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withDeadline } from "#shared/kit/clock.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { installPackage } from "../install-package.ts";
import type { Stores } from "./control.ts";

/** Queues that people use today, with a package.json of their own; installed at the first use, never by the product. */

const DIR = join(import.meta.dir, "../peers");
const RUN_MS = 180_000;

export type Peer = "graphile" | "pg-boss" | "bullmq" | "plainjob";
export interface PeerJob {
  scenario: "submit" | "drain" | "pickup";
  tasks: number;
  batch?: number;
  variant?: string;
}
export interface PeerAnswer {
  /** Tasks per second. */
  rate?: number;
  /** Milliseconds of each pick-up. */
  times?: number[];
}

export const installPeers = (): Promise<void> => installPackage(DIR);

/** One run of a peer in a process of its own, on an empty store. */
export async function runPeer(stores: Stores, peer: Peer, job: PeerJob): Promise<PeerAnswer> {
  const store = await storeOf(stores, peer);
  try {
    const told = JSON.stringify({ batch: 10_000, variant: "", ...job, url: store.url });
    const child = Bun.spawn([process.execPath, join(DIR, `${peer}.ts`), told], {
      stdout: "pipe",
      stderr: "inherit",
    });
    try {
      const text = await withDeadline(
        `a run of ${peer}`,
        RUN_MS,
        new Response(child.stdout).text(),
      );
      return JSON.parse(text.trim().split("\n").at(-1) ?? "") as PeerAnswer;
    } finally {
      child.kill("SIGKILL");
      await child.exited;
    }
  } finally {
    await store.stop();
  }
}

async function storeOf(
  stores: Stores,
  peer: Peer,
): Promise<{ url: string; stop(): Promise<void> | void }> {
  if (peer === "graphile" || peer === "pg-boss")
    return { url: await stores.empty(), stop: () => {} };
  const dir = mkdtempSync(join(tmpdir(), "flotilla-bench-peer-"));
  const remove = () => rmSync(dir, { recursive: true, force: true });
  if (peer === "plainjob") return { url: join(dir, "plainjob.db"), stop: remove };
  const redis = await startRedis(dir);
  return {
    url: redis.url,
    stop: async () => {
      await redis.stop();
      remove();
    },
  };
}

/** Redis that writes its log every second, as one is run whose tasks must outlive it. */
async function startRedis(dir: string): Promise<{ url: string; stop(): Promise<void> }> {
  const program = Bun.which("redis-server");
  if (!program) throw new Error("redis-server is not installed: apt-get install redis-server");
  const port = freePort();
  const flags = ["--bind", "127.0.0.1", "--port", String(port), "--dir", dir];
  const durable = ["--appendonly", "yes", "--appendfsync", "everysec", "--save", ""];
  const child = Bun.spawn([program, ...flags, ...durable], { stdout: "ignore", stderr: "ignore" });
  await until("redis", 10_000, () =>
    Bun.connect({ hostname: "127.0.0.1", port, socket: { data: () => {} } }).then(
      (socket) => {
        socket.end();
        return true;
      },
      () => false,
    ),
  );
  return {
    url: `redis://127.0.0.1:${port}`,
    stop: async () => {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
