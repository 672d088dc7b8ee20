import type { AssetMeta } from "#shared/protocol/schema/asset.ts";
import type { SpooledBody } from "./asset-sink.ts";
import type { SmallBody } from "./batch.ts";
import type { Upload } from "./put.ts";

/** `was`: how the capture report listed a lost body. */
export interface FailedUpload {
  name: string;
  reason: string;
  was: "captured" | "partial" | "document";
}

/** A body on its way to the hub. */
export interface Entry extends FailedUpload {
  upload: Upload;
  /** Must be removed at the end. */
  spooled: SpooledBody;
  /** Set for a body that may travel with others. */
  small: SmallBody | null;
  /** Of an asset. */
  meta: AssetMeta | null;
}
