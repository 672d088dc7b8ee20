import type { z } from "zod";
import { HubEnv } from "#hub/platform/hub-env.ts";
import { hideCredentials, MASK } from "#shared/kit/hide-credentials.ts";
import { WorkerEnv } from "#worker/config.ts";
import type { Mode } from "../cli/flags.ts";

/** Every variable of the program, from the schemas that read them. */

/** What a schema says about its variable besides the description (`.meta()`). */
interface VariableMeta {
  /** `whole`: never shown. `in_url`: shown without its password. Both may come from a file. */
  secret?: "whole" | "in_url";
  /** A command line: each list entry is one argument. */
  argv?: boolean;
  /** A new value takes effect with SIGHUP; without this, after a restart. */
  reload?: boolean;
}

export type VariableSchema = z.ZodType;

/** Variables without a schema: the command line and the client commands read them themselves. */
const ELSEWHERE = ["SVC_MODE", "SVC_HUB", "SVC_CONFIG", "SVC_EXIT_ON_STDIN_CLOSE"];
/** The keys of a bucket, under the names that other tools use. */
const ALIASES = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];

const SHAPES: Record<string, VariableSchema> = { ...HubEnv.shape, ...WorkerEnv.shape };

const metaOf = (name: string): VariableMeta => (SHAPES[name]?.meta() as VariableMeta) ?? {};

/** The variables that a mode reads, by name. */
export const shapeOf = (mode: Mode): Readonly<Record<string, VariableSchema>> =>
  mode === "worker" ? WorkerEnv.shape : HubEnv.shape;

/** Whether a new value takes effect while the program runs. */
export const isReloadable = (mode: Mode, name: string): boolean =>
  (shapeOf(mode)[name]?.meta() as VariableMeta | undefined)?.reload === true;

/** `whole`: the value is never shown; `in_url`: it is a URL, shown without its password; null: it is not secret. */
export const secrecyOf = (name: string): "whole" | "in_url" | null =>
  ALIASES.includes(name) ? "whole" : (metaOf(name).secret ?? null);

/** The value as it may be shown, without its secret parts. */
export function shownValue(name: string, value: string): string {
  const secrecy = secrecyOf(name);
  if (secrecy === "whole") return MASK;
  // A proxy may be written without a scheme, and then only its @ shows that there is a password.
  if (secrecy === "in_url" && !value.includes("://") && value.includes("@")) return MASK;
  return hideCredentials(value);
}

export const KNOWN: ReadonlySet<string> = new Set([
  ...Object.keys(SHAPES),
  ...ELSEWHERE,
  ...ALIASES,
]);

/** May come from a file that NAME_FILE names. */
export const SECRETS: readonly string[] = [...KNOWN].filter((name) => secrecyOf(name) !== null);

export const ARGV_NAMES: ReadonlySet<string> = new Set(
  Object.keys(SHAPES).filter((name) => metaOf(name).argv === true),
);
