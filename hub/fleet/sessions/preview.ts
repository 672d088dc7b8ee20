import { randomUUID } from "node:crypto";
import { AppError } from "#shared/kit/errors.ts";
import { Picture } from "#shared/protocol/schema/session.ts";
import type { FleetContext } from "../context.ts";
import { fleetSetting } from "../registries/fleet-settings.ts";
import { callSession, resultOf } from "./calls.ts";
import type { HubSession } from "./hub-session.ts";
import type { SessionCallContext } from "./session-contexts.ts";

/** Pixels; enough for a tile of an overview. */
const MAX_WIDTH = 640;
const PREVIEW_MS = 5_000;
/** Only its expiry deletes a stored preview, so it lives hardly longer than it can be requested. */
const KEPT_EXTRA_MS = 1_000;

interface KeptPreview {
  /** By this process, on the clock that never goes back. */
  taken?: { by: string; at: number };
  /** The same by the wall clock, for other hubs. */
  taken_at: number;
  jpeg_base64: string;
}

/** Names this process. */
const PROCESS = randomUUID();

/** Of a picture that another hub took; a clock that was set back does not make it young for hours. */
function ageOf({ clock }: Pick<FleetContext, "clock">, { taken, taken_at }: KeptPreview): number {
  if (taken?.by === PROCESS) return clock.monotonic() - taken.at;
  const age = clock.now() - taken_at;
  return age < 0 ? Number.POSITIVE_INFINITY : age;
}

const previewKey = (session_id: string): string => `preview:${session_id}`;

const previewIntervalMs = async (
  ctx: Pick<FleetContext, "config" | "clock" | "settings_cache" | "db">,
): Promise<number> => (await fleetSetting(ctx, "preview_interval_s")) * 1_000;

/**
 * A small JPEG of the session's active tab, at most `preview_interval_s` old. Taken only on request, one at a time
 * however many ask, and stored where every hub finds it.
 */
export async function readPreview(
  ctx: SessionCallContext &
    Pick<FleetContext, "config" | "db" | "kv" | "previews" | "settings_cache">,
  session: HubSession,
): Promise<Uint8Array> {
  const interval_ms = await previewIntervalMs(ctx);
  const kept = await ctx.kv.get<KeptPreview>(previewKey(session.session_id));
  if (kept && ageOf(ctx, kept) < interval_ms) return Buffer.from(kept.jpeg_base64, "base64");
  const taking = ctx.previews.get(session.session_id);
  if (taking !== undefined) return taking;
  const taken = takePreview(ctx, session, interval_ms).finally(() =>
    ctx.previews.delete(session.session_id),
  );
  ctx.previews.set(session.session_id, taken);
  return taken;
}

async function takePreview(
  ctx: Pick<FleetContext, "clock" | "kv" | "session_calls" | "stopping" | "meters">,
  session: HubSession,
  interval_ms: number,
): Promise<Uint8Array> {
  const reply = await callSession(ctx, session, {
    action: "preview",
    args: { max_width: MAX_WIDTH },
    timeout_ms: PREVIEW_MS,
    counts_as_activity: false,
  });
  const picture = Picture.safeParse(await resultOf(ctx, session, reply));
  if (!picture.success) throw new AppError("relay_failed", "the worker sent no screenshot");
  const { content_base64: jpeg_base64 } = picture.data;
  const taken = { by: PROCESS, at: ctx.clock.monotonic() };
  const kept: KeptPreview = { taken, taken_at: ctx.clock.now(), jpeg_base64 };
  await ctx.kv.set(previewKey(session.session_id), kept, interval_ms + KEPT_EXTRA_MS);
  return Buffer.from(jpeg_base64, "base64");
}
