import { pathOf } from "#shared/client/operation.ts";
import { windUpWithin } from "#shared/kit/call-within.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { openBody } from "./body.ts";
import { createOutage } from "./outage.ts";
import { acceptChecksum, putUpload, type Upload } from "./put.ts";

/** The session at the hub to which a trace belongs. */
interface SessionPlace {
  base_url: Promise<string>;
  worker_id: string;
  session_id: string;
  lease_token: number;
  upload_token: string;
}

/** A lane waits for this: nobody else gets it meanwhile. */
const MOST_MS = 60_000;

/** Sends the trace of a session that has ended. @throws Error with the reason when the hub does not take it */
export async function putSessionTrace(
  { clock, signal }: { clock: Clock; signal: AbortSignal },
  place: SessionPlace,
  { path, size, sha256 }: { path: string; size: number; sha256: string },
): Promise<void> {
  const log = () => {};
  const outage = createOutage(clock, { log });
  const url = pathOf("PUT /workers/{worker_id}/sessions/{session_id}/trace", { params: place });
  const uploadTo = (base_url: string): Upload => ({
    url: base_url + url,
    headers: {
      authorization: `Bearer ${place.upload_token}`,
      "x-lease-token": String(place.lease_token),
      "content-type": "application/octet-stream",
      "x-sha256": sha256,
    },
    size,
    open: () => openBody({ path, size, sha256 }),
    accept: acceptChecksum(sha256),
  });
  const limit = { what: "sending the trace", ms: MOST_MS, signal };
  const end = await windUpWithin(clock, limit, async (late) => {
    const deps = { clock, random: Math.random, signal: late, onRetry: log, outage };
    return putUpload(deps, uploadTo(await place.base_url));
  });
  if (end.kind !== "stored") throw new Error(end.reason);
}
