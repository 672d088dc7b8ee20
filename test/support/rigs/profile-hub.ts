import { createHash } from "node:crypto";
import type { ProfileRef } from "#shared/protocol/schema/profile.ts";
import type { HubFiles } from "#worker/hub-files.ts";

/** The part of a hub that gives out and takes profile archives, for a worker without a hub. */
export interface ProfileHub {
  files: HubFiles;
  /** Archives as they were sent, newest last. */
  taken: Uint8Array[];
  /** How often an archive was asked for. */
  given: number;
  /** Gives out `archive` under this name. */
  offer(name: string, archive: Uint8Array): ProfileRef;
  /** Answers the next calls with this status instead. */
  fail(status: number, times: number): void;
  stop(): Promise<void>;
}

export function startProfileHub(): ProfileHub {
  const offered = new Map<string, Uint8Array>();
  let failing = { status: 500, times: 0 };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { pathname } = new URL(request.url);
      if (request.headers.get("authorization") !== "Bearer token")
        return new Response("", { status: 401 });
      if (failing.times > 0) {
        failing.times -= 1;
        return new Response("no", { status: failing.status });
      }
      if (request.method === "PUT") {
        hub.taken.push(await request.bytes());
        return Response.json({});
      }
      hub.given += 1;
      const body = offered.get(pathname.split("/").at(-1) ?? "");
      return body ? new Response(new Uint8Array(body)) : new Response("", { status: 404 });
    },
  });
  const hub: ProfileHub = {
    files: {
      base_url: Promise.resolve(`http://127.0.0.1:${server.port}`),
      worker_id: "w1",
      upload_token: "token",
    },
    taken: [],
    given: 0,
    offer: (name, archive) => {
      const sha256 = createHash("sha256").update(archive).digest("hex");
      offered.set(sha256, archive);
      return { name, sha256, size: archive.byteLength };
    },
    fail: (status, times) => {
      failing = { status, times };
    },
    stop: () => server.stop(true),
  };
  return hub;
}
