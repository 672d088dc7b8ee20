import { renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { SpooledBody } from "#worker/upload/asset-sink.ts";
import type { CdpConnection, Protocol } from "../cdp/connection.ts";
import type { Activity } from "./activity.ts";
import { hashFile } from "./coverage.ts";
import type { BodySource, LossReason } from "./ledger.ts";
import { lossReason } from "./read-body.ts";
import type { Stores } from "./stores.ts";

export interface DownloadDeps {
  connection: CdpConnection;
  dir: string;
  stores: Pick<Stores, "spool" | "ledger" | "min_size">;
  activity: Activity;
  /** How much all files may have; null: as much as the spool has room for. */
  max_bytes: number | null;
  /** What the network reported about this URL: type, status and page. */
  describe(url: string): Pick<BodySource, "mime" | "status" | "page_url" | "frame_url">;
  onProgress(message: string): void;
  onError(err: unknown): void;
}

export interface Downloads {
  start(): Promise<void>;
  /** URLs that became files, so that their aborted requests do not count as losses. */
  has(url: string): boolean;
  readonly count: number;
  /** Cancels what still runs and waits for everything to be stored. */
  finish(): Promise<void>;
}

interface Download {
  guid: string;
  source: BodySource;
  received: number;
  total: number;
  stop_reason: LossReason | null;
}

/** How long a cancelled download may take to report that. */
const CANCEL_MS = 1_000;

/**
 * Watches files that the browser saves itself: the network events never show their bodies, the browser's own events
 * do.
 */
export function watchDownloads(deps: DownloadDeps): Downloads {
  const { connection, stores, activity } = deps;
  const { spool, ledger } = stores;
  const { root } = connection;
  const active = new Map<string, Download>();
  const urls = new Set<string>();
  const storing = new Set<Promise<void>>();
  let count = 0;
  let received = 0;

  const onBegin = (p: Protocol.Browser.DownloadWillBeginEvent) => {
    count += 1;
    urls.add(p.url);
    const source = sourceOf(p, deps.describe(p.url));
    active.set(p.guid, { guid: p.guid, source, received: 0, total: 0, stop_reason: null });
    activity.begin(p.guid);
    deps.onProgress(`download of ${p.suggestedFilename} began`);
  };
  const onProgress = (p: Protocol.Browser.DownloadProgressEvent) => {
    const download = active.get(p.guid);
    if (!download) return;
    activity.progress(p.guid);
    const grown = p.receivedBytes - download.received;
    received += Math.max(0, grown);
    download.received = p.receivedBytes;
    download.total = p.totalBytes;
    if (p.state === "inProgress") return reserve(download, grown);
    active.delete(p.guid);
    activity.end(p.guid);
    const path = p.filePath ?? join(deps.dir, p.guid);
    // A small file is whole before anybody hears that it grows.
    if (isTooMuch()) {
      rmSync(path, { force: true });
      return ledger.lost(download.source, "too_large");
    }
    const work = store(download, p.state === "completed", path, stores)
      .catch(deps.onError)
      .finally(() => storing.delete(work));
    storing.add(work);
  };
  const isTooMuch = () => deps.max_bytes !== null && received > deps.max_bytes;
  const reserve = (download: Download, bytes: number) => {
    if (bytes <= 0 || download.stop_reason) return;
    if (isTooMuch()) return cancel(download, "too_large");
    try {
      spool.reserve(bytes);
    } catch (err) {
      cancel(download, lossReason(err));
    }
  };
  const cancel = (download: Download, reason: LossReason) => {
    download.stop_reason = reason;
    root.post("Browser.cancelDownload", { guid: download.guid });
  };
  return {
    get count() {
      return count;
    },
    has: (url) => urls.has(url),
    start: async () => {
      root.on("Browser.downloadWillBegin", onBegin);
      root.on("Browser.downloadProgress", onProgress);
      await root.send("Browser.setDownloadBehavior", {
        behavior: "allowAndName",
        downloadPath: deps.dir,
        eventsEnabled: true,
      });
    },
    finish: async () => {
      for (const download of active.values())
        if (!download.stop_reason) cancel(download, "timeout");
      await untilEnded(active, root);
      for (const download of active.values())
        ledger.lost(download.source, download.stop_reason ?? "target_gone");
      active.clear();
      await Promise.all(storing);
    },
  };
}

const sourceOf = (
  { url, suggestedFilename }: Protocol.Browser.DownloadWillBeginEvent,
  described: ReturnType<DownloadDeps["describe"]>,
): BodySource => ({
  ...described,
  url,
  from_cache: false,
  from_service_worker: false,
  paired: false,
  suggested_name: suggestedFilename,
});

/** Gives what was cancelled a moment to say that it has ended. */
async function untilEnded(
  active: ReadonlyMap<string, Download>,
  root: CdpConnection["root"],
): Promise<void> {
  const deadline = performance.now() + CANCEL_MS;
  while (active.size > 0 && performance.now() < deadline && !root.is_closed)
    await Promise.race([root.closed, nextProgress(root)]);
}

/** Takes over the file at `path`, which the browser has closed. */
async function store(
  { source, stop_reason }: Download,
  completed: boolean,
  path: string,
  { spool, ledger, min_size }: DownloadDeps["stores"],
): Promise<void> {
  const body = await moveToSpool(path, spool.nextPath());
  const reason = stop_reason ?? "aborted";
  if (!body) return ledger.lost(source, reason);
  if (body.size < min_size) return ledger.skipped(body);
  if (completed) return ledger.captured(source, body);
  ledger.partial(source, body, [{ start: 0, end: body.size - 1 }], reason);
}

/** Resolves at the next event of a download, or after a while. */
function nextProgress(root: CdpConnection["root"]): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      off();
      resolve();
    };
    const timer = setTimeout(done, 100);
    const off = root.on("Browser.downloadProgress", () => queueMicrotask(done));
  });
}

/** Null when there is no file, or nothing in it. */
async function moveToSpool(from: string, to: string): Promise<SpooledBody | null> {
  const size = statSync(from, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) {
    rmSync(from, { force: true });
    return null;
  }
  renameSync(from, to);
  return { path: to, size, sha256: await hashFile(to) };
}

/** Refuses every download, but still reports it. */
export async function denyDownloads(connection: CdpConnection): Promise<void> {
  await connection.root.send("Browser.setDownloadBehavior", {
    behavior: "deny",
    eventsEnabled: true,
  });
}
