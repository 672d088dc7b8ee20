import type { ProfileRow } from "#hub/platform/db/rows.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { type Issue, invalid, notFound } from "#shared/kit/errors.ts";
import type { JobOptions } from "#shared/protocol/schema/job.ts";
import type { Profile, ProfileRef } from "#shared/protocol/schema/profile.ts";
import type { FleetContext } from "../context.ts";

/** Object key of one version of a profile. The prefix keeps names such as `con`, which no object may have, out of the way. */
export const profileKey = (name: string, sha256: string): string =>
  `profiles/p-${name}/${sha256}.tar.gz`;

export const profileRecord = (row: ProfileRow): Profile => ({
  ...row,
  created_at: isoTime(row.created_at),
  updated_at: isoTime(row.updated_at),
});

const toRef = ({ name, sha256, size }: ProfileRow): ProfileRef => ({ name, sha256, size });

/**
 * The current version of the profile a job or a session asks for (rules/profiles#profile-of-a-run).
 * @throws AppError invalid naming `loc` when there is none.
 */
export async function profileRef(
  ctx: Pick<FleetContext, "db">,
  name: string,
  loc: Issue["loc"] = ["body", "use_profile"],
): Promise<ProfileRef> {
  const row = await ctx.db.profiles.get(name);
  if (!row) throw invalid(loc, `there is no profile ${name}`, "unknown_profile");
  return toRef(row);
}

/** What runs without a named profile get (rules/profiles#default-profile); null when no default is set. */
export async function defaultProfile(ctx: Pick<FleetContext, "db">): Promise<ProfileRef | null> {
  const row = await ctx.db.profiles.getDefault();
  return row && toRef(row);
}

/** Stands for a profile that is gone: the worker fails the run, naming it. */
const goneRef = (name: string): ProfileRef => ({ name, sha256: "0".repeat(64), size: 0 });

/**
 * The profile of a job's run (rules/profiles#profile-of-a-run, rules/profiles#default-profile): the one it names, else the
 * default one unless its browser comes from elsewhere.
 */
export async function profileForJob(
  ctx: Pick<FleetContext, "db">,
  { use_profile, attach, attach_to_job, clone_chrome_profile }: JobOptions,
): Promise<ProfileRef | null> {
  if (use_profile !== null) {
    const row = await ctx.db.profiles.get(use_profile);
    return row ? toRef(row) : goneRef(use_profile);
  }
  const elsewhere = attach !== null || attach_to_job !== null || clone_chrome_profile !== null;
  return elsewhere ? null : defaultProfile(ctx);
}

export async function listProfiles(ctx: Pick<FleetContext, "db">): Promise<Profile[]> {
  return (await ctx.db.profiles.list()).map(profileRecord);
}

/** @throws AppError not_found */
export async function getProfile(ctx: Pick<FleetContext, "db">, name: string): Promise<Profile> {
  const row = await ctx.db.profiles.get(name);
  if (!row) throw notFound("profile");
  return profileRecord(row);
}

/** @throws AppError not_found, and the default stays what it was. */
export async function setDefaultProfile(
  ctx: Pick<FleetContext, "db">,
  name: string,
): Promise<Profile> {
  const row = await ctx.db.profiles.setDefault(name);
  if (!row) throw notFound("profile");
  return profileRecord(row);
}
