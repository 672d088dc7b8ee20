import type { AssetMeta, DocumentName } from "#shared/protocol/schema/asset.ts";

/** A captured body in the spool, whole and closed. `sha256` lower-case hex. */
export interface SpooledBody {
  /** Its file; empty when `bytes` holds the body. */
  path: string;
  /** A small body, which stays in memory on its way to the hub. */
  bytes?: Uint8Array<ArrayBuffer> | undefined;
  size: number;
  sha256: string;
  /** Frees the memory of `bytes`; called once, when the body is stored or given up. */
  free?: (() => void) | undefined;
}

/** Where captured bodies go. `put…` returns at once; the body's file is removed once it is stored or given up. */
export interface AssetSink {
  putAsset(meta: AssetMeta, body: SpooledBody): void;
  putDocument(name: DocumentName, content: string | Uint8Array<ArrayBuffer> | SpooledBody): void;
  /** Resolves when everything put so far is stored, or has failed; `flush` tells what did. */
  settled(): Promise<void>;
  /**
   * Waits until everything put so far is stored, or the hub stores nothing and the job can wait without its lane;
   * returns what failed for good, by name with its reason.
   */
  flush(
    signal: AbortSignal,
  ): Promise<{ stored: number; failed: { name: string; reason: string }[] }>;
}
