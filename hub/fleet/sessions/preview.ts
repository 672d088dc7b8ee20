import { AppError } from "#shared/kit/errors.ts";
import { Picture } from "#shared/protocol/schema/session.ts";
import type { FleetContext } from "../context.ts";
import { fleetSetting } from "../registries/fleet-settings.ts";
import { callSession, resultOf } from "./calls.ts";
import type { HubSession } from "./types.ts";

/** Pixels; enough for a tile of an overview. */
const MAX_WIDTH = 640;
const PREVIEW_MS = 5_000;
/** Only its expiry deletes a stored preview, so it lives hardly longer than it can be requested. */
const KEPT_EXTRA_MS = 1_000;

interface KeptPreview {
  taken_at: number;
  jpeg_base64: string;
}

const previewKey = (session_id: string): string => `preview:${session_id}`;

const previewIntervalMs = async (ctx: FleetContext): Promise<number> =>
  (await fleetSetting(ctx, "preview_interval_s")) * 1_000;

/**
 * A small JPEG of the session's active tab, at most `preview_interval_s` old. Taken only on request, one at a time
 * however many ask, and stored where every hub finds it.
 */
export async function readPreview(ctx: FleetContext, session: HubSession): Promise<Uint8Array> {
  const interval_ms = await previewIntervalMs(ctx);
  const kept = await ctx.kv.get<KeptPreview>(previewKey(session.session_id));
  if (kept && ctx.clock.now() - kept.taken_at < interval_ms)
    return Buffer.from(kept.jpeg_base64, "base64");
  const taking = ctx.previews.get(session.session_id);
  if (taking !== undefined) return taking;
  const taken = takePreview(ctx, session, interval_ms).finally(() =>
    ctx.previews.delete(session.session_id),
  );
  ctx.previews.set(session.session_id, taken);
  return taken;
}

async function takePreview(
  ctx: FleetContext,
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
  const kept: KeptPreview = { taken_at: ctx.clock.now(), jpeg_base64 };
  await ctx.kv.set(previewKey(session.session_id), kept, interval_ms + KEPT_EXTRA_MS);
  return Buffer.from(jpeg_base64, "base64");
}
