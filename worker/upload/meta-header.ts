import type { AssetMeta } from "#shared/protocol/schema/asset.ts";

/** Bun.serve refuses more than 16 KB of headers in all, nginx a line of more than 8 KB. */
const MAX_CHARS = 7_000;

const encode = (meta: AssetMeta) => Buffer.from(JSON.stringify(meta)).toString("base64url");

const shortened = (meta: AssetMeta, url_chars: number): AssetMeta => ({
  ...meta,
  source_url: meta.source_url.slice(0, url_chars).toWellFormed(),
  page_url: meta.page_url.slice(0, url_chars).toWellFormed(),
  frame_url: meta.frame_url?.slice(0, url_chars).toWellFormed() ?? null,
  ranges: meta.ranges.slice(0, 40),
});

/** `X-Asset-Meta`: over-long URLs and range lists are cut, because a refused header would lose the body. */
export function assetMetaHeader(meta: AssetMeta): string {
  const forms = [meta, shortened(meta, 1_200), shortened(meta, 200)].map(encode);
  return forms.find((form) => form.length <= MAX_CHARS) ?? encode(shortened(meta, 0));
}
