import { pathOf } from "#shared/client/operation.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { AssetMeta, DocumentName } from "#shared/protocol/schema/asset.ts";
import type { JobStory } from "#worker/link/story.ts";
import type { AssetSink, SpooledBody } from "./asset-sink.ts";
import { smallBody } from "./batch.ts";
import { openBody } from "./body.ts";
import type { DirectWay } from "./direct.ts";
import type { Entry } from "./entry.ts";
import { assetMetaHeader } from "./meta-header.ts";
import { createOutage, type Outage } from "./outage.ts";
import { createSender, type UploadPlace, uploadOf } from "./send.ts";
import { createTally, type Flushed, type UploadWatch } from "./tally.ts";
import { createUploadQueue } from "./upload-queue.ts";

/** A job waits in its lane for a store that is away for less than this. */
const STUCK_MS = 5_000;
const LOOK_MS = 500;

export interface HttpSinkDeps extends UploadPlace {
  /** Whether no hub knows the token now: uploads that fail meanwhile are retried for as long as it takes. */
  isHubAway?: () => boolean;
  /** Absent: everything goes through the hub. */
  direct?: DirectWay;
  /**
   * Whether the job can release its lane before everything is stored: then nothing is given up while its page is
   * open.
   */
  can_wait?: boolean;
  watch?: UploadWatch | undefined;
  story: JobStory;
  clock: Clock;
  random: () => number;
}

export interface HttpSink extends AssetSink {
  flush(signal: AbortSignal): Promise<Flushed>;
  /** As `flush`, but waits for all of them. */
  finish(signal: AbortSignal): Promise<Flushed>;
  /** What is not stored yet while the hub cannot store anything, and why; null otherwise. */
  waiting(): { count: number; bytes: number; reason: string } | null;
  /**
   * Moves what is not stored yet, including bodies in memory, to another directory on the same disk. @throws the file
   * system's error.
   */
  moveTo(dir: string): void;
  /** While the hub stores nothing, bodies are retried for this long from now on. */
  giveUpAfter(ms: number): void;
  /** Stops every upload and removes what is left in the spool. Idempotent. */
  close(): Promise<void>;
}

/** Uploads the bodies of one job to the hub in bounded memory (worker/README.md). */
export function createHttpSink(deps: HttpSinkDeps): HttpSink {
  const { clock, story } = deps;
  const stop = new AbortController();
  const outage = createOutage(clock, story);
  if (deps.can_wait) outage.give_up_at = Number.POSITIVE_INFINITY;
  const tally = createTally((reason) => {
    if (stop.signal.aborted) return;
    story.log("warn", "upload", `uploads stopped: ${reason}`);
    stop.abort(new Error(reason));
  }, deps.watch);
  const sender = createSender({
    ...deps,
    putDeps: (what) => ({
      ...deps,
      outage,
      signal: stop.signal,
      onRetry: (reason, wait_ms) =>
        story.log("warn", "upload", `${what} sent again in ${wait_ms} ms: ${reason}`),
    }),
  });
  const queue = createUploadQueue({
    clock,
    outage,
    sendOne: async (entry) => tally.settle(entry, await sender.one(entry)),
    sendBatch: async (entries) => {
      const { end, named } = await sender.batch(entries);
      // The others were refused or are unreadable: sending each alone shows what is wrong.
      const isSettled = ({ name }: Entry) => end.kind !== "stored" || named.has(name);
      for (const entry of entries) {
        if (isSettled(entry)) await tally.settle(entry, end);
        else entry.small = null;
      }
      return entries.filter((entry) => !isSettled(entry));
    },
  });
  let flushing = 0;
  const put = (entry: Entry) => {
    tally.begin(entry);
    queue.put(entry, flushing > 0 || stop.signal.aborted);
  };
  const flush = async (signal: AbortSignal, may_leave: boolean): Promise<Flushed> => {
    const giveUp = () => stop.abort(signal.reason ?? new Error("uploads were abandoned"));
    if (signal.aborted) giveUp();
    else signal.addEventListener("abort", giveUp, { once: true });
    const over = new AbortController();
    flushing += 1;
    queue.release();
    const idle = queue.idle();
    await (may_leave ? Promise.race([idle, isStuck(outage, clock, over.signal)]) : idle);
    flushing -= 1;
    over.abort();
    signal.removeEventListener("abort", giveUp);
    return tally.take();
  };
  return {
    putAsset: (meta, body) => put(assetEntry(deps, meta, body)),
    putDocument: (name, content) => put(documentEntry(deps, name, content)),
    settled: async () => {
      flushing += 1;
      queue.release();
      await queue.idle();
      flushing -= 1;
    },
    flush: (signal) => flush(signal, deps.can_wait === true),
    finish: (signal) => flush(signal, false),
    waiting: () => {
      const left = tally.left();
      return outage.since === null || left.count === 0 ? null : { ...left, reason: outage.reason };
    },
    moveTo: tally.moveTo,
    giveUpAfter: (ms) => {
      outage.give_up_at = clock.monotonic() + ms;
    },
    close: async () => {
      stop.abort(new Error("the run is over"));
      queue.release();
      await queue.idle();
    },
  };
}

function assetEntry(place: UploadPlace, meta: AssetMeta, body: SpooledBody): Entry {
  const { name } = meta;
  const { size, sha256 } = body;
  const url = pathOf("PUT /workers/{worker_id}/jobs/{job_id}/assets/{name}", {
    params: { ...place, name },
  });
  const headers = { "x-asset-meta": assetMetaHeader(meta) };
  return {
    name,
    reason: "",
    was: meta.partial ? "partial" : "captured",
    spooled: body,
    small: smallBody(meta, body),
    meta,
    upload: uploadOf(place, url, headers, { size, sha256, open: () => openBody(body) }),
  };
}

function documentEntry(
  place: UploadPlace,
  name: DocumentName,
  content: string | Uint8Array<ArrayBuffer> | SpooledBody,
): Entry {
  const spooled = spooledOf(content);
  const { size, sha256 } = spooled;
  const open = () => openBody(spooled);
  const url = pathOf("PUT /workers/{worker_id}/jobs/{job_id}/documents/{name}", {
    params: { ...place, name },
  });
  const upload = uploadOf(place, url, {}, { size, sha256, open });
  return { name, reason: "", was: "document", spooled, small: null, meta: null, upload };
}

function spooledOf(content: string | Uint8Array<ArrayBuffer> | SpooledBody): SpooledBody {
  if (typeof content === "object" && "path" in content) return content;
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  return { path: "", bytes, size: bytes.length, sha256 };
}

/** Resolves when the hub has been unable to store for too long to wait in a lane. */
async function isStuck(outage: Outage, clock: Clock, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const { since } = outage;
    if (since !== null && clock.monotonic() - since >= STUCK_MS) return;
    await clock.sleep(LOOK_MS, over);
  }
}
