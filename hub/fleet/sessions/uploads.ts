import type { FleetContext } from "../context.ts";
import { askBridge } from "./bridge.ts";
import type { HubSession } from "./hub-session.ts";

const pathOf = (upload_id: string) => `uploads/${upload_id}`;

/**
 * Streams a file for an `input type=file` to the session's worker, where it stays until the session ends.
 * @param upload_id names it for `set_input_files`; no other upload has it.
 * @throws AppError relay_failed (502), or the error of the body itself.
 */
export async function putUpload(
  ctx: Pick<FleetContext, "clock">,
  session: HubSession,
  upload_id: string,
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const response = await askBridge(ctx, session, pathOf(upload_id), {
    method: "PUT",
    headers: { "Content-Type": "application/octet-stream" },
    body,
    signal,
  });
  await response.body?.cancel();
}

/** Removes the uploads of a failed call; one that cannot be reached disappears with the session. */
export async function dropUploads(
  ctx: Pick<FleetContext, "log" | "clock">,
  session: HubSession,
  upload_ids: readonly string[],
): Promise<void> {
  for (const id of upload_ids)
    await askBridge(ctx, session, pathOf(id), { method: "DELETE" }).then(
      (response) => response.body?.cancel(),
      (err) => ctx.log.debug({ session_id: session.session_id, err }, "upload not removed"),
    );
}
