import { notFound } from "#shared/kit/errors.ts";
import type { Workload } from "#shared/protocol/schema/workload.ts";
import type { PipelineContext } from "../context.ts";
import { changed, changedSince, getWorkload, versionsOf } from "../workloads/workloads.ts";
import { afterSave } from "./after-save.ts";
import { hashesOf, runsText } from "./code-plugin.ts";
import { newVersion, type Saved } from "./settle-code.ts";

const TRIES = 10;

/**
 * Makes the code of an earlier version the newest one (rules/pipeline-code#roll-back); what runs already stays as it is.
 * @throws AppError not_found, failed_condition when the settings are of another version than `if_match` names
 */
export async function restoreVersion(
  ctx: Pick<PipelineContext, "clock" | "wall_jumps" | "db" | "kv" | "log" | "pipeline">,
  slug: string,
  version: number,
  { by, note, if_match }: Saved & { if_match?: string | undefined },
): Promise<Workload> {
  const { db, clock } = ctx;
  for (let tried = 1; tried <= TRIES; tried += 1) {
    const stored = await db.workloads.get(slug);
    if (!stored) throw notFound("workload");
    const asked = versionsOf(if_match);
    if (asked && !asked.includes(stored.updated_at)) throw changedSince();
    const old = await db.workload_versions.get(stored.workload_id, version);
    if (!old || !runsText(old.executor_type)) throw notFound("version");
    const { executor_type, code } = old;
    if (stored.code_sha256 === hashesOf({ executor_type, code }).plugin_sha256)
      return getWorkload(ctx, slug);
    const { plugin: _p, source_path: _s, module: _m, ...executor_config } = stored.executor_config;
    const row = await db.workloads.updateCode(
      slug,
      { executor_type, executor_config, updated_at: clock.now() },
      newVersion(clock.now(), { executor_type, code, restored_from: version }, { by, note }),
      [stored.updated_at],
    );
    if (!row) continue;
    await afterSave(ctx, row);
    return changed(ctx, row);
  }
  throw changedSince();
}
