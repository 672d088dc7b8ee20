import { pathOf } from "#shared/client/operation.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { SpooledBody } from "./asset-sink.ts";
import { openBody } from "./body.ts";
import { createOutage } from "./outage.ts";
import { acceptChecksum, putUpload } from "./put.ts";
import type { RecordingPlace } from "./recording-tail.ts";

/** Sends a body that a session's page received. @returns why the hub has not taken it; null when it has. Never rejects. */
export async function putSessionBody(
  { clock, signal }: { clock: Clock; signal: AbortSignal },
  place: RecordingPlace,
  { body, mime }: { body: SpooledBody; mime: string },
): Promise<string | null> {
  const log = () => {};
  const { worker_id, session_id } = place;
  const path = pathOf("PUT /workers/{worker_id}/sessions/{session_id}/bodies", {
    params: { worker_id, session_id },
    query: { mime },
  });
  try {
    const end = await putUpload(
      { clock, random: Math.random, signal, onRetry: log, outage: createOutage(clock, { log }) },
      {
        url: (await place.base_url()) + path,
        headers: {
          authorization: `Bearer ${place.upload_token()}`,
          "x-lease-token": String(place.lease_token()),
          "content-type": "application/octet-stream",
          "x-sha256": body.sha256,
        },
        size: body.size,
        open: () => openBody(body),
        accept: acceptChecksum(body.sha256),
      },
    );
    return end.kind === "stored" ? null : end.reason;
  } catch (err) {
    return String(err);
  }
}
