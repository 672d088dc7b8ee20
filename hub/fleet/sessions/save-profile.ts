import { conflict, notFound } from "#shared/kit/errors.ts";
import type { Profile } from "#shared/protocol/schema/profile.ts";
import type { FleetContext } from "../context.ts";
import { beginWriting } from "../registries/profile-writers.ts";
import { profileRecord } from "../registries/profiles.ts";
import { callSession } from "./calls.ts";
import type { HubSession } from "./hub-session.ts";
import type { SessionCallContext } from "./session-contexts.ts";

/** For ending Chromium, packing, sending and storing its directory, and starting Chromium again. */
export const SAVE_MS = 600_000;

/** How the registry knows a session as the writer of a profile. */
export const writerOf = (session_id: string): string => `session ${session_id}`;

/**
 * Stores the session's browser profile under `name` (rules/profiles#save-a-session-as-a-profile). The worker closes the
 * browser, sends its profile by PUT, and opens it again with its tabs and cookies.
 * @throws AppError conflict while a job runs in the session or the profile is being written; else as `callSession`
 *   does.
 */
export async function saveProfile(
  ctx: SessionCallContext & Pick<FleetContext, "db" | "hub_id" | "kv" | "log" | "profile_writers">,
  session: HubSession,
  name: string,
): Promise<{ profile: Profile; created: boolean }> {
  if (session.kind === "job")
    throw conflict(`job ${session.job_id} runs in this session: saving would restart its browser`);
  const done = await beginWriting(ctx, name, writerOf(session.session_id));
  try {
    const before = await ctx.db.profiles.get(name);
    await callSession(ctx, session, {
      action: "profile_save",
      args: { name },
      timeout_ms: SAVE_MS,
    });
    const row = await ctx.db.profiles.get(name);
    if (!row) throw notFound("profile");
    return { profile: profileRecord(row), created: before === null };
  } finally {
    await done();
  }
}
