import { AppError, conflict } from "#shared/kit/errors.ts";
import { ACTION_TIMEOUT_S } from "#shared/protocol/limits.ts";
import type { Asset, AssetMeta } from "#shared/protocol/schema/asset.ts";
import { Picture, type ScreenshotRequest } from "#shared/protocol/schema/session.ts";
import type { FleetContext } from "../context.ts";
import type { JobLane } from "../links/worker-link.ts";
import { callSession, resultOf } from "../sessions/calls.ts";
import type { HubSession } from "../sessions/hub-session.ts";
import { requireSession } from "../sessions/registry.ts";
import type { SessionCallContext } from "../sessions/session-contexts.ts";
import { hubAsset } from "./hub-asset.ts";
import { getRow } from "./read-jobs.ts";
import { assetRecord } from "./record.ts";
import { storeAsset } from "./stored-files.ts";

const notBound = () => conflict("no lane is bound to this job");

/**
 * POST /jobs/{id}/screenshot/capture (rules/documents#screenshot-of-a-running-job): a screenshot of the running job's
 * page as it is now, stored as an asset of the job.
 * @throws AppError not_found; conflict when no lane is bound to the job, or it ended meanwhile; as `callSession`.
 */
export async function captureScreenshot(
  ctx: SessionCallContext &
    Pick<FleetContext, "awaited" | "config" | "db" | "objects" | "sessions">,
  job_id: string,
  request: ScreenshotRequest,
  signal: AbortSignal,
): Promise<Asset> {
  const { session, held } = await laneOf(ctx, job_id);
  const reply = await callSession(ctx, session, {
    action: "screenshot",
    args: { ...request, timeout_s: ACTION_TIMEOUT_S.default },
    timeout_ms: ACTION_TIMEOUT_S.default * 1_000,
  });
  const picture = Picture.safeParse(await resultOf(ctx, session, reply));
  if (!picture.success) throw new AppError("relay_failed", "the worker sent no screenshot");
  const body = new Uint8Array(Buffer.from(picture.data.content_base64, "base64"));
  const meta = await pictureMeta(ctx, job_id, request.format, session.url);
  await storeAsset(ctx, held, meta, {
    body: new Blob([body]).stream(),
    sha256: new Bun.CryptoHasher("sha256").update(body).digest("hex"),
    size: body.length,
    signal,
  }).catch((err: unknown) => {
    // The lease is gone: the job ended while the screenshot was taken.
    throw err instanceof AppError && err.kind === "conflict" ? notBound() : err;
  });
  const row = await ctx.db.assets.get(job_id, meta.name);
  if (!row) throw notBound();
  return assetRecord(row);
}

async function laneOf(
  ctx: Pick<FleetContext, "sessions" | "db" | "awaited">,
  job_id: string,
): Promise<{ session: HubSession; held: JobLane }> {
  const { status, session_id, lease_token } = await getRow(ctx, job_id);
  if (status !== "running" || session_id === null || lease_token === null) throw notBound();
  if (!ctx.sessions.has(session_id)) throw notBound();
  const session = requireSession(ctx, session_id);
  const held = session.link.heldBy(job_id, lease_token);
  if (!held || held.done) throw notBound();
  return { session, held };
}

/** Named by the time, so that a job's screenshots sort in the order they were taken. */
async function pictureMeta(
  ctx: Pick<FleetContext, "clock" | "db">,
  job_id: string,
  format: ScreenshotRequest["format"],
  url: string,
): Promise<AssetMeta> {
  const ext = format === "jpeg" ? "jpg" : format;
  const taken_at = new Date(ctx.clock.now()).toISOString().replace(/[-:.]/g, "");
  let name = `screenshot-${taken_at}.${ext}`;
  for (let n = 2; await ctx.db.assets.get(job_id, name); n += 1)
    name = `screenshot-${taken_at}-${n}.${ext}`;
  return hubAsset({ name, kind: "image", mime: `image/${format}`, ext }, url);
}

/** When a stored screenshot was taken; null for an asset of another name. */
export function screenshotTime(name: string): string | null {
  const moment = /^screenshot-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z\b/.exec(name);
  if (!moment) return null;
  const [, year, month, day, hour, minute, second, ms] = moment;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`;
}
