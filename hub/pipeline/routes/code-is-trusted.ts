import type { Context } from "hono";
import { trustedOnly } from "#hub/platform/http/admit.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { EXECUTORS } from "#shared/protocol/executors.ts";
import type { Workload } from "#shared/protocol/schema/workload.ts";
import type { PipelineContext } from "../context.ts";

/** Code that a workload chooses runs on the workers: only those who are trusted with it may set it. */
export const codeIsTrusted = async (
  c: Context<HttpEnv>,
  ctx: Pick<PipelineContext, "admin" | "logins">,
  { executor_type }: Pick<Workload, "executor_type">,
): Promise<void> => {
  if (EXECUTORS[executor_type].runs_code) await trustedOnly(c, ctx);
};
