import type { AssetMeta } from "#shared/protocol/schema/asset.ts";

export const assetMeta = (name: string, more: Partial<AssetMeta> = {}): AssetMeta => ({
  name,
  kind: "image",
  mime: "image/png",
  ext: "png",
  source_url: `http://site.test/${name}`,
  page_url: "http://site.test/",
  frame_url: "http://site.test/",
  status: 200,
  from_cache: false,
  from_service_worker: false,
  partial: false,
  refetched: false,
  ranges: [],
  ...more,
});
