import { join } from "node:path";
import type { Clock } from "#shared/kit/clock.ts";
import { createHold } from "#shared/kit/hold.ts";
import type { AssetMeta, DocumentName } from "#shared/protocol/schema/asset.ts";
import type { JobStory } from "#worker/link/story.ts";
import { batchLength, batchUpload, type SmallBody, smallBody } from "./batch.ts";
import { moveSpooled, openBody, removeSpooled } from "./body.ts";
import { type DirectWay, putDirect } from "./direct.ts";
import { assetMetaHeader } from "./meta-header.ts";
import { createOutage } from "./outage.ts";
import { acceptChecksum, putUpload, type Upload, type UploadDeps, type UploadEnd } from "./put.ts";
import type { AssetSink, SpooledBody } from "./types.ts";

const AT_ONCE = 4;
/** Limit of what a burst may hold back: nobody else sees its bodies meanwhile. */
const HOLD = { quiet_ms: 50, longest_ms: 5_000, most_bytes: 16 * 1024 * 1024 };
/** A job waits in its lane for a store that is away for less than this. */
const STUCK_MS = 5_000;
const LOOK_MS = 500;

export interface HttpSinkDeps {
  /** HTTP base of the hub, settled once per link. */
  base_url: Promise<string>;
  worker_id: string;
  job_id: string;
  lease_token: number;
  upload_token: string;
  /** Whether no hub knows the token now: uploads that fail meanwhile are retried for as long as it takes. */
  isHubAway?: () => boolean;
  /** Absent: everything goes through the hub. */
  direct?: DirectWay;
  /**
   * Whether the job can release its lane before everything is stored: then nothing is given up while its page is
   * open.
   */
  can_wait?: boolean;
  story: JobStory;
  clock: Clock;
  random: () => number;
}

/** `was`: how the capture report listed a lost body. */
export interface FailedUpload {
  name: string;
  reason: string;
  was: "captured" | "partial" | "document";
}

/** What ended since the previous flush, so that each failure is reported once. */
export interface Flushed {
  stored: number;
  bytes: number;
  failed: FailedUpload[];
}

export interface HttpSink extends AssetSink {
  flush(signal: AbortSignal): Promise<Flushed>;
  /** As `flush`, but waits for all of them. */
  finish(signal: AbortSignal): Promise<Flushed>;
  /** What is not stored yet while the hub stores nothing, and why; null otherwise. */
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

interface Entry extends FailedUpload {
  upload: Upload;
  /** Must be removed at the end. */
  spooled: SpooledBody;
  /** Set for a body that may travel with others. */
  small: SmallBody | null;
  /** Of an asset. */
  meta: AssetMeta | null;
}

/**
 * Uploads the bodies of one job to the hub in bounded memory (worker/README.md): four requests at once, one of them with
 * small bodies. Those that come in while it is under way form the next one, so that a lone body never waits and a page
 * of images costs a few requests.
 */
export function createHttpSink(deps: HttpSinkDeps): HttpSink {
  const stop = new AbortController();
  const outage = createOutage(deps.clock, deps.story);
  if (deps.can_wait) outage.give_up_at = Number.POSITIVE_INFINITY;
  /** Neither stored nor given up. */
  const open = new Set<Entry>();
  const waiting: Entry[] = [];
  const small: Entry[] = [];
  let held: Entry[] = [];
  let flushing = 0;
  let batching = false;
  let failed: FailedUpload[] = [];
  let stored = 0;
  let bytes = 0;
  let running = 0;
  let idle = Promise.withResolvers<void>();
  idle.resolve();

  const settle = async (entry: Entry, end: UploadEnd) => {
    open.delete(entry);
    if (end.kind === "stored") {
      stored += 1;
      bytes += entry.upload.size;
    } else {
      failed.push({ name: entry.name, reason: end.reason, was: entry.was });
      if (end.kind === "stop" && !stop.signal.aborted) {
        deps.story.log("warn", "upload", `uploads stopped: ${end.reason}`);
        stop.abort(new Error(end.reason));
      }
    }
    if (entry.spooled.bytes) entry.spooled.free?.();
    else await removeSpooled(entry.spooled.path, entry.upload.size);
  };

  const putDeps = (what: string): UploadDeps => ({
    ...deps,
    outage,
    signal: stop.signal,
    onRetry: (reason, wait_ms) =>
      deps.story.log("warn", "upload", `${what} sent again in ${wait_ms} ms: ${reason}`),
  });
  const send = async (upload: Upload, what: string): Promise<UploadEnd> => {
    try {
      const url = `${await deps.base_url}${upload.url}`;
      return await putUpload(putDeps(what), { ...upload, url });
    } catch (err) {
      return { kind: "failed", reason: String(err) };
    }
  };
  /** Null when it must go through the hub. */
  const sendDirect = async ({ name, meta, spooled }: Entry): Promise<UploadEnd | null> => {
    if (!deps.direct || !meta || spooled.bytes) return null;
    if (!deps.direct.isOpen(spooled.size)) return null;
    try {
      const { url: path, headers } = target("direct-uploads");
      const to = { url: `${await deps.base_url}${path}`, headers };
      return await putDirect(putDeps(`${name} is`), deps.direct, to, meta, spooled);
    } catch (err) {
      return { kind: "failed", reason: String(err) };
    }
  };
  const sendOne = async (entry: Entry) => {
    const end = (await sendDirect(entry)) ?? (await send(entry.upload, `${entry.name} is`));
    await settle(entry, end);
  };
  const sendBatch = async (entries: Entry[]) => {
    const answers = new Set<string>();
    const bodies = entries.flatMap((entry) => entry.small ?? []);
    const { url, headers } = target("assets");
    const upload = batchUpload(url, headers, bodies, answers);
    const end: UploadEnd = upload
      ? await send(upload, `${bodies.length} bodies are`)
      : { kind: "stored" };
    for (const entry of entries) {
      if (end.kind !== "stored" || answers.has(entry.name)) await settle(entry, end);
      else {
        // It was refused or unreadable: sending it alone shows what is wrong.
        entry.small = null;
        waiting.push(entry);
      }
    }
  };

  const nextTask = (): (() => Promise<void>) | null => {
    if (!batching && small.length > 0) {
      const entries = small.splice(0, batchLength(small.map((entry) => entry.small)));
      const [first] = entries;
      batching = true;
      const sent = () => (entries.length === 1 && first ? sendOne(first) : sendBatch(entries));
      return () =>
        sent().finally(() => {
          batching = false;
        });
    }
    const entry = waiting.shift();
    return entry ? () => sendOne(entry) : null;
  };
  const pump = () => {
    // While nothing is stored, one body at a time finds out when that ends.
    while (running < (outage.since === null ? AT_ONCE : 1)) {
      const task = nextTask();
      if (!task) break;
      running += 1;
      void run(task);
    }
  };
  const run = async (task: () => Promise<void>) => {
    await task();
    running -= 1;
    pump();
    if (running === 0) idle.resolve();
  };

  const start = () => {
    if (running === 0) idle = Promise.withResolvers();
    pump();
    if (running === 0) idle.resolve();
  };
  const release = () => {
    small.push(...held);
    held = [];
    start();
  };
  const hold = createHold(deps.clock, HOLD, release);
  const put = (entry: Entry) => {
    open.add(entry);
    const at_once = !entry.small || hold.arrived(entry.upload.size);
    if (at_once || flushing > 0 || stop.signal.aborted) (entry.small ? small : waiting).push(entry);
    else held.push(entry);
    start();
  };

  const target = (path: string) => ({
    url: `/workers/${deps.worker_id}/jobs/${deps.job_id}/${path}`,
    headers: {
      authorization: `Bearer ${deps.upload_token}`,
      "x-lease-token": String(deps.lease_token),
      "content-type": "application/octet-stream",
    },
  });
  const uploadOf = (
    path: string,
    headers: Record<string, string>,
    body: { size: number; sha256: string; open: Upload["open"] },
  ): Upload => {
    const to = target(path);
    const { size, sha256, open } = body;
    const accept = acceptChecksum(sha256);
    return {
      ...to,
      headers: { ...to.headers, "x-sha256": sha256, ...headers },
      size,
      open,
      accept,
    };
  };

  const waitingNow = () => {
    if (outage.since === null || open.size === 0) return null;
    const bytes = [...open].reduce((sum, { upload }) => sum + upload.size, 0);
    return { count: open.size, bytes, reason: outage.reason };
  };
  /** Resolves when the hub has stored nothing for too long to wait for it in a lane. */
  const stuck = async (over: AbortSignal): Promise<void> => {
    while (!over.aborted) {
      const { since } = outage;
      if (since !== null && deps.clock.monotonic() - since >= STUCK_MS) return;
      await deps.clock.sleep(LOOK_MS, over);
    }
  };
  const flush = async (signal: AbortSignal, may_leave: boolean): Promise<Flushed> => {
    const giveUp = () => stop.abort(signal.reason ?? new Error("uploads were abandoned"));
    if (signal.aborted) giveUp();
    else signal.addEventListener("abort", giveUp, { once: true });
    const over = new AbortController();
    flushing += 1;
    hold.release();
    await (may_leave ? Promise.race([idle.promise, stuck(over.signal)]) : idle.promise);
    flushing -= 1;
    over.abort();
    signal.removeEventListener("abort", giveUp);
    const ended = { stored, bytes, failed };
    [stored, bytes, failed] = [0, 0, []];
    return ended;
  };

  return {
    putAsset: (meta: AssetMeta, body: SpooledBody) =>
      put({
        name: meta.name,
        reason: "",
        was: meta.partial ? "partial" : "captured",
        spooled: body,
        small: smallBody(meta, body),
        meta,
        upload: uploadOf(
          `assets/${encodeURIComponent(meta.name)}`,
          { "x-asset-meta": assetMetaHeader(meta) },
          { size: body.size, sha256: body.sha256, open: () => openBody(body) },
        ),
      }),
    putDocument: (name: DocumentName, content: string) => {
      const data = new TextEncoder().encode(content);
      const sha256 = new Bun.CryptoHasher("sha256").update(data).digest("hex");
      const spooled: SpooledBody = { path: "", bytes: data, size: data.length, sha256 };
      const open = () => openBody(spooled);
      const upload = uploadOf(`documents/${name}`, {}, { size: data.length, sha256, open });
      put({ name, reason: "", was: "document", spooled, small: null, meta: null, upload });
    },
    flush: (signal) => flush(signal, deps.can_wait === true),
    finish: (signal) => flush(signal, false),
    waiting: waitingNow,
    moveTo: (dir) => {
      let count = 0;
      for (const { spooled } of open) moveSpooled(spooled, join(dir, String(++count)));
    },
    giveUpAfter: (ms) => {
      outage.give_up_at = deps.clock.monotonic() + ms;
    },
    close: async () => {
      stop.abort(new Error("the run is over"));
      hold.release();
      await idle.promise;
    },
  };
}
