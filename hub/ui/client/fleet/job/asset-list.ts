import { pathOf } from "#shared/client/operation.ts";
import type { Asset } from "#shared/protocol/schema/asset.ts";

export type AssetOfJob = Asset;

export const ASSET_KINDS_SHOWN = [
  { value: "all", label: "Every kind" },
  { value: "image", label: "Images" },
  { value: "video", label: "Videos" },
  { value: "audio", label: "Audio" },
  { value: "other", label: "Other" },
];

export function filterAssets(
  items: readonly Asset[],
  { kind, q }: { kind: string; q: string },
): Asset[] {
  const wanted = q.toLowerCase();
  return items.filter(
    (asset) =>
      (kind === "" || asset.kind === kind) &&
      `${asset.name} ${asset.source_url} ${asset.mime}`.toLowerCase().includes(wanted),
  );
}

/** Where this server keeps a body; no part of it comes from outside. */
export const assetPath = (job_id: string, name: string): string =>
  pathOf("GET /jobs/{id}/assets/{name}", { params: { id: job_id, name } });

export const isText = (mime: string): boolean =>
  /^text\/|json|javascript|ecmascript|xml|x-www-form-urlencoded|mpegurl|yaml|graphql/i.test(mime);
