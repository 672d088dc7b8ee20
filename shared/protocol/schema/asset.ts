import { z } from "@hono/zod-openapi";
import { STORED_DOCUMENTS } from "../documents.ts";
import { isSafeName } from "../names.ts";
import { CaptureReport, JobStatus } from "./job.ts";

const ASSET_KINDS = ["image", "video", "audio", "other"] as const;
export const AssetKind = z.enum(ASSET_KINDS);
export type AssetKind = z.infer<typeof AssetKind>;

/** A byte range of a partial body, both ends included. */
export const ByteRange = z.object({ start: z.int().min(0), end: z.int().min(0) });
export type ByteRange = z.infer<typeof ByteRange>;

const SafeName = z.string().refine(isSafeName, { error: "is not a safe file name" });

/** What the worker knows about a captured body, sent with its upload. `status`: HTTP status, null for a download. */
export const AssetMeta = z.object({
  name: SafeName,
  kind: AssetKind,
  mime: z.string().max(255),
  ext: z.string().max(32),
  source_url: z.string().max(70_000),
  /** The page of the tab, whichever frame made the request. */
  page_url: z.string().max(70_000),
  /** The frame's document that requested it; for a worker, its owner; null if unknown. */
  frame_url: z.string().max(70_000).nullable().default(null),
  status: z.int().min(0).max(999).nullable(),
  from_cache: z.boolean(),
  from_service_worker: z.boolean(),
  partial: z.boolean(),
  /** Fetched again by the video downloader, not received by the browser. */
  refetched: z.boolean().default(false),
  /** Ranges held of a partial body; empty for a whole one. */
  ranges: z.array(ByteRange).max(1_000),
});
export type AssetMeta = z.infer<typeof AssetMeta>;

/** Asset item (rules/capture#assets). `size` is the decoded body in bytes. */
export const Asset = AssetMeta.extend({
  name: z.string(),
  href: z.string(),
  size: z.int(),
  size_h: z.string(),
  sha256: z.string(),
}).openapi("Asset");
export type Asset = z.infer<typeof Asset>;

export const AssetList = z
  .object({ job_id: z.string(), count: z.int(), items: z.array(Asset) })
  .openapi("AssetList");

/** GET /jobs/{id}/result (rules/documents#result). An href is null while its file does not exist. */
export const JobResult = z
  .object({
    job_id: z.string(),
    status: JobStatus,
    html_href: z.string().nullable(),
    log_href: z.string(),
    har_href: z.string().nullable(),
    links_href: z.string().nullable(),
    assets: z.array(
      z.object({ name: z.string(), href: z.string(), kind: AssetKind, size: z.int() }),
    ),
    capture: CaptureReport.nullable(),
  })
  .openapi("JobResult");

/** links.json: every distinct anchor of the page and its frames. */
export const LinkList = z
  .object({
    job_id: z.string(),
    count: z.int(),
    links: z.array(
      z.object({ url: z.string(), text: z.string(), rel: z.string(), page_url: z.string() }),
    ),
  })
  .openapi("LinkList");
export type LinkList = z.infer<typeof LinkList>;

/** A document that a worker uploads. */
export const DocumentName = z.enum(STORED_DOCUMENTS);
export type DocumentName = z.infer<typeof DocumentName>;
