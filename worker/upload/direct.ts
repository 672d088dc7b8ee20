import type { Clock } from "#shared/kit/clock.ts";
import type { AssetMeta } from "#shared/protocol/schema/asset.ts";
import { DirectUpload } from "#shared/protocol/schema/direct-upload.ts";
import type { SpooledBody } from "./asset-sink.ts";
import { memoryBody, openBody } from "./body.ts";
import {
  acceptChecksum,
  attemptUpload,
  putUpload,
  type UploadDeps,
  type UploadEnd,
} from "./put.ts";

/** After a failure, everything goes through the hub for this long. */
const PAUSE_MS = 300_000;

/** Whether bodies may go straight into the object store; one for all jobs of a link. */
export interface DirectWay {
  isOpen(size: number): boolean;
  /** The object store cannot be reached from here, or does not accept the hub's signature. */
  close(): void;
}

/** `from`: minimum size in bytes, as the hub said when the worker registered; null when it allows no direct uploads. */
export function createDirectWay(from: number | null, clock: Clock): DirectWay {
  let closed_until = Number.NEGATIVE_INFINITY;
  return {
    isOpen: (size) => from !== null && size >= from && clock.monotonic() >= closed_until,
    close: () => {
      closed_until = clock.monotonic() + PAUSE_MS;
    },
  };
}

export interface DirectTarget {
  /** The hub's URL for `/direct-uploads` of this job. */
  url: string;
  headers: Record<string, string>;
}

/**
 * Puts one body into the object store with the hub's permission, and reports it to the hub. Null when it must go
 * through the hub: the hub gives no permission, or the object store is unreachable or does not accept it.
 */
export async function putDirect(
  deps: UploadDeps,
  way: DirectWay,
  target: DirectTarget,
  meta: AssetMeta,
  body: SpooledBody,
): Promise<UploadEnd | null> {
  const { size, sha256 } = body;
  let leave: DirectUpload | null = null;
  const headers = { ...target.headers, "content-type": "application/json" };
  const open = (content: object) => {
    const bytes = new TextEncoder().encode(JSON.stringify(content));
    return { size: bytes.length, open: async () => memoryBody(bytes) };
  };

  const asked = await putUpload(deps, {
    method: "POST",
    url: target.url,
    headers,
    ...open({ size, sha256 }),
    accept: (text) => {
      leave = DirectUpload.parse(JSON.parse(text));
      return { kind: "stored" };
    },
  });
  if (asked.kind === "stop" || deps.signal.aborted) return asked;
  if (leave === null) return null;

  const { id, url, headers: signed } = leave as DirectUpload;
  const put = await attemptUpload(deps, {
    url,
    headers: signed,
    size,
    open: () => openBody(body),
    accept: () => ({ kind: "stored" }),
    judge: (status, said) =>
      status === 200
        ? { kind: "stored" }
        : { kind: "failed", reason: `object store: HTTP ${status} ${said}` },
  });
  if (deps.signal.aborted) return { kind: "failed", reason: String(deps.signal.reason) };
  if (put.kind !== "stored") {
    way.close();
    deps.onRetry(`the object store did not accept it: ${put.reason}`, 0);
    return null;
  }
  const told = await putUpload(deps, {
    url: `${target.url}/${id}`,
    headers,
    ...open({ ...meta, size, sha256 }),
    accept: acceptChecksum(sha256),
    refused: (status) => ({ kind: "failed", reason: `HTTP ${status}` }),
  });
  return told.kind === "failed" && !deps.signal.aborted ? null : told;
}
