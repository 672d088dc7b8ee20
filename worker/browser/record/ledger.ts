import { assetKind, createNamer } from "#shared/archive/asset-names.ts";
import type { AssetMeta, ByteRange } from "#shared/protocol/schema/asset.ts";
import type { CaptureReport } from "#shared/protocol/schema/job.ts";
import type { SpooledBody } from "#worker/upload/asset-sink.ts";

/** Why a body is not whole; the reasons that `CaptureReport` lists. */
export type LossReason =
  | "evicted"
  | "target_gone"
  | "aborted"
  | "empty_reply"
  | "too_large"
  | "timeout"
  | "unread"
  | "protected"
  | "upload_failed"
  | "spool_full";

/** Where a body came from, as its asset will say. */
export interface BodySource {
  url: string;
  page_url: string;
  /** Null when unknown. */
  frame_url: string | null;
  mime: string;
  status: number | null;
  from_cache: boolean;
  from_service_worker: boolean;
  /** Inherently seen twice: from a cache, or by a page and by the service worker that serves it. */
  paired: boolean;
  /** The name a download was given. */
  suggested_name?: string;
  /** The request that brought it, if one did. */
  request_id?: string;
}

/** Every body that was seen is entered here exactly once: stored, stored in part, lost, or left out on purpose. */
export interface Ledger {
  captured(source: BodySource, body: SpooledBody): void;
  partial(source: BodySource, body: SpooledBody, ranges: ByteRange[], reason: LossReason): void;
  lost(source: BodySource, reason: LossReason): void;
  skipped(body: SpooledBody): void;
  /**
   * Name of the asset that holds the body of this request, or else of any request for this URL; null when none does.
   */
  nameOf(request_id: string, url: string): string | null;
  /** Whether a body of this URL is stored whole. */
  isWhole(url: string): boolean;
  /** A name that no asset of the job has, for what is stored next to the captured bodies. */
  takeName(url: string, mime: string, suggested: string): string;
  /** Bodies stored so far, with their bytes. */
  readonly stored: { count: number; bytes: number };
  /** Uploads that failed for good turn captured or partial bodies into lost ones. */
  report(method: CaptureReport["method"], failed_uploads: readonly string[]): CaptureReport;
}

export interface LedgerDeps {
  /** Takes ownership of the file. */
  store(meta: AssetMeta, body: SpooledBody): void;
  /** Removes a body's file that is not needed. */
  drop(body: SpooledBody): void;
  /** Logs what could not be kept whole. */
  onLoss(kind: "partial" | "lost", source: BodySource, reason: LossReason): void;
}

const MAX_URL = 70_000;
/** The rest of a longer data: URL says nothing about where a download came from. */
const MAX_DATA_URL = 2_048;

export function createLedger(deps: LedgerDeps): Ledger {
  const namer = createNamer();
  /** Stored names; the reason why a body is not whole, null when it is. */
  const names = new Map<string, LossReason | null>();
  /** Names of whole bodies by checksum and URL. */
  const whole = new Map<string, string>();
  const whole_urls = new Set<string>();
  const by_request = new Map<string, string>();
  const by_url = new Map<string, string>();
  const losses: { source: BodySource; reason: LossReason }[] = [];
  let skipped = 0;
  const stored = { count: 0, bytes: 0 };

  const remember = ({ request_id, url }: BodySource, name: string): string => {
    if (request_id !== undefined) by_request.set(request_id, name);
    by_url.set(url, name);
    return name;
  };
  const put = (
    source: BodySource,
    body: SpooledBody,
    ranges: ByteRange[],
    reason: LossReason | null,
  ): string => {
    const { name, mime, ext } = namer.take(source.url, source.mime, source.suggested_name);
    names.set(name, reason);
    stored.count += 1;
    stored.bytes += body.size;
    deps.store(metaOf(source, { name, mime, ext }, ranges, reason !== null), body);
    return remember(source, name);
  };
  return {
    stored,
    captured: (source, body) => {
      // A page and its service worker both see one body, and a second visit loads the first one's files again.
      const key = `${body.sha256} ${source.url}`;
      const known = whole.get(key);
      if (known !== undefined) {
        remember(source, known);
        return deps.drop(body);
      }
      whole_urls.add(source.url);
      whole.set(key, put(source, body, [], null));
    },
    partial: (source, body, ranges, reason) => {
      deps.onLoss("partial", source, reason);
      put(source, body, ranges, reason);
    },
    lost: (source, reason) => {
      losses.push({ source, reason });
      if (!source.paired) deps.onLoss("lost", source, reason);
    },
    nameOf: (request_id, url) => by_request.get(request_id) ?? by_url.get(url) ?? null,
    isWhole: (url) => whole_urls.has(url),
    takeName: (url, mime, suggested) => namer.take(url, mime, suggested).name,
    skipped: (body) => {
      skipped += 1;
      deps.drop(body);
    },
    report: (method, failed_uploads) => {
      // When two requests share one body, the second may be unreadable although the first was kept.
      const lost = losses.filter(
        (loss) => !(loss.source.paired && whole_urls.has(loss.source.url)),
      );
      const failed = failed_uploads.filter((name) => names.delete(name));
      const partial = [...names.values()].filter((reason) => reason !== null);
      const reasons = [
        ...lost.map(({ reason }) => reason),
        ...failed.map(() => "upload_failed" as const),
      ];
      return reportOf({
        method,
        captured: names.size - partial.length,
        lost: reasons,
        partial,
        skipped,
      });
    },
  };
}

const metaOf = (
  source: BodySource,
  { name, mime, ext }: Pick<AssetMeta, "name" | "mime" | "ext">,
  ranges: ByteRange[],
  partial: boolean,
): AssetMeta => ({
  name,
  kind: assetKind(mime),
  mime,
  ext,
  source_url: source.url.slice(0, source.url.startsWith("data:") ? MAX_DATA_URL : MAX_URL),
  page_url: source.page_url.slice(0, MAX_URL),
  frame_url: source.frame_url?.slice(0, MAX_URL) ?? null,
  status: source.status,
  from_cache: source.from_cache,
  from_service_worker: source.from_service_worker,
  partial,
  refetched: false,
  ranges: ranges.slice(0, 1_000),
});

/** @param counted every body; those that are not whole by the reason why */
function reportOf(counted: {
  method: CaptureReport["method"];
  captured: number;
  lost: LossReason[];
  partial: LossReason[];
  skipped: number;
}): CaptureReport {
  const { method, captured, skipped } = counted;
  const [lost, partial] = [counted.lost.length, counted.partial.length];
  const reasons: Record<string, number> = {};
  for (const reason of [...counted.lost, ...counted.partial])
    reasons[reason] = (reasons[reason] ?? 0) + 1;
  const seen = captured + partial + lost;
  const ratio = seen === 0 ? 1 : captured / seen;
  return { seen, captured, partial, lost, skipped, ratio, reasons, method };
}
