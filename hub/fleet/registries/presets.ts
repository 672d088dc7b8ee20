import { toIssues } from "#hub/platform/http/issues.ts";
import { AppError, type Issue, invalid } from "#shared/kit/errors.ts";
import { SubmitOptions } from "#shared/protocol/schema/job.ts";
import type { PutPreset } from "#shared/protocol/schema/preset.ts";
import type { FleetContext } from "../context.ts";
import { slugRegistry } from "./slugs.ts";

export type PresetFields = Omit<PutPreset, "slug">;

/** Options are stored as given, so that a default that changes counts for presets too. */
export const presets = slugRegistry<PresetFields>({
  one: "preset",
  rows: ({ db }) => db.presets,
  check: ({ options }) => checkOptions(options),
});

/** What a mode requires may still come from the job itself. */
function checkOptions(options: Record<string, unknown>): void {
  const to_come = {
    ...(options.mode === "codegen-loop" && { goal: options.goal ?? "the job's" }),
    ...(options.mode === "rerun" && !options.rerun_from && { code: options.code ?? "the job's" }),
  };
  const parsed = SubmitOptions.safeParse({ ...options, ...to_come });
  if (!parsed.success)
    throw new AppError("invalid", toIssues(parsed.error.issues, "body", "options"));
  if (parsed.data.proxy?.username)
    throw invalid(
      ["body", "options", "proxy"],
      "has a login, which everybody who reads presets would see: give it with the job or its host",
    );
}

/**
 * The options of a job: the preset's, and over them what the job says itself.
 * @throws AppError invalid naming the body's preset
 */
export async function withPreset(
  ctx: Pick<FleetContext, "db">,
  slug: string,
  options: Record<string, unknown>,
  loc: Issue["loc"] = ["body", "preset"],
): Promise<Record<string, unknown>> {
  const preset = await ctx.db.presets.get(slug);
  if (!preset) throw invalid(loc, "names a preset that does not exist");
  // rerun_from wins over code (rules/job-options#rerun-from-wins-over-code), but not the preset's over the job's own code.
  const own_code = typeof options.code === "string" && { rerun_from: null };
  return { ...preset.options, ...own_code, ...options };
}
