import type { Context } from "hono";
import { AppError } from "#shared/errors.ts";
import { sameSecret } from "#shared/secret.ts";
import type { ControlContext } from "../context.ts";

/** Only who knows WORKER_SECRET, when one is set, may speak as a worker or an agent. @throws AppError unauthorized */
export function checkWorkerSecret({ config }: Pick<ControlContext, "config">, c: Context): void {
  if (!sameSecret(c.req.header("x-worker-secret") ?? "", config.worker_secret ?? ""))
    throw new AppError("unauthorized", "bad worker secret");
}
