import { pathOf } from "#shared/client/operation.ts";
import { batchUpload } from "./batch.ts";
import { type DirectWay, putDirect } from "./direct.ts";
import type { Entry } from "./entry.ts";
import { acceptChecksum, putUpload, type Upload, type UploadDeps, type UploadEnd } from "./put.ts";

/** The job at the hub to which bodies belong. */
export interface UploadPlace {
  /** HTTP base of the hub, settled once per link. */
  base_url: Promise<string>;
  worker_id: string;
  job_id: string;
  lease_token: number;
  upload_token: string;
}

export interface SenderDeps extends UploadPlace {
  /** Absent: everything goes through the hub. */
  direct?: DirectWay;
  /** Of one upload, whose name in sentences is `what`. */
  putDeps(what: string): UploadDeps;
}

/** Sends bodies to their places. Nothing is thrown: whatever happens is an end. */
export interface Sender {
  one(entry: Entry): Promise<UploadEnd>;
  /** Several in one request. `named`: those that the hub has stored; any other must travel alone. */
  batch(entries: Entry[]): Promise<{ end: UploadEnd; named: ReadonlySet<string> }>;
}

/** What shows that the job's paths may be written to. */
const headersOf = ({ upload_token, lease_token }: UploadPlace) => ({
  authorization: `Bearer ${upload_token}`,
  "x-lease-token": String(lease_token),
  "content-type": "application/octet-stream",
});

/** The request that carries one body. `url` without the hub's address. */
export function uploadOf(
  place: UploadPlace,
  url: string,
  more: Record<string, string>,
  { size, sha256, open }: { size: number; sha256: string; open: Upload["open"] },
): Upload {
  return {
    url,
    headers: { ...headersOf(place), "x-sha256": sha256, ...more },
    size,
    open,
    accept: acceptChecksum(sha256),
  };
}

export function createSender(deps: SenderDeps): Sender {
  const send = async (upload: Upload, what: string): Promise<UploadEnd> => {
    try {
      const url = `${await deps.base_url}${upload.url}`;
      return await putUpload(deps.putDeps(what), { ...upload, url });
    } catch (err) {
      return { kind: "failed", reason: String(err) };
    }
  };
  /** Null when it must go through the hub. */
  const sendDirect = async ({ name, meta, spooled }: Entry): Promise<UploadEnd | null> => {
    if (!deps.direct || !meta || spooled.bytes) return null;
    if (!deps.direct.isOpen(spooled.size)) return null;
    try {
      const path = pathOf("POST /workers/{worker_id}/jobs/{job_id}/direct-uploads", {
        params: deps,
      });
      const to = { url: `${await deps.base_url}${path}`, headers: headersOf(deps) };
      return await putDirect(deps.putDeps(`${name} is`), deps.direct, to, meta, spooled);
    } catch (err) {
      return { kind: "failed", reason: String(err) };
    }
  };
  return {
    one: async (entry) =>
      (await sendDirect(entry)) ?? (await send(entry.upload, `${entry.name} is`)),
    batch: async (entries) => {
      const named = new Set<string>();
      const bodies = entries.flatMap((entry) => entry.small ?? []);
      const url = pathOf("PUT /workers/{worker_id}/jobs/{job_id}/assets", { params: deps });
      const upload = batchUpload(url, headersOf(deps), bodies, named);
      if (!upload) return { end: { kind: "stored" }, named };
      return { end: await send(upload, `${bodies.length} bodies are`), named };
    },
  };
}
