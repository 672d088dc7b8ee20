import type { Clock } from "#shared/kit/clock.ts";
import type { AssetMeta } from "#shared/protocol/schema/asset.ts";
import type { CaptureReport } from "#shared/protocol/schema/job.ts";
import type { SpooledBody } from "#worker/upload/asset-sink.ts";
import type { CdpConnection } from "../cdp/connection.ts";
import type { JobTab } from "../lanes/lane-browser.ts";
import { type Activity, createActivity } from "./activity.ts";
import { createBodyQueue } from "./body-queue.ts";
import { sourceOf } from "./body-source.ts";
import { createDocuments, type DocumentEvents } from "./documents.ts";
import { type Downloads, denyDownloads, watchDownloads } from "./downloads.ts";
import { createGaps } from "./gaps.ts";
import type { Ledger } from "./ledger.ts";
import type { Unanswered } from "./left-open.ts";
import type { Logins } from "./logins.ts";
import { tapMedia } from "./media.ts";
import { holdRequests, type Pause } from "./pauses.ts";
import { withoutVolatileParams } from "./ranges.ts";
import { createRequestEvents, type RefusalRules } from "./request-events.ts";
import { createRequestTable } from "./request-table.ts";
import { watchRequests } from "./request-watch.ts";
import { declaredLength, type Progress, progressOf, type RequestEntry } from "./requests.ts";
import { openStores } from "./stores.ts";
import { createStreams, isEndless } from "./streams.ts";
import { type TargetWatch, type Tracked, watchTargets } from "./targets.ts";
import { createTrace, type Trace } from "./trace.ts";
import type { NetworkFacts, TraceEntry } from "./trace-entry.ts";
import { createWanted } from "./wanted.ts";
import { watchWindows } from "./window-watch.ts";

export interface RecorderDeps extends DocumentEvents {
  connection: CdpConnection;
  dirs: { spool: string; downloads: string };
  capture: CaptureReport["method"];
  /** The job's tab in a browser that others use as well; null when only this job uses the browser. */
  tab: JobTab | null;
  /** False when nothing is read or stored and the network is only watched. */
  bodies: boolean;
  min_size: number;
  spool_max_bytes: number;
  /** How much downloads may have in all; null: as much as the spool has room for. */
  max_download_bytes: number | null;
  clock: Clock;
  /** Takes over a whole body and removes its file. */
  store(meta: AssetMeta, body: SpooledBody): void;
  /** What the browser's gate knows; null in a browser without one. */
  facts: NetworkFacts | null;
  isHeldBack: RefusalRules["isHeldBack"];
  /**
   * Whether a response from this address must not be kept; `document` responses end the job. Only used in a browser
   * without a gate: a gate has judged the address before anything was sent there.
   */
  isRefused(address: string, port: number, url: string, document: boolean): boolean;
  /** A target was attached and does not run yet. */
  onTarget(target: Tracked): void;
  /** Requests that are held for the job's own reasons. */
  pauses: Pause[];
  /** Whether requests are stopped that a page causes by writing into an empty window. */
  stops_blank_windows: boolean;
  /** Refused at once where nobody is there to type one. */
  logins: Logins;
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
  /** Name of the asset that holds a whole body of this URL; null when none does. */
  wholeAsset(url: string): string | null;
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
  const parts = createParts(deps);
  const { downloads, media, windows, targets } = parts;
  const startDownloads = () => (deps.bodies ? downloads.start() : denyDownloads(deps.connection));
  const [, pauses] = await Promise.all([
    deps.tab?.downloads === false ? undefined : startDownloads(),
    holdRequests(
      deps.connection,
      [...deps.pauses, ...(deps.bodies ? [media.pause] : []), ...windows.pauses],
      deps.logins,
    ),
    targets.start(),
  ]);
  windows.start(pauses);
  return recorderOf(parts, deps);
}

type Parts = ReturnType<typeof createParts>;

/** Everything that a recorder consists of; nothing has started yet. */
function createParts(deps: RecorderDeps) {
  const { connection, clock, facts } = deps;
  const durable = deps.capture === "durable";
  const pageUrl = () => targets.pages()[0]?.page?.url ?? "";
  const warn = (what: string) => (err: unknown) => deps.onNote("warn", `${what}: ${String(err)}`);

  const stores = storesOf(deps);
  const { spool, ledger, parts } = stores;
  const activity = createActivity(clock);
  const trace = createTrace(facts);
  const table = createRequestTable();
  const wanted = createWanted(deps.bodies);
  const documents = createDocuments(deps, pageUrl);
  const downloads = watchDownloads({
    connection,
    dir: deps.dirs.downloads,
    stores,
    activity,
    max_bytes: deps.max_download_bytes,
    describe: documents.describe,
    onProgress: (message) => deps.onNote("info", message),
    onError: warn("storing a download failed"),
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
  const streams = createStreams({ parts, source: sourceOf, progress: activity.progress });
  const media = tapMedia({ connection, parts, find: table.get, source: sourceOf });
  const bodies = createBodyQueue({
    stores,
    table,
    activity,
    wanted,
    clock,
    durable,
    isOnlyPage: (target) => target.type === "page" && targets.pages().length === 1,
    kept: windows.take,
    onWhole: ({ id }) => trace.settle(id),
    onError: warn("reading a body failed"),
  });
  const gaps = createGaps({ table, ledger, downloads, windows, wanted, pageUrl });
  const rules = { isHeldBack: deps.isHeldBack, isRefused: facts ? null : deps.isRefused };
  const used = { table, activity, ledger, documents, wanted, bodies, streams, gaps, rules, clock };
  const requests = watchRequests(table, createRequestEvents(used));
  const targets = watchTargets({
    connection,
    clock,
    durable,
    bodies: deps.bodies,
    owns: (target) => deps.tab?.owns(target) ?? true,
    onTarget: (target) => {
      windows.watch(target);
      // A page has loaded its worker's script, and now the worker may make requests itself.
      activity.touch();
      target.session.on("Page.loadEventFired", activity.touch);
      requests.watch(target);
      trace.watch(target);
      if (target.type !== "service_worker") streams.watch(target.session);
      deps.onTarget(target);
    },
    onPlain: (_owner, plain) => streams.watch(plain),
    onUnseen: noteUnseen(deps),
  });
  return { ...used, stores, trace, downloads, windows, media, targets };
}

const storesOf = ({ dirs, spool_max_bytes, min_size, clock, store, onNote }: RecorderDeps) =>
  openStores({ dir: dirs.spool, max_bytes: spool_max_bytes, clock }, min_size, {
    store,
    onLoss: (kind, source, reason) => {
      const what = kind === "lost" ? "lost" : "kept only a part of";
      onNote("warn", `${what} ${source.url.slice(0, 500)}: ${reason}`, { reason });
    },
  });

const noteUnseen =
  ({ onNote }: RecorderDeps) =>
  ({ session, type, page }: Tracked, err: Error): void => {
    if (session.is_closed) return;
    onNote("warn", `the requests of a ${type} are not visible: ${err.message}`, {
      page_url: page?.url.slice(0, 500) ?? null,
    });
  };

function recorderOf(parts: Parts, deps: RecorderDeps): Recorder {
  const { activity, documents, targets, downloads, trace, table, wanted, bodies, gaps } = parts;
  const { ledger } = parts;
  return {
    activity,
    asked: documents.asked,
    targets,
    downloads,
    stored: ledger.stored,
    trace,
    isWhole: (url) => ledger.isWhole(url) || ledger.isWhole(withoutVolatileParams(url)),
    wholeAsset: (url) => (ledger.isWhole(url) ? ledger.nameOf("", url) : null),
    takeName: ledger.takeName,
    assetOf: ({ request_id, url, method, response, redirect_url }) => {
      // A redirect hop and a preflight have the id or the URL of a request that has a body.
      if (method === "OPTIONS" || !response || redirect_url !== "") return null;
      return ledger.nameOf(request_id, url) ?? ledger.nameOf("", withoutVolatileParams(url));
    },
    pendingReads: bodies.pending,
    open: () =>
      table
        .open()
        .filter((entry) => !entry.late && !isEndless(entry))
        .map(asOpenRequest),
    late: () => wanted.late,
    unanswered: gaps.unanswered,
    isNavigating: (page) =>
      table.open().some((e) => e.is_main_document && e.target === page && e.response === null),
    seal: () => {
      wanted.seal();
      trace.seal();
    },
    drain: (signal) => drain(parts, signal),
    report: (failed) => {
      const { unsent, sent } = gaps.unanswered();
      return {
        ...ledger.report(deps.capture, failed),
        late: wanted.late.length,
        unanswered: unsent.length + sent.length,
      };
    },
    blindness: () => {
      const { seen, skipped } = ledger.report(deps.capture, []);
      if (!deps.bodies || seen + skipped > 0) return null;
      return documents.tellBlindness({ targets: targets.all(), activity, trace, downloads });
    },
  };
}

const asOpenRequest = (entry: RequestEntry): OpenRequest => ({
  url: entry.url,
  progress: entry.untouched ? "unread" : progressOf(entry),
  received: entry.received,
  total: declaredLength(entry.headers),
});

async function drain(parts: Parts, signal: AbortSignal): Promise<void> {
  const { wanted, bodies, media, gaps, downloads, stores } = parts;
  wanted.stopCounting();
  const aborted_early = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await Promise.race([bodies.drained(media.settled()), aborted_early]);
  bodies.close();
  gaps.close();
  await downloads.finish();
  await stores.parts.finish(stores.min_size);
}
