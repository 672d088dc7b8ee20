import type { ObjectInfo } from "#hub/platform/stores/objects.ts";
import { AppError } from "#shared/kit/errors.ts";
import { JOB_DOCUMENTS } from "#shared/protocol/documents.ts";
import type { FleetContext } from "../context.ts";
import { deleteOne, type RetentionPass } from "../retention/delete-oldest.ts";

/** The Playwright traces of sessions that have ended (rules/traces). Those of jobs are documents of theirs. */

const PREFIX = "session-traces";
export const sessionTraceKey = (session_id: string): string => `${PREFIX}/${session_id}`;

export interface TraceUpload {
  body: ReadableStream<Uint8Array>;
  sha256: string;
  size: number | undefined;
  signal: AbortSignal;
}

/**
 * Keeps the trace of a session for as long as its record.
 * @throws AppError not_found without a record, too_large, invalid when the checksum differs
 */
export async function storeSessionTrace(
  ctx: Pick<FleetContext, "db" | "objects">,
  session_id: string,
  { body, size, sha256, signal }: TraceUpload,
): Promise<ObjectInfo> {
  const { max_bytes } = JOB_DOCUMENTS["trace.zip"];
  const confirm = async () => {
    if (!(await ctx.db.sessions.get(session_id)))
      throw new AppError("not_found", "the session has no record");
  };
  const checks = { sha256, ...(size === undefined ? {} : { size }), max_bytes, confirm };
  return ctx.objects.put(sessionTraceKey(session_id), body, { ...checks, signal });
}

/** @throws AppError not_found, with what the session lacks */
export async function sessionTraceOf(
  ctx: Pick<FleetContext, "db" | "objects">,
  session_id: string,
): Promise<{ key: string; size: number; tag: string }> {
  const row = await ctx.db.sessions.get(session_id);
  if (!row) throw new AppError("not_found", "session not found");
  const key = sessionTraceKey(session_id);
  const found = await ctx.objects.stat(key);
  if (found) return { key, ...found };
  if (row.ended_at === null)
    throw new AppError("not_found", "the session is open: its trace is there once it has ended");
  throw new AppError(
    "not_found",
    "the session has no trace: open one with trace: true, and end it while its browser runs; a trace is there a few seconds after that",
  );
}

/** Deletes the traces of sessions whose records are gone. */
export async function removeLeftTraces(
  ctx: Pick<FleetContext, "objects" | "db" | "log" | "meters" | "stores_health">,
  pass: RetentionPass,
): Promise<void> {
  for (const key of await ctx.objects.list(PREFIX)) {
    const session_id = key.slice(PREFIX.length + 1);
    if (await ctx.db.sessions.get(session_id)) continue;
    if (!(await pass.goesOn())) return;
    const trace = { what: "session trace", id: session_id } as const;
    await deleteOne(ctx, pass, trace, () => ctx.objects.delete(key));
  }
}
