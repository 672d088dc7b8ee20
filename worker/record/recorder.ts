import type { Clock } from "#shared/clock.ts";
import type { AssetMeta } from "#shared/schema/asset.ts";
import type { CaptureReport } from "#shared/schema/job.ts";
import type { CdpConnection, CdpSession, Protocol } from "../cdp/connection.ts";
import type { JobTab } from "../lanes/types.ts";
import { type Activity, createActivity } from "./activity.ts";
import { type Downloads, watchDownloads } from "./downloads.ts";
import { type BodySource, createLedger, type Ledger, type LossReason } from "./ledger.ts";
import { tapMedia } from "./media.ts";
import { createPartStore, partPosition, partSink } from "./parts.ts";
import { holdRequests, type Pause } from "./pauses.ts";
import { withoutVolatileParams } from "./ranges.ts";
import { type BodyRead, readBody } from "./read-body.ts";
import { createReadQueue } from "./read-queue.ts";
import {
  carriesBody,
  createRequestTable,
  declaredLength,
  hasBytes,
  type RequestEntry,
} from "./requests.ts";
import { createSpool, dropBody, type SpooledBody } from "./spool.ts";
import { createStreams, isEndless, needsTail } from "./streams.ts";
import { type TargetWatch, type Tracked, watchTargets } from "./targets.ts";
import { createTrace, type Trace, type TraceEntry } from "./trace.ts";
import { watchWindows } from "./window-watch.ts";

export interface RecorderDeps {
  connection: CdpConnection;
  dirs: { spool: string; downloads: string };
  capture: CaptureReport["method"];
  /** The job's tab in a browser that others use as well; null when the browser is the job's alone. */
  tab: JobTab | null;
  /** False: nothing is read or stored, the network is only watched. */
  bodies: boolean;
  min_size: number;
  spool_max_bytes: number;
  clock: Clock;
  /** Takes a whole body over; it removes the file. */
  store(meta: AssetMeta, body: SpooledBody): void;
  /** Whether a response from this address must not be kept; `document` responses end the job. */
  isRefused(address: string, port: number, url: string, document: boolean): boolean;
  /** A document is asked for, or a hop of its redirects is. */
  onDocumentRequest(url: string): void;
  /** A target was attached and does not run yet. */
  onTarget(target: Tracked): void;
  /** What is held back for the job's own reasons. */
  pauses: Pause[];
  /** Whether what a page writes into an empty window is not asked for. */
  stops_blank_windows: boolean;
  /** A document of a page's main frame was answered. */
  onDocument(target: Tracked, response: Protocol.Network.Response): void;
  onNote(level: "debug" | "info" | "warn", message: string, fields?: Record<string, unknown>): void;
}

export interface Recorder {
  readonly activity: Activity;
  readonly targets: TargetWatch;
  readonly downloads: Downloads;
  readonly stored: Ledger["stored"];
  /** Every request with its headers and timings; what begins after `seal` is not in it. */
  readonly trace: Trace;
  /** Name of the asset that holds the body of this request; null when none does. */
  assetOf(entry: TraceEntry): string | null;
  /** Whether a body of this URL is stored whole; settled after `drain`. */
  isWhole(url: string): boolean;
  takeName: Ledger["takeName"];
  /** Reads that are under way or waiting. */
  pendingReads(): number;
  /** Requests without an end yet, for the story. */
  openUrls(): string[];
  /** Whether this page waits for the answer to a navigation; it takes no commands meanwhile. */
  isNavigating(page: Tracked): boolean;
  /** What begins from now on is not part of the job. */
  seal(): void;
  /** Waits for the reads under way, then closes what will not end: streams, ranges, downloads, stalled requests. */
  drain(signal: AbortSignal): Promise<void>;
  report(failed_uploads: readonly string[]): CaptureReport;
}

/** Records everything the browser receives, passively (research §4.3). One recorder per browser and run. */
export async function startRecorder(deps: RecorderDeps): Promise<Recorder> {
  const { connection, clock } = deps;
  const spool = createSpool({ dir: deps.dirs.spool, max_bytes: deps.spool_max_bytes, clock });
  const activity = createActivity(clock);
  const ledger = createLedger({
    store: deps.store,
    drop: dropBody,
    onLoss: (kind, source, reason) =>
      deps.onNote(
        "warn",
        `${kind === "lost" ? "lost" : "kept only a part of"} ${source.url.slice(0, 500)}: ${reason}`,
        { reason },
      ),
  });
  const parts = createPartStore(spool, ledger);
  const reads = createReadQueue(clock, (err) =>
    deps.onNote("warn", `reading a body failed: ${String(err)}`),
  );
  /** Aborted documents may turn out to be downloads; decided at the end. */
  const aborted: { entry: RequestEntry; reason: LossReason }[] = [];
  const described = new Map<string, Pick<BodySource, "mime" | "status" | "page_url">>();
  const trace = createTrace();
  let sealed = false;

  const source = (entry: RequestEntry): BodySource => ({
    request_id: entry.id,
    url: entry.url,
    page_url: entry.page_url,
    mime: entry.mime,
    status: entry.response?.status ?? entry.wire_status,
    from_cache: entry.from_cache,
    from_service_worker: entry.response?.fromServiceWorker === true,
    paired:
      entry.from_cache ||
      entry.response?.fromServiceWorker === true ||
      entry.target.type === "service_worker",
  });
  const checkAddress = (entry: RequestEntry, response: Protocol.Network.Response) => {
    const { remoteIPAddress: address, remotePort: port } = response;
    if (!address || !port) return;
    if (deps.isRefused(address, port, response.url, entry.type === "Document"))
      entry.refused = true;
  };
  /** Where to read: the session that told the end, its plain one, where it began, then what that belongs to. */
  const sessionsFor = (entry: RequestEntry, by: Tracked): CdpSession[] => {
    const candidates = [by.session, by.plain, entry.target.session, entry.target.plain];
    for (let t = entry.target.parent; t; t = t.parent) candidates.push(t.session);
    return [...new Set(candidates)].filter((session) => session !== null);
  };

  const downloads = watchDownloads({
    connection,
    dir: deps.dirs.downloads,
    spool,
    ledger,
    activity,
    min_size: deps.min_size,
    describe: (url) =>
      described.get(url) ?? {
        mime: "",
        status: null,
        page_url: targets.pages()[0]?.page?.url ?? "",
      },
    onProgress: (message) => deps.onNote("info", message),
    onError: (err) => deps.onNote("warn", `storing a download failed: ${String(err)}`),
  });
  const windows = watchWindows({
    root: connection.root,
    clock,
    spool,
    windows: () => targets.pages(),
    bodies: deps.bodies,
    shared_browser: deps.tab !== null,
    stops_blank: deps.stops_blank_windows,
    onHeld: (id, url) => {
      activity.begin(id);
      deps.onDocumentRequest(url);
    },
    onAnswered: activity.end,
  });
  const streams = createStreams({ parts, source });
  const media = tapMedia({
    connection,
    parts,
    find: (id) => table.get(id),
    source,
    isRefused: (entry) => entry.refused,
  });

  const isWanted = (entry: RequestEntry) => deps.bodies && !entry.late && !entry.handled;
  const orphans = new Set<RequestEntry>();
  /** Finished, and not read yet. */
  const unread = new Set<RequestEntry>();
  let closed = false;
  const enqueue = (entry: RequestEntry, size: number, run: () => Promise<void>) => {
    unread.add(entry);
    const work = async () => {
      if (!closed) await run();
      unread.delete(entry);
    };
    // A frame, worker or popup may be gone in a moment, and its bodies with it; the only page stays until it leaves.
    const alone = entry.target.type === "page" && targets.pages().length === 1;
    reads.add(size, work, deps.capture === "durable" && alone && entry.type !== "Document");
  };
  /** Whether a read came too late: its body has been given up already. */
  const isLate = (result: BodyRead): boolean => {
    if (closed && "body" in result) dropBody(result.body);
    return closed;
  };

  const read = async (entry: RequestEntry, by: Tracked) => {
    const position = entry.response?.status === 206 ? partPosition(206, entry.headers) : null;
    const declared = entry.response?.fromServiceWorker ? null : declaredLength(entry.headers);
    const kept = windows.take(entry);
    const result: BodyRead = kept
      ? { body: kept }
      : await readBody(sessionsFor(entry, by), entry.id, spool, {
          bytes: hasBytes(entry),
          at_least: declared ?? 0,
        });
    if (isLate(result) || "empty" in result) return;
    if ("reason" in result) {
      // Blink stops reading an image at the first bytes that it cannot decode, and throws them away.
      const cut_short = result.reason === "empty_reply" && entry.received < (declared ?? 0);
      return ledger.lost(source(entry), cut_short ? "aborted" : result.reason);
    }
    const { body } = result;
    if (position) return joinPart(entry, body, position);
    if (body.size < deps.min_size) return ledger.skipped(body);
    if (!isEndless(entry)) return ledger.captured(source(entry), body);
    ledger.partial(source(entry), body, [{ start: 0, end: body.size - 1 }], "aborted");
  };
  const joinPart = async (
    entry: RequestEntry,
    body: SpooledBody,
    position: NonNullable<ReturnType<typeof partPosition>>,
  ) => {
    const file = parts.file(source(entry), position);
    const sink = partSink(file.coverage, position.start);
    if (body.bytes) sink.write(body.bytes);
    else for await (const chunk of Bun.file(body.path).stream()) sink.write(chunk);
    dropBody(body);
  };
  /** A body that broke off: what came is kept as a part, if the browser still has it. */
  const readPrefix = async (entry: RequestEntry, by: Tracked, reason: LossReason) => {
    const expected = { bytes: true, at_least: 0 };
    const result = await readBody(sessionsFor(entry, by), entry.id, spool, expected);
    if (isLate(result)) return;
    const position = entry.response?.status === 206 ? partPosition(206, entry.headers) : null;
    // A range that broke off is no loss of its own: players do that, and other ranges may hold the bytes.
    if (position && !("body" in result)) return void parts.file(source(entry), position);
    if (!("body" in result)) return ledger.lost(source(entry), reason);
    const { body } = result;
    if (position) return joinPart(entry, body, position);
    ledger.partial(source(entry), body, [{ start: 0, end: body.size - 1 }], reason);
  };

  /** The end was not told, but the durable buffer answers only for what has arrived whole, or broke off. */
  const readOrphan = async (entry: RequestEntry) => {
    const declared = declaredLength(entry.headers);
    const expected = { bytes: true, at_least: declared ?? 0 };
    const result = await readBody(sessionsFor(entry, entry.target), entry.id, spool, expected);
    if (isLate(result) || !("body" in result)) return;
    const { body } = result;
    if (!table.take(entry.id)) return dropBody(body);
    const position = partPosition(entry.wire_status ?? 0, entry.headers);
    if (position && entry.wire_status === 206) return joinPart(entry, body, position);
    if (body.size < deps.min_size) return ledger.skipped(body);
    // The length a camera declares is that of one picture.
    if (declared !== null && !isEndless(entry)) return ledger.captured(source(entry), body);
    ledger.partial(source(entry), body, [{ start: 0, end: body.size - 1 }], "target_gone");
  };

  const table = createRequestTable({
    onRequest: (entry) => {
      entry.late ||= sealed;
      if (!entry.late) activity.begin(entry.id);
      if (entry.type !== "Document") return;
      // The page leaves: what it has loaded is read before it is gone.
      if (entry.target.type === "page") reads.release();
      deps.onDocumentRequest(entry.url);
    },
    onRedirect: checkAddress,
    onResponse: (entry) => {
      activity.progress(entry.id);
      const response = entry.response;
      if (!response) return;
      checkAddress(entry, response);
      const { page_url } = entry;
      if (entry.type === "Document") {
        described.set(response.url, { mime: response.mimeType, status: response.status, page_url });
        if (entry.is_main_document) deps.onDocument(entry.target, response);
      }
      if (isEndless(entry)) activity.ignore(entry.id);
      if (!isWanted(entry) || entry.refused || !needsTail(entry)) return;
      entry.handled = true;
      streams.follow(entry, entry.target.plain ?? entry.target.session);
    },
    onData: (entry) => activity.progress(entry.id),
    onFinished: (entry, by) => {
      activity.end(entry.id);
      if (!isWanted(entry) || !carriesBody(entry)) return;
      if (entry.refused) return ledger.lost(source(entry), "protected");
      const size = Math.max(entry.received, declaredLength(entry.headers) ?? 0);
      enqueue(entry, size, () => read(entry, by));
    },
    onOrphan: (entry) => {
      activity.end(entry.id);
      if (!isWanted(entry) || entry.refused || !carriesBody(entry)) return;
      orphans.add(entry);
      reads.add(declaredLength(entry.headers) ?? 0, () => readOrphan(entry));
    },
    onFailed: (entry, by, _error, canceled) => {
      activity.end(entry.id);
      if (!isWanted(entry) || !entry.response || !carriesBody(entry)) return;
      if (entry.refused) return ledger.lost(source(entry), "protected");
      const reason: LossReason = by.session.is_closed ? "target_gone" : "aborted";
      if (entry.type === "Document" && canceled) return void aborted.push({ entry, reason });
      if (entry.received > 0) enqueue(entry, entry.received, () => readPrefix(entry, by, reason));
    },
  });
  const targets = watchTargets({
    connection,
    clock,
    durable: deps.capture === "durable",
    bodies: deps.bodies,
    owns: (target) => deps.tab?.owns(target) ?? true,
    onTarget: (target) => {
      windows.watch(target);
      table.watch(target);
      trace.watch(target);
      if (target.type !== "service_worker") streams.watch(target.session);
      deps.onTarget(target);
    },
    onPlain: (_owner, plain) => streams.watch(plain),
  });

  /** An orphan's bytes may have been on their way still when it was read first. */
  const retryOrphans = () => {
    for (const entry of orphans)
      if (table.get(entry.id) === entry) reads.add(0, () => readOrphan(entry));
  };
  /** What is still open when the job ends. */
  const closeOpen = () => {
    for (const entry of table.open()) {
      table.take(entry.id);
      if (!isWanted(entry) || !entry.response || !carriesBody(entry)) continue;
      if (entry.received > 0) ledger.lost(source(entry), "timeout");
    }
    for (const { entry, reason } of aborted)
      if (entry.received > 0 && !downloads.has(entry.url)) ledger.lost(source(entry), reason);
    // The window was gone before its answers were told.
    for (const url of windows.finish().filter((u) => !ledger.isWhole(u) && !downloads.has(u)))
      ledger.lost(
        {
          ...{ url, page_url: targets.pages()[0]?.page?.url ?? "", mime: "", status: null },
          ...{ from_cache: false, from_service_worker: false, paired: false },
        },
        "target_gone",
      );
  };

  const startDownloads = () => (deps.bodies ? downloads.start() : denyDownloads(connection));
  const [, pauses] = await Promise.all([
    deps.tab?.downloads === false ? undefined : startDownloads(),
    holdRequests(connection, [
      ...(deps.bodies ? [media.pause] : []),
      ...deps.pauses,
      ...windows.pauses,
    ]),
    targets.start(),
  ]);
  windows.start(pauses);
  return {
    activity,
    targets,
    downloads,
    stored: ledger.stored,
    trace,
    isWhole: (url) => ledger.isWhole(url) || ledger.isWhole(withoutVolatileParams(url)),
    takeName: ledger.takeName,
    assetOf: ({ request_id, url, method, response, redirect_url }) => {
      // A redirect's hop and a preflight have the id or the URL of what has a body.
      if (method === "OPTIONS" || !response || redirect_url !== "") return null;
      return ledger.nameOf(request_id, url) ?? ledger.nameOf("", withoutVolatileParams(url));
    },
    pendingReads: () => reads.pending,
    openUrls: () => table.open().map(({ url }) => url),
    isNavigating: (page) =>
      table.open().some((e) => e.is_main_document && e.target === page && e.response === null),
    seal: () => {
      sealed = true;
      trace.seal();
    },
    drain: async (signal) => {
      sealed = true;
      retryOrphans();
      const aborted_early = new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
      await Promise.race([Promise.all([reads.drained(), media.settled()]), aborted_early]);
      closed = true;
      for (const entry of unread) ledger.lost(source(entry), "timeout");
      closeOpen();
      await downloads.finish();
      await parts.finish(deps.min_size);
    },
    report: (failed) => ledger.report(deps.capture, failed),
  };
}

async function denyDownloads(connection: CdpConnection): Promise<void> {
  await connection.root.send("Browser.setDownloadBehavior", {
    behavior: "deny",
    eventsEnabled: true,
  });
}
