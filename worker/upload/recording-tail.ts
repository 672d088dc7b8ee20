import { pathOf } from "#shared/client/operation.ts";
import { callWithin } from "#shared/kit/call-within.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { fetchHub } from "#shared/protocol/trust.ts";

/** The run at the hub to which a recording belongs. */
export interface RecordingPlace {
  base_url(): Promise<string>;
  worker_id: string;
  /** Null for a session. */
  job_id: string | null;
  session_id: string;
  /** A session's changes when a job attaches to it. */
  lease_token(): number;
  upload_token(): string;
}

/**
 * What a hub says to a piece: `length` of the recording from now on; `later` when it cannot say; `over` when it takes
 * nothing more of this run.
 */
export type PieceAnswer =
  | { kind: "length"; length: number }
  | { kind: "later"; reason: string }
  | { kind: "over"; reason: string };

const ANSWER_MS = 10_000;

/** Sends whole frames for the end of the recording (rules/recordings#on-the-way-to-the-hub). Never rejects. */
export async function putPiece(
  clock: Clock,
  place: RecordingPlace,
  offset: number,
  piece: Uint8Array,
): Promise<PieceAnswer> {
  try {
    const url = (await place.base_url()) + addressOf(place, offset);
    return await callWithin(clock, { what: "a piece", ms: ANSWER_MS }, async (signal) => {
      const response = await fetchHub(url, {
        method: "PUT",
        body: piece as Uint8Array<ArrayBuffer>,
        headers: {
          authorization: `Bearer ${place.upload_token()}`,
          "x-lease-token": String(place.lease_token()),
          "content-type": "application/octet-stream",
        },
        redirect: "manual",
        signal,
      });
      return answerOf(response.status, await response.text());
    });
  } catch (err) {
    return { kind: "later", reason: String(err) };
  }
}

function addressOf({ job_id, ...ids }: RecordingPlace, offset: number): string {
  const query = { offset: String(offset) };
  return job_id === null
    ? pathOf("PUT /workers/{worker_id}/sessions/{session_id}/recording", { params: ids, query })
    : pathOf("PUT /workers/{worker_id}/jobs/{job_id}/recording", {
        params: { ...ids, job_id },
        query,
      });
}

function answerOf(status: number, text: string): PieceAnswer {
  const length = status === 200 || status === 409 ? lengthIn(text) : null;
  if (length !== null) return { kind: "length", length };
  const reason = `HTTP ${status}: ${text.slice(0, 200)}`;
  // A hub that was restarted knows the token once the worker has registered again.
  const is_later = status >= 500 || status === 401 || status === 408 || status === 429;
  return { kind: is_later ? "later" : "over", reason };
}

function lengthIn(text: string): number | null {
  try {
    const { length } = JSON.parse(text) as { length?: unknown };
    return typeof length === "number" && Number.isInteger(length) && length >= 0 ? length : null;
  } catch {
    return null;
  }
}
