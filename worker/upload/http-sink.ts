import { rm } from "node:fs/promises";
import type { Clock } from "#shared/clock.ts";
import type { AssetMeta, DocumentName } from "#shared/schema/asset.ts";
import type { AssetSink, JobStory, SpooledBody } from "../lanes/types.ts";
import { memoryBody, openSpoolBody } from "./body.ts";
import { assetMetaHeader } from "./meta-header.ts";
import { putUpload, type Upload, type UploadEnd } from "./put.ts";

const AT_ONCE = 4;

export interface HttpSinkDeps {
  /** HTTP base of the hub, settled once per link. */
  base_url: Promise<string>;
  worker_id: string;
  job_id: string;
  lease_token: number;
  upload_token: string;
  story: JobStory;
  clock: Clock;
  random: () => number;
}

/** `was` tells how a lost body stood in the capture report. */
export interface FailedUpload {
  name: string;
  reason: string;
  was: "captured" | "partial" | "document";
}

export interface HttpSink extends AssetSink {
  /** As `AssetSink.flush`; counts what ended since the flush before, so that each failure is told once. */
  flush(signal: AbortSignal): Promise<{ stored: number; bytes: number; failed: FailedUpload[] }>;
  /** Stops every upload and removes what is left in the spool. Idempotent. */
  close(): Promise<void>;
}

interface Entry extends FailedUpload {
  upload: Upload;
  /** File to remove in the end. */
  spooled: string | null;
}

/** Uploads the bodies of one job to the hub, four at a time, in bounded memory (worker/README.md). */
export function createHttpSink(deps: HttpSinkDeps): HttpSink {
  const stop = new AbortController();
  const waiting: Entry[] = [];
  let failed: FailedUpload[] = [];
  let stored = 0;
  let bytes = 0;
  let running = 0;
  let idle = Promise.withResolvers<void>();
  idle.resolve();

  const settle = async (entry: Entry, end: UploadEnd) => {
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
    if (entry.spooled !== null) await rm(entry.spooled, { force: true }).catch(() => {});
  };

  const send = async (entry: Entry): Promise<UploadEnd> => {
    const base = await deps.base_url;
    const onRetry = (reason: string, wait_ms: number) =>
      deps.story.log("warn", "upload", `${entry.name} is sent again in ${wait_ms} ms: ${reason}`);
    const url = `${base}${entry.upload.url}`;
    return putUpload({ ...deps, signal: stop.signal, onRetry }, { ...entry.upload, url });
  };

  const work = async () => {
    for (let entry = waiting.shift(); entry; entry = waiting.shift())
      await settle(
        entry,
        await send(entry).catch((err) => ({ kind: "failed", reason: String(err) })),
      );
    running -= 1;
    if (running === 0) idle.resolve();
  };

  const put = (entry: Entry) => {
    waiting.push(entry);
    if (running >= AT_ONCE) return;
    if (running === 0) idle = Promise.withResolvers();
    running += 1;
    void work();
  };

  const uploadOf = (
    path: string,
    headers: Record<string, string>,
    body: Omit<Upload, "url" | "headers">,
  ) => ({
    url: `/workers/${deps.worker_id}/jobs/${deps.job_id}/${path}`,
    headers: {
      authorization: `Bearer ${deps.upload_token}`,
      "x-lease-token": String(deps.lease_token),
      "x-sha256": body.sha256,
      "content-type": "application/octet-stream",
      ...headers,
    },
    ...body,
  });

  return {
    putAsset: (meta: AssetMeta, body: SpooledBody) =>
      put({
        name: meta.name,
        reason: "",
        was: meta.partial ? "partial" : "captured",
        spooled: body.path,
        upload: uploadOf(
          `assets/${encodeURIComponent(meta.name)}`,
          { "x-asset-meta": assetMetaHeader(meta) },
          { size: body.size, sha256: body.sha256, open: () => openSpoolBody(body.path, body.size) },
        ),
      }),
    putDocument: (name: DocumentName, content: string) => {
      const data = new TextEncoder().encode(content);
      const sha256 = new Bun.CryptoHasher("sha256").update(data).digest("hex");
      const open = async () => memoryBody(data);
      const upload = uploadOf(`documents/${name}`, {}, { size: data.length, sha256, open });
      put({ name, reason: "", was: "document", spooled: null, upload });
    },
    flush: async (signal) => {
      const giveUp = () => stop.abort(signal.reason ?? new Error("uploads were not waited for"));
      if (signal.aborted) giveUp();
      else signal.addEventListener("abort", giveUp, { once: true });
      await idle.promise;
      signal.removeEventListener("abort", giveUp);
      const ended = { stored, bytes, failed };
      [stored, bytes, failed] = [0, 0, []];
      return ended;
    },
    close: async () => {
      stop.abort(new Error("the run is over"));
      await idle.promise;
    },
  };
}
