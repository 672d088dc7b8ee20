import type { CheckAnswer, CheckTask } from "#shared/protocol/schema/executor.ts";
import type { WaitingCheck } from "#shared/protocol/schema/pull.ts";
import { type Draft, draftSettings } from "../code/draft.ts";
import type { PipelineContext } from "../context.ts";
import { settingsOf } from "./answer.ts";

/** Longer than anybody may wait for a check: one whose caller is gone expires by itself. */
export const CHECK_TTL_MS = 150_000;

/** A worker is asked for one check at a time; the next caller waits for its turn. */
export const askedKey = (worker_id: string) => `pull-check:${worker_id}`;
export const answeredKey = (check_id: string) => `pull-checked:${check_id}`;

export interface Asked {
  check_id: string;
  slug: string;
  /** A newer process of the worker has not been asked. */
  incarnation: string;
  /** Settings that nobody has saved; otherwise those of the workload. */
  draft?: Draft;
  /** To be run too, within this time. */
  task?: CheckTask;
  timeout_ms: number;
}

/** What this process of the worker should load and has not answered yet. */
export async function checksFor(
  ctx: Pick<PipelineContext, "kv" | "pipeline">,
  worker_id: string,
  incarnation: string,
): Promise<WaitingCheck[]> {
  const { kv, pipeline } = ctx;
  const asked = await kv.get<Asked>(askedKey(worker_id));
  if (asked?.incarnation !== incarnation) return [];
  const { check_id, draft, task, timeout_ms } = asked;
  const run = task ? { task, timeout_ms } : {};
  if (draft) {
    const place = { worker_id, check_id, ttl_ms: CHECK_TTL_MS };
    return [{ check_id, workload: await draftSettings(ctx, draft, place), ...run, draft: true }];
  }
  const workload = pipeline.workloads.bySlug(asked.slug);
  if (!workload) return [];
  return [{ check_id, workload: settingsOf(pipeline.plugins, workload), ...run }];
}

/** POST /workers/{id}/checks: what the worker found. */
export async function answerCheck(
  { kv }: Pick<PipelineContext, "kv">,
  worker_id: string,
  answer: CheckAnswer,
): Promise<void> {
  await kv.set(answeredKey(answer.check_id), answer, CHECK_TTL_MS);
  await kv.deleteIf(askedKey(worker_id), { check_id: answer.check_id });
}
