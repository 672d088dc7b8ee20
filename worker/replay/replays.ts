import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { makeOwnDir } from "#shared/kit/own-dir.ts";
import { newToken } from "#shared/protocol/ids.ts";
import {
  type ReplayClock,
  ReplayEntry,
  type ReplayReport,
} from "#shared/protocol/schema/replay.ts";
import type { StandIn } from "#worker/egress/gate.ts";
import type { HubFiles } from "../hub-files.ts";
import { makeOwnKey, type OwnKey } from "./certificate.ts";
import { ReplayError, readFromHub } from "./from-hub.ts";
import { createMatcher } from "./match.ts";
import { createTally } from "./report.ts";
import { startReplayServer } from "./server.ts";
import { createBodySpool } from "./spool.ts";

const INDEX = "GET /workers/{worker_id}/replays/{job_id}";
const BODY = "GET /workers/{worker_id}/replays/{job_id}/bodies/{name}";

/** A capture that answers a lane (rules/replay). */
export interface Replay {
  readonly job_id: string;
  /** What the lane's gate connects to, and the key by which its browser knows it. */
  readonly archive: { stand_in: StandIn; key: string; clock_offset_ms: number | null };
  report(): ReplayReport;
  /** Every request begins with its first answer again, as for a page that is opened anew. */
  rewind(): void;
  /** Idempotent. */
  close(): Promise<void>;
}

export interface OpenReplay {
  job_id: string;
  /** Whether the clock of its pages begins at the time of the capture (rules/replay#the-clock). */
  clock: ReplayClock;
  hub: HubFiles;
  signal: AbortSignal;
  /** Called once for each different request without an answer, as far as the report lists them. */
  onMissed(method: string, url: string, reason: string): void;
}

/** The captures that this worker replays. */
export interface Replays {
  /** The caller must close it. @throws ReplayError */
  open(options: OpenReplay): Promise<Replay>;
}

/** As many as a HAR and a job's assets can have. */
const MAX_ENTRIES = 60_000;
const MAX_INDEX_BYTES = 256 * 1024 * 1024;
/** sun_path holds 107 bytes. */
const MAX_DIR_BYTES = 107 - "/http".length;

/** Removes what an earlier process left in `dir`, which is this worker's alone. */
export async function openReplays({
  dir,
  max_bytes,
  clock,
}: {
  dir: string;
  /** Bytes of bodies on this machine's disk, for each replay. */
  max_bytes: number;
  clock: Clock;
}): Promise<Replays> {
  await rm(dir, { recursive: true, force: true });
  let key: OwnKey | null = null;
  return {
    open: async ({ job_id, clock: asked, hub, signal, onMissed }) => {
      key ??= makeOwnKey(clock.now());
      const { worker_id } = hub;
      const reading = { clock, signal };
      const entries = await readIndex(hub, job_id, reading).catch((err) => {
        throw new ReplayError(`the capture of job ${job_id} cannot be read: ${errorMessage(err)}`);
      });
      const root = placeOf(dir);
      const over = new AbortController();
      const began = asked === "capture" ? beginOf(entries) : null;
      const clock_offset_ms = began === null ? null : began - clock.now();
      const tally = createTally(job_id, began);
      const matcher = createMatcher(entries);
      makeOwnDir(root);
      const spool = createBodySpool({
        dir: root,
        max_bytes,
        read: (name) => {
          const params = { worker_id, job_id, name };
          return readFromHub(hub, (http, signal) => http.open(BODY, { params, signal }), {
            clock,
            signal: over.signal,
          });
        },
      });
      const server = startReplayServer({ dir: root, key, matcher, spool, tally, onMissed });
      let closed: Promise<void> | undefined;
      const close = async () => {
        over.abort(new ReplayError("the replay is over"));
        await server.close();
        await rm(root, { recursive: true, force: true });
      };
      return {
        job_id,
        archive: { stand_in: server.stand_in, key: key.spki_sha256, clock_offset_ms },
        report: tally.report,
        rewind: matcher.rewind,
        close: () => (closed ??= close()),
      };
    },
  };
}

/** When the first request of a capture was made. @throws ReplayError when it does not say so */
function beginOf(entries: readonly ReplayEntry[]): number {
  const began = entries.reduce((first, { at = first }) => Math.min(first, at), Number.MAX_VALUE);
  if (began === Number.MAX_VALUE)
    throw new ReplayError("the capture does not say when it was made");
  return began;
}

/** A directory of its own below `dir`, or where its sockets would have too long a path, below the system's. */
function placeOf(dir: string): string {
  const name = newToken().slice(0, 12);
  const own = join(dir, name);
  return Buffer.byteLength(own) <= MAX_DIR_BYTES ? own : join(tmpdir(), `flotilla-replay-${name}`);
}

async function readIndex(
  hub: HubFiles,
  job_id: string,
  reading: { clock: Clock; signal: AbortSignal },
): Promise<ReplayEntry[]> {
  const params = { worker_id: hub.worker_id, job_id };
  const index = readFromHub(hub, (http, signal) => http.open(INDEX, { params, signal }), reading);
  const entries: ReplayEntry[] = [];
  const decoder = new TextDecoder();
  let rest = "";
  let size = 0;
  for await (const chunk of index) {
    size += chunk.byteLength;
    if (size > MAX_INDEX_BYTES) throw new ReplayError("its index is too long");
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) entries.push(ReplayEntry.parse(JSON.parse(line)));
    if (entries.length > MAX_ENTRIES) throw new ReplayError("it has too many requests");
  }
  return entries;
}
