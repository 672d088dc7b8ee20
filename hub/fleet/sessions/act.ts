import { isoTime } from "#shared/kit/clock.ts";
import { invalid } from "#shared/kit/errors.ts";
import type {
  SessionActionArgs,
  SessionActionName,
} from "#shared/protocol/actions/session-actions.ts";
import type { SessionReply } from "#shared/protocol/link/messages.ts";
import type { FleetContext } from "../context.ts";
import { recipeSecrets } from "../registries/recipe-secrets.ts";
import { callSession } from "./calls.ts";
import type { HubSession } from "./hub-session.ts";
import { keepSessionForNext, touchSession } from "./registry.ts";
import type { SessionActContext } from "./session-contexts.ts";

/**
 * Runs one action (rules/session-actions#the-actions) on the session, with validated arguments. `keepalive` is answered
 * here; every other one is the worker's.
 * @throws AppError as `callSession`.
 */
export async function actOn<A extends SessionActionName>(
  ctx: SessionActContext,
  session: HubSession,
  action: A,
  { timeout_s, ...args }: SessionActionArgs<A>,
  by: "api" | "script" = "api",
): Promise<Pick<SessionReply, "result" | "blob" | "ms">> {
  if (action === "keepalive")
    return keepAlive(ctx, session, args as Partial<SessionActionArgs<"keepalive">>);
  return callSession(ctx, session, {
    action,
    by,
    args: action === "recipe" ? await withSecrets(ctx, session, args) : args,
    timeout_ms: timeout_s * 1_000,
  });
}

/**
 * The values of the placeholders travel next to the actions: the worker fills them in
 * (rules/recipes#secrets-in-recipes). A job's session has the job's host; any other session goes wherever its caller
 * likes, so it has none.
 */
async function withSecrets(
  ctx: Pick<FleetContext, "db" | "config">,
  { job_id }: HubSession,
  args: Partial<SessionActionArgs<"recipe">>,
) {
  const row = job_id === null ? null : await ctx.db.jobs.get(job_id);
  return { ...args, ...recipeSecrets(ctx, args.actions ?? [], row?.host ?? null) };
}

/**
 * Counts as activity and may set the idle TTL (rules/sessions#idle-time), which a job's session takes over once the job
 * has ended.
 */
function keepAlive(
  ctx: Pick<FleetContext, "wall_jumps" | "clock" | "config" | "kept" | "log">,
  session: HubSession,
  { idle_ttl_s }: Partial<SessionActionArgs<"keepalive">>,
): Pick<SessionReply, "result" | "blob" | "ms"> {
  touchSession(ctx, session);
  if (idle_ttl_s !== undefined) {
    const idle_ms = idle_ttl_s * 1_000;
    if (session.kind !== "job") session.idle_ttl_ms = idle_ms;
    if (session.keep_ms !== null) session.keep_ms = idle_ms;
    void keepSessionForNext(ctx, session);
  }
  const { idle_ttl_ms, expires_at } = session;
  const result = {
    idle_ttl_s: idle_ttl_ms === null ? null : idle_ttl_ms / 1_000,
    expires_at: isoTime(ctx.wall_jumps.wallOf(expires_at)),
  };
  return { result, blob: null, ms: 0 };
}

/** Only the hub may give an upload id. @throws AppError invalid naming the file. */
export function checkInputFiles({ files }: SessionActionArgs<"set_input_files">): void {
  for (const [i, file] of files.entries()) {
    const at = ["body", "files", i];
    if (file.upload_id !== undefined) throw invalid([...at, "upload_id"], "is set by the hub");
    if (file.content_base64 === undefined)
      throw invalid(
        [...at, "content_base64"],
        "is required; larger files go as multipart/form-data",
      );
  }
}
