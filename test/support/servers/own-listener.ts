import { join } from "node:path";
import { access } from "#hub/platform/http/access.ts";
import { listen } from "#hub/platform/http/listen.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { upgrade } from "#hub/platform/http/sockets.ts";
import { silentLog } from "#shared/kit/log.ts";
import { rssOf } from "../rigs/fleet-process.ts";

/**
 * The hub's listener in a process of its own, with a shorter patience and routes that read, stream and upgrade, so that
 * what attackers make it hold is its memory alone: a process of tests keeps hundreds of megabytes to be collected.
 */
export interface OwnListener {
  readonly url: URL;
  tally(): Promise<Tally>;
  /** Resident set in bytes. */
  rss(): number;
  stop(): Promise<void>;
}

interface Tally {
  /** Bytes of answers that were made. */
  made: number;
  /** Messages that sockets have heard. */
  heard: number;
  /** Sockets that are open. */
  open: number;
}

const MB = 1024 * 1024;
const IDLE_S = 4;

export async function startOwnListener(): Promise<OwnListener> {
  const ready = Promise.withResolvers<number>();
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "own-listener.ts")], {
    stdio: ["ignore", "inherit", "inherit"],
    ipc: (port: number) => ready.resolve(port),
  });
  void child.exited.then((code) => ready.reject(new Error(`the listener ended with ${code}`)));
  const url = new URL(`http://127.0.0.1:${await ready.promise}`);
  return {
    url,
    tally: async () => {
      const signal = AbortSignal.timeout(120_000);
      return (await (await fetch(new URL("/tally", url), { signal })).json()) as Tally;
    },
    rss: () => rssOf(child.pid),
    stop: async () => {
      child.kill();
      await child.exited;
    },
  };
}

function serve(): number {
  const tally: Tally = { made: 0, heard: 0, open: 0 };
  const pieces = (most: number) => {
    let left = most;
    return new ReadableStream<Uint8Array>({
      pull: (to) => {
        left -= 65_536;
        tally.made += 65_536;
        to.enqueue(new Uint8Array(65_536));
        if (left <= 0) to.close();
      },
    });
  };
  const app = newApp();
  const rules = access({ access: "public" });
  app.get("/tally", rules, (c) => c.json(tally));
  app.get("/health", rules, (c) => c.json({ status: "ok" }));
  app.post("/jobs", rules, async (c) => c.json({ length: (await c.req.text()).length }));
  app.put("/workers/:id/jobs/:job/assets/:name", rules, async (c) => {
    let size = 0;
    for await (const chunk of c.req.raw.body ?? []) size += chunk.length;
    return c.json({ size });
  });
  app.get("/large", rules, () => new Response(pieces(8 * MB)));
  app.get("/endless", rules, () => new Response(pieces(Number.POSITIVE_INFINITY)));
  app.get("/socket", rules, (c) =>
    upgrade(c, {
      open: () => {
        tally.open += 1;
      },
      message: () => {
        tally.heard += 1;
      },
      close: () => {
        tally.open -= 1;
      },
    }),
  );
  app.onError((_err, c) => c.json({ detail: "ended" }, 400));
  const here = { host: "127.0.0.1", port: 0, tls: null };
  return listen(app, { ...here, max_body_bytes: 10 * MB, idle_timeout_s: IDLE_S }, silentLog).port;
}

if (import.meta.main) process.send?.(serve());
