import { DeadlineError } from "#shared/kit/clock.ts";
import type { SpooledBody } from "#worker/upload/asset-sink.ts";
import type { BodySink } from "../cdp/body-decoder.ts";
import { CdpError, type CdpSession } from "../cdp/connection.ts";
import type { LossReason } from "./ledger.ts";
import { type BodyFile, type Spool, SpoolFullError } from "./spool.ts";

/** 128 MB through the pipe took under 3 s; a busy machine may take ten times that, and other bodies may come first. */
const READ = { timeout_ms: 30_000, longest_ms: 300_000 };

export type BodyRead = { body: SpooledBody } | { empty: true } | { reason: LossReason };

/**
 * Reads a body from the first of `sessions` that has all of it (rules/capture#read-at-the-end). An empty answer counts
 * as a failure when `expects_bytes`: buffers return nothing, and no error, for bodies that went to a blob.
 */
export async function readBody(
  sessions: readonly CdpSession[],
  request_id: string,
  spool: Spool,
  expected: { bytes: boolean; at_least: number },
): Promise<BodyRead> {
  let reason: LossReason | null = null;
  for (const session of sessions) {
    const file = spool.open();
    try {
      const params = { requestId: request_id };
      await session.sendBody("Network.getResponseBody", params, fileSink(file), READ);
      if (file.size === 0 && !expected.bytes) return { empty: true };
      if (file.size > 0 && file.size >= expected.at_least) {
        const body = file.finish();
        if (body) return { body };
      }
      reason ??= file.size === 0 ? "empty_reply" : "aborted";
    } catch (err) {
      reason ??= lossReason(err);
      if (err instanceof SpoolFullError) {
        file.discard();
        return { reason: "spool_full" };
      }
    }
    file.discard();
  }
  return { reason: reason ?? "target_gone" };
}

export function fileSink(file: BodyFile): BodySink {
  return { write: (bytes) => file.write(bytes), restart: () => file.restart() };
}

export function lossReason(err: unknown): LossReason {
  if (err instanceof SpoolFullError) return "spool_full";
  if (err instanceof DeadlineError) return "timeout";
  if (err instanceof CdpError && err.gone) return "target_gone";
  return "evicted";
}
