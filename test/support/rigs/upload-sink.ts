import { createHash } from "node:crypto";
import { join } from "node:path";
import type { FakeClock } from "#test/support/fakes/fake-clock.ts";
import type { FakeHub } from "#test/support/fakes/fake-hub.ts";
import type { SpooledBody } from "#worker/upload/asset-sink.ts";
import { createHttpSink, type HttpSink } from "#worker/upload/http-sink.ts";

/** What the log of a job says while its hub cannot store anything. */
export const OUTAGE =
  "warn upload the hub cannot store anything now, and what was captured waits on the worker: HTTP 503: fault 503";

/** Where the hub is sent the asset `name` of the job of {@link sinkTo}. */
export const pathOf = (name: string) => `/workers/w1/jobs/j1/assets/${name}`;

/** The uploads of a job to `hub`; what it logs goes into `story`. */
export const sinkTo = (hub: FakeHub, clock: FakeClock, story: string[]): HttpSink =>
  createHttpSink({
    base_url: Promise.resolve(hub.upload_url),
    worker_id: "w1",
    job_id: "j1",
    lease_token: 4,
    upload_token: "token",
    story: { log: (level, stage, message) => void story.push(`${level} ${stage} ${message}`) },
    clock,
    random: () => 1,
  });

/** A body of `size` bytes in a file of `dir`. */
export async function spoolIn(dir: string, name: string, size: number): Promise<SpooledBody> {
  const data = new Uint8Array(size).fill(name.charCodeAt(0));
  const file = join(dir, name);
  await Bun.write(file, data);
  return { path: file, size, sha256: createHash("sha256").update(data).digest("hex") };
}
