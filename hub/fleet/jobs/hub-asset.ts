import type { AssetMeta } from "#shared/protocol/schema/asset.ts";

/** An asset that the hub makes while the session is at `url`; no browser received it. */
export const hubAsset = (
  what: Pick<AssetMeta, "name" | "kind" | "mime" | "ext">,
  url: string,
): AssetMeta => ({
  ...what,
  source_url: url,
  page_url: url,
  frame_url: null,
  status: null,
  from_cache: false,
  from_service_worker: false,
  partial: false,
  refetched: false,
  ranges: [],
});
