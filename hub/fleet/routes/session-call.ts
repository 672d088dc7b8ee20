import type { FleetContext } from "../context.ts";
import { requireSession } from "../sessions/registry.ts";

/** The errors of a call that needs the worker. */
export const RELAYED = [404, 422, 502, 503, 504] as const;

/** @throws AppError not_found once it has ended */
export const sessionOf = (
  ctx: Pick<FleetContext, "sessions" | "awaited">,
  c: { req: { param(name: string): string | undefined } },
) => requireSession(ctx, c.req.param("sid") ?? "");
