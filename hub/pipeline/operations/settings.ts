import type { SettingRow } from "#hub/platform/db/rows.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { AppError, conflict, type Issue, notFound } from "#shared/kit/errors.ts";
import type { Setting } from "#shared/protocol/schema/operations.ts";
import type { PipelineContext } from "../context.ts";
import { FIXED, isWritable, type ValueOf, WRITABLE, type WritableKey } from "./known-settings.ts";

/** The fleet keeps its own settings in the same table. */
const PREFIX = "control.";

type SettingsContext = Pick<PipelineContext, "config" | "clock" | "log"> & {
  db: Pick<PipelineContext["db"], "settings">;
};

/** The value in force: the stored one, else the default. A stored value that is no longer allowed is ignored. */
export async function readSetting<K extends WritableKey>(
  { db }: { db: SettingsContext["db"] },
  key: K,
): Promise<ValueOf<K>> {
  const { schema, fallback } = WRITABLE[key];
  const stored = schema.safeParse(await db.settings.get(PREFIX + key));
  return (stored.success ? stored.data : fallback) as ValueOf<K>;
}

/** Every setting of the control plane by key, with the value in force (rules/pipeline-operations#settings). */
export async function listSettings(ctx: SettingsContext): Promise<Setting[]> {
  const stored = new Map((await ctx.db.settings.list(PREFIX)).map((row) => [row.key, row]));
  const settings = (Object.keys(WRITABLE) as WritableKey[]).map((key) =>
    writableRecord(key, stored.get(PREFIX + key)),
  );
  for (const [key, { variable, description, value, secret = false }] of Object.entries(FIXED)) {
    const source = ctx.config.given.has(variable) ? ("env" as const) : ("default" as const);
    settings.push({
      key,
      value: value(ctx.config),
      secret,
      writable: false,
      source,
      updated_at: null,
      description: `${description} (${variable})`,
    });
  }
  return settings.sort((a, b) => (a.key < b.key ? -1 : 1));
}

function writableRecord(key: WritableKey, row: SettingRow | undefined): Setting {
  const { schema, fallback, description } = WRITABLE[key];
  const stored = schema.safeParse(row?.value);
  const counts =
    row && stored.success
      ? { value: stored.data, source: "stored" as const, updated_at: isoTime(row.updated_at) }
      : { value: fallback, source: "default" as const, updated_at: null };
  const { value, ...known } = counts;
  return { key, value, secret: false, writable: true, description, ...known };
}

/** @throws AppError not_found, or conflict for a setting that only its variable sets */
function requireWritable(key: string): WritableKey {
  if (isWritable(key)) return key;
  const fixed = Object.hasOwn(FIXED, key) ? FIXED[key] : undefined;
  if (!fixed) throw notFound("setting");
  throw conflict(`${key} is set by ${fixed.variable}, which is read when the program starts`);
}

/**
 * Stores a value, which takes effect at the next use.
 * @throws AppError not_found, conflict, or invalid naming the place in the value; never the value itself
 */
export async function writeSetting(
  ctx: SettingsContext,
  name: string,
  value: unknown,
): Promise<Setting> {
  const key = requireWritable(name);
  const parsed = WRITABLE[key].schema.safeParse(value);
  if (!parsed.success)
    throw new AppError(
      "invalid",
      parsed.error.issues.slice(0, 50).map(
        ({ path, message, code }): Issue => ({
          loc: [
            "body",
            "value",
            ...path.map((part) => (typeof part === "number" ? part : String(part))),
          ],
          msg: message,
          type: code,
        }),
      ),
    );
  const updated_at = ctx.clock.now();
  // Null unsets it, in the store too.
  if (parsed.data === null) {
    await ctx.db.settings.delete(PREFIX + key);
    return writableRecord(key, undefined);
  }
  await ctx.db.settings.set(PREFIX + key, parsed.data, updated_at);
  ctx.log.info({ setting: key }, "setting changed");
  return writableRecord(key, { key: PREFIX + key, value: parsed.data, updated_at });
}

/** Goes back to the default. @throws AppError not_found when it is not stored, conflict */
export async function unsetSetting(ctx: SettingsContext, name: string): Promise<void> {
  const key = requireWritable(name);
  if (!(await ctx.db.settings.delete(PREFIX + key))) throw notFound("stored value");
  ctx.log.info({ setting: key }, "setting unset");
}
