import type { Clock } from "#shared/kit/clock.ts";
import type { AssetMeta } from "#shared/protocol/schema/asset.ts";
import type { CaptureReport } from "#shared/protocol/schema/job.ts";
import type { CdpConnection, Protocol } from "../cdp/connection.ts";
import type { JobTab } from "../lanes/types.ts";
import { type Activity, createActivity } from "./activity.ts";
import { watchArrivals } from "./arrived.ts";
import { watchBlindness } from "./blindness.ts";
import { createBodyReader, sourceOf } from "./bodies.ts";
import { type Downloads, denyDownloads, watchDownloads } from "./downloads.ts";
import { judgeFailure } from "./failed.ts";
import { createLedger, type Ledger, type LossReason } from "./ledger.ts";
import { closeOpen, type Unanswered } from "./left-open.ts";
import { tapMedia } from "./media.ts";
import { createPartStore } from "./parts.ts";
import { holdRequests, type Pause } from "./pauses.ts";
import { withoutVolatileParams } from "./ranges.ts";
import { createReadQueue } from "./read-queue.ts";
import {
  carriesBody,
  createRequestTable,
  declaredLength,
  type Progress,
  progressOf,
  type RequestEntry,
} from "./requests.ts";
import { createSpool, dropBody, type SpooledBody } from "./spool.ts";
import { createStreams, isEndless, needsTail, outgrows } from "./streams.ts";
import { type TargetWatch, type Tracked, watchTargets } from "./targets.ts";
import { createTrace, type NetworkFacts, type Trace, type TraceEntry } from "./trace.ts";
import { isUntouched, mayStayAway } from "./untouched.ts";
import { watchWindows } from "./window-watch.ts";

export interface RecorderDeps {
  connection: CdpConnection;
  dirs: { spool: string; downloads: string };
  capture: CaptureReport["method"];
  /** The job's tab in a browser that others use as well; null when the browser is the job's alone. */
  tab: JobTab | null;
  /** False when nothing is read or stored and the network is only watched. */
  bodies: boolean;
  min_size: number;
  spool_max_bytes: number;
  clock: Clock;
  /** Takes over a whole body and removes its file. */
  store(meta: AssetMeta, body: SpooledBody): void;
  /** What the browser's gate knows; null in a browser without one. */
  facts: NetworkFacts | null;
  /** Whether the gate let nothing out for this URL; asked once it failed. */
  isHeldBack(error_text: string, url: string, document: boolean): boolean;
  /**
   * Whether a response from this address must not be kept; `document` responses end the job. Only used in a browser
   * without a gate: a gate has judged the address before anything was sent there.
   */
  isRefused(address: string, port: number, url: string, document: boolean): boolean;
  /** A document is requested, or a hop of its redirects is. */
  onDocumentRequest(url: string): void;
  /** A target was attached and does not run yet. */
  onTarget(target: Tracked): void;
  /** Requests that are held for the job's own reasons. */
  pauses: Pause[];
  /** Whether requests are stopped that a page causes by writing into an empty window. */
  stops_blank_windows: boolean;
  /** Whether a server that asks for a password is refused one at once, because nobody is there to type it. */
  refuses_logins: boolean;
  /** A document of a page's main frame was answered. */
  onDocument(target: Tracked, response: Protocol.Network.Response): void;
  onNote(level: "debug" | "info" | "warn", message: string, fields?: Record<string, unknown>): void;
}

/** A request without an end; `received` bytes of `total` have arrived; `total` is null when it was not announced. */
export interface OpenRequest {
  url: string;
  progress: Progress | "unread";
  received: number;
  total: number | null;
}

export interface Recorder {
  readonly activity: Activity;
  /** Resolves when a page's document is requested for the first time since the start. */
  readonly asked: Promise<void>;
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
  /** Requests without an end yet, for the log; endless ones are left out. */
  open(): OpenRequest[];
  /** Whether this page waits for the answer to a navigation; it takes no commands meanwhile. */
  isNavigating(page: Tracked): boolean;
  /** Requests that begin from now on are not part of the job; they are counted as `late` until `drain`. */
  seal(): void;
  /** URLs of requests that began since `seal`. */
  late(): readonly string[];
  /** Requests that had no answer when `drain` was over. */
  unanswered(): Unanswered;
  /** Waits for the reads under way, then closes what will not end: streams, ranges, downloads, stalled requests. */
  drain(signal: AbortSignal): Promise<void>;
  report(failed_uploads: readonly string[]): CaptureReport;
  /** What is known about a page that received a body although no body was seen at all; null when all is well. */
  blindness(): Record<string, unknown> | null;
}

/** Records everything the browser receives, passively (rules/capture#what-is-captured). One recorder per browser and run. */
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
  const described = new Map<string, ReturnType<Parameters<typeof watchDownloads>[0]["describe"]>>();
  const trace = createTrace(deps.facts);
  let sealed = false;
  let draining = false;
  /** URLs that were requested after `seal`, until `drain`. */
  const late: string[] = [];
  let unanswered: Unanswered = { unsent: [], sent: [] };
  const blindness = watchBlindness();
  const asked = Promise.withResolvers<void>();

  const checkAddress = (entry: RequestEntry, response: Protocol.Network.Response) => {
    const { remoteIPAddress: address, remotePort: port } = response;
    if (deps.facts || !address || !port) return;
    if (deps.isRefused(address, port, response.url, entry.type === "Document"))
      entry.refused = true;
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
        frame_url: null,
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
  const streams = createStreams({
    parts,
    source: sourceOf,
    progress: (id) => activity.progress(id),
  });
  const media = tapMedia({
    connection,
    parts,
    find: (id) => table.get(id),
    source: sourceOf,
    isRefused: (entry) => entry.refused,
  });

  const isWanted = (entry: RequestEntry) => deps.bodies && !entry.late && !entry.handled;
  const orphans = new Set<RequestEntry>();
  /** Requests that have finished but were not read yet. */
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
  /** All bytes of a body seem to be there, and its page does not read them. */
  const onArrived = (entry: RequestEntry) => {
    if (entry.handled || isEndless(entry) || !entry.response) return;
    const declared = declaredLength(entry.headers);
    const is_whole = declared !== null && entry.received >= declared;
    if (is_whole && (!isWanted(entry) || entry.refused)) return activity.settle(entry.id);
    // Only the durable buffer tells whole bodies from unfinished ones; it has none that a service worker created.
    const is_durable = deps.capture === "durable" && !entry.response.fromServiceWorker;
    if (!isWanted(entry) || entry.refused || !carriesBody(entry)) return;
    if (is_whole || is_durable)
      reads.add(entry.received, async () => {
        if (table.get(entry.id) === entry) await bodies.readArrived(entry);
      });
  };
  const bodies = createBodyReader({
    ...{ spool, ledger, parts, min_size: deps.min_size },
    kept: windows.take,
    isClosed: () => closed,
    take: (entry) => table.take(entry.id) === entry,
    onWhole: ({ id }) => {
      activity.settle(id);
      trace.settle(id);
    },
  });
  const arrivals = watchArrivals(clock, (entry) => table.get(entry.id) === entry, onArrived);
  const settleUntouched = async (entry: RequestEntry) => {
    const isOpen = () => table.get(entry.id) === entry && !entry.handled;
    entry.untouched = await isUntouched(entry, clock, isOpen);
    if (entry.untouched) activity.settle(entry.id);
  };
  const follow = (entry: RequestEntry) => {
    entry.handled = true;
    const { plain, session } = entry.target;
    streams.follow(entry, plain ? [plain, session] : [session]);
  };
  const table = createRequestTable({
    onRequest: (entry, is_hop) => {
      if (sealed && !is_hop && !entry.late) {
        entry.late = true;
        if (!draining) late.push(entry.url);
      }
      if (!entry.late) activity.begin(entry.id);
      if (entry.type !== "Document") return;
      // The page navigates away: what it has loaded is read before it is gone.
      if (entry.target.type === "page") reads.release();
      deps.onDocumentRequest(entry.url);
      if (entry.is_main_document) asked.resolve();
    },
    onRedirect: checkAddress,
    onResponse: (entry) => {
      activity.progress(entry.id);
      const response = entry.response;
      if (!response) return;
      checkAddress(entry, response);
      const { page_url, frame_url } = entry;
      if (entry.type === "Document") {
        described.set(response.url, {
          mime: response.mimeType,
          status: response.status,
          page_url,
          frame_url,
        });
        if (entry.is_main_document) {
          blindness.answered(entry);
          deps.onDocument(entry.target, response);
        }
      }
      if (isEndless(entry)) activity.ignore(entry.id);
      else if (mayStayAway(entry)) void settleUntouched(entry);
      if (!isWanted(entry) || entry.refused || !needsTail(entry)) return;
      follow(entry);
    },
    onData: (entry) => {
      if (entry.untouched) {
        // Its page reads it now, or its server took its time.
        entry.untouched = false;
        activity.resume(entry.id);
      }
      activity.progress(entry.id);
      if (entry.handled) return;
      if (isWanted(entry) && !entry.refused && outgrows(entry)) return follow(entry);
      arrivals.heard(entry);
    },
    onFinished: (entry, by) => {
      activity.end(entry.id);
      if (entry.is_main_document) blindness.ended(entry);
      if (!isWanted(entry) || !carriesBody(entry)) return;
      if (entry.refused) return ledger.lost(sourceOf(entry), "protected");
      const size = Math.max(entry.received, declaredLength(entry.headers) ?? 0);
      enqueue(entry, size, () => bodies.read(entry, by));
    },
    onOrphan: (entry) => {
      activity.end(entry.id);
      if (!isWanted(entry) || entry.refused || !carriesBody(entry)) return;
      orphans.add(entry);
      reads.add(declaredLength(entry.headers) ?? 0, () => bodies.readOrphan(entry));
    },
    onFailed: (entry, by, error, canceled) => {
      activity.end(entry.id);
      if (deps.isHeldBack(error, entry.url, entry.type === "Document")) {
        entry.refused = true;
        if (isWanted(entry)) ledger.lost(sourceOf(entry), "protected");
        return;
      }
      if (!isWanted(entry)) return;
      const failure = judgeFailure(entry, { canceled, gone: by.session.is_closed });
      const { kind } = failure;
      if (kind === "lost") ledger.lost(sourceOf(entry), failure.reason);
      if (kind === "download") aborted.push({ entry, reason: failure.reason });
      if (kind === "read")
        enqueue(entry, entry.received, () => bodies.readPrefix(entry, by, failure.reason));
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
      // A page has loaded its worker's script, and now the worker may make requests itself.
      activity.touch();
      target.session.on("Page.loadEventFired", activity.touch);
      table.watch(target);
      trace.watch(target);
      if (target.type !== "service_worker") streams.watch(target.session);
      deps.onTarget(target);
    },
    onPlain: (_owner, plain) => streams.watch(plain),
    onUnseen: ({ session, type, page }, err) => {
      if (session.is_closed) return;
      deps.onNote("warn", `the requests of a ${type} are not visible: ${err.message}`, {
        page_url: page?.url.slice(0, 500) ?? null,
      });
    },
  });

  /** An orphan's bytes may still have been on their way when it was first read. */
  const retryOrphans = () => {
    for (const entry of orphans)
      if (table.get(entry.id) === entry) reads.add(0, () => bodies.readOrphan(entry));
  };
  /** The network process may have it whole while its page is too busy to take it, and answers for it. */
  const isUntold = (entry: RequestEntry) =>
    deps.capture === "durable" &&
    progressOf(entry) === "answered" &&
    entry.received === 0 &&
    !entry.untouched;
  const cutOpen = () => {
    for (const entry of table.open()) {
      if (!isWanted(entry) || !carriesBody(entry) || entry.refused) continue;
      if (isUntold(entry)) reads.add(0, () => bodies.readOrphan(entry));
      if (!entry.response || entry.received === 0) continue;
      table.take(entry.id);
      enqueue(entry, entry.received, () => bodies.readCut(entry));
    }
  };
  /** What is still open when the job ends. */
  const close = () => {
    unanswered = closeOpen(table, isWanted, ledger);
    for (const { entry, reason } of aborted)
      if (entry.received > 0 && !downloads.has(entry.url)) ledger.lost(sourceOf(entry), reason);
    // The window was gone before its answers were reported.
    for (const url of windows.finish().filter((u) => !ledger.isWhole(u) && !downloads.has(u)))
      ledger.lost(
        {
          ...{ url, page_url: targets.pages()[0]?.page?.url ?? "", mime: "", status: null },
          frame_url: null,
          ...{ from_cache: false, from_service_worker: false, paired: false },
        },
        "target_gone",
      );
  };

  const startDownloads = () => (deps.bodies ? downloads.start() : denyDownloads(connection));
  const [, pauses] = await Promise.all([
    deps.tab?.downloads === false ? undefined : startDownloads(),
    holdRequests(
      connection,
      [...(deps.bodies ? [media.pause] : []), ...deps.pauses, ...windows.pauses],
      deps.refuses_logins,
    ),
    targets.start(),
  ]);
  windows.start(pauses);
  return {
    activity,
    asked: asked.promise,
    targets,
    downloads,
    stored: ledger.stored,
    trace,
    isWhole: (url) => ledger.isWhole(url) || ledger.isWhole(withoutVolatileParams(url)),
    takeName: ledger.takeName,
    assetOf: ({ request_id, url, method, response, redirect_url }) => {
      // A redirect hop and a preflight have the id or the URL of a request that has a body.
      if (method === "OPTIONS" || !response || redirect_url !== "") return null;
      return ledger.nameOf(request_id, url) ?? ledger.nameOf("", withoutVolatileParams(url));
    },
    pendingReads: () => reads.pending,
    open: () =>
      table
        .open()
        .filter((entry) => !entry.late && !isEndless(entry))
        .map((entry) => ({
          url: entry.url,
          progress: entry.untouched ? "unread" : progressOf(entry),
          received: entry.received,
          total: declaredLength(entry.headers),
        })),
    late: () => late,
    unanswered: () => unanswered,
    isNavigating: (page) =>
      table.open().some((e) => e.is_main_document && e.target === page && e.response === null),
    seal: () => {
      sealed = true;
      trace.seal();
    },
    drain: async (signal) => {
      sealed = true;
      draining = true;
      retryOrphans();
      const aborted_early = new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
      const whole = Promise.all([reads.drained(), media.settled()]);
      // Open requests are cut only when everything else is read: they may end meanwhile.
      const all = whole.then(() => {
        cutOpen();
        return reads.drained();
      });
      await Promise.race([all, aborted_early]);
      closed = true;
      for (const entry of unread) ledger.lost(sourceOf(entry), "timeout");
      close();
      await downloads.finish();
      await parts.finish(deps.min_size);
    },
    report: (failed) => ({
      ...ledger.report(deps.capture, failed),
      ...{ late: late.length, unanswered: unanswered.unsent.length + unanswered.sent.length },
    }),
    blindness: () => {
      const { seen, skipped } = ledger.report(deps.capture, []);
      if (!deps.bodies || seen + skipped > 0) return null;
      return blindness.tell({ targets: targets.all(), activity, trace, downloads });
    },
  };
}
