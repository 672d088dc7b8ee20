import type { NewVersion } from "#hub/platform/db/pipeline-types.ts";
import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import { invalid } from "#shared/kit/errors.ts";
import type { ExecutorConfig, ExecutorType } from "#shared/protocol/schema/workload.ts";
import type { PipelineContext } from "../context.ts";
import { type CodeType, hashesOf, runsText } from "./code-plugin.ts";

/** Who changes a workload's code, and why. */
export interface Saved {
  by: string;
  note: string;
}

/** What becomes of a workload's code when its settings are written. */
export interface Settled {
  /** The configuration without the code, as it is stored. */
  executor_config: ExecutorConfig;
  /** `keep`: it stays as it is; `none`: it has none; otherwise this one is its next version. */
  code: "keep" | "none" | NewVersion;
}

export function newVersion(
  now: number,
  of: { executor_type: CodeType; code: string; restored_from?: number | null },
  { by, note }: Saved,
): NewVersion {
  return {
    executor_type: of.executor_type,
    code: of.code,
    ...hashesOf(of),
    note,
    created_by: by,
    restored_from: of.restored_from ?? null,
    created_at: now,
  };
}

const unknownVersion = (version: number) =>
  invalid(
    ["body", "executor_config", "code_version"],
    `there is no version ${version} of its code`,
  );

/**
 * Decides whether a write of `executor_config` makes a version of the code (rules/pipeline-code#versions): code that is
 * what runs already makes none, and a `code_version` that is not the current one goes back to that one.
 * @throws AppError invalid when it names a version that is not there, or one of another executor
 */
export async function settleCode(
  { db, clock }: Pick<PipelineContext, "db" | "clock">,
  wanted: { executor_type: ExecutorType; executor_config: ExecutorConfig },
  stored: WorkloadRow | null,
  saved: Saved,
): Promise<Settled> {
  const { executor_type } = wanted;
  const { code, code_version, ...executor_config } = wanted.executor_config;
  if (!runsText(executor_type) || (code === undefined && code_version === undefined))
    return { executor_config, code: "none" };
  const current = stored && stored.code_sha256 !== null ? stored.code_version : null;
  if (code !== undefined) {
    const next = newVersion(clock.now(), { executor_type, code }, saved);
    const same = current !== null && stored?.code_sha256 === next.plugin_sha256;
    return { executor_config, code: same ? "keep" : next };
  }
  const version = code_version as number;
  if (version === current && stored?.executor_type === executor_type)
    return { executor_config, code: "keep" };
  const earlier = stored && (await db.workload_versions.get(stored.workload_id, version));
  if (!earlier) throw unknownVersion(version);
  if (earlier.executor_type !== executor_type)
    throw invalid(
      ["body", "executor_config", "code_version"],
      `version ${version} is code of ${earlier.executor_type}`,
    );
  const again = { executor_type, code: earlier.code, restored_from: version };
  const next = newVersion(clock.now(), again, saved);
  const same = current !== null && stored?.code_sha256 === next.plugin_sha256;
  return { executor_config, code: same ? "keep" : next };
}
