import { isOfRuntime } from "#shared/kit/runtime-flags.ts";
import { nearestWord } from "../cli/nearest-word.ts";
import { KNOWN, SECRETS } from "./known.ts";
import { fileVariable, type GatheredVariables, type Origin } from "./variable-sources.ts";

/**
 * Names that look like ours but that nothing reads. Most only leave an unwanted default in place. One that was meant to
 * be a secret leaves the secret unset: a hub whose SVC_API_TOKEN is misspelled is open to everybody, so nothing starts
 * with it.
 */

const OURS = /^(SVC|WORKER|LANE|NOVNC|CODEGEN|HUB)_/;
const GUARDS = /(TOKEN|SECRET|PASSWORD|_FILE)$/;
/** Variables that list names chosen by operators: those names belong to recipes, tasks, engines and deploys. */
const LISTS = ["SVC_RECIPE_ENV", "SVC_TASK_ENV", "SVC_ENGINE_KEY_ENV", "SVC_DEPLOY_ENV"];
/** Names without our prefix belong to other programs, unless they are this close to one of ours. */
const SLIP = 2;
/** The database driver reads this variable itself, and does not know of files. */
const PG_FILE = fileVariable("PGPASSWORD");

const SPELLED: ReadonlySet<string> = new Set([...KNOWN, ...SECRETS.map(fileVariable)]);

const isOurs = (name: string): boolean =>
  OURS.test(name) ||
  name === PG_FILE ||
  KNOWN.has(name.replace(/_FILE$/, "")) ||
  (name.length > 4 * SLIP && nearestWord(name, SPELLED, SLIP) !== null);

/** Whether it, or its correct spelling, looks as if it should protect something. */
const guards = (name: string): boolean =>
  GUARDS.test(name) || GUARDS.test(nearestWord(name, SPELLED) ?? "");

function sentence(name: string, ours: boolean, { file }: Origin): string {
  const at = `${name}:${file === null ? "" : ` in ${file}`}`;
  const base = name.replace(/_FILE$/, "");
  if (!ours)
    return `${at} is not a variable of Flotilla; only engines and recipes that name it can read it`;
  if (name === PG_FILE)
    return `${at} is not read; put the whole URL into a file and set SVC_DB_URL_FILE`;
  if (KNOWN.has(base)) return `${at} is not read: ${base} is not a secret, set it directly`;
  const nearest = nearestWord(name, SPELLED);
  const meant = nearest === null ? "" : `, did you mean ${nearest}?`;
  const unknown = `${at} is not a variable of Flotilla`;
  if (!guards(name)) return `${unknown}${meant}`;
  return `${unknown}, but looks like a secret, and nothing starts without a secret that was meant to be set: correct the name or unset it${meant}`;
}

export interface UnknownNames {
  /** One sentence each, beginning with the name. */
  warnings: string[];
  /** Those that were meant to be secrets. */
  refusals: string[];
}

/** Listed names that cannot be passed on: the executable removes them from its own environment at the start. */
const ofRuntime = (list: string, names: readonly string[]): string[] =>
  names
    .filter(isOfRuntime)
    .map(
      (name) =>
        `${list}: ${name} would change the executable's runtime, which starts without it and does not pass it on` +
        (list === "SVC_TASK_ENV" ? ": set it in the workload's env" : ""),
    );

/** Reports names that nothing reads, in the environment and in the configuration file. */
export function unknownNames({ env, origins }: GatheredVariables): UnknownNames {
  const lists = LISTS.map((list) => ({
    list,
    // What a name is bound to is not part of it.
    names: (env[list] ?? "").split(",").map((name) => name.trim().replace(/@.*$/, "")),
  }));
  const chosen = new Set(lists.flatMap(({ names }) => names));
  const said: UnknownNames = {
    warnings: lists.flatMap(({ list, names }) => ofRuntime(list, names)),
    refusals: [],
  };
  for (const [name, origin] of [...origins].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (SPELLED.has(name) || chosen.has(name)) continue;
    const ours = isOurs(name);
    if (!ours && origin.from !== "config_file") continue;
    const refused = ours && guards(name);
    said[refused ? "refusals" : "warnings"].push(sentence(name, ours, origin));
  }
  return said;
}
