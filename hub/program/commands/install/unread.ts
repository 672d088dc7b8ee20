import { SECRETS } from "../../variables/known.ts";
import { fileVariable } from "../../variables/variable-sources.ts";
import { CommandRefused } from "../refused.ts";
import { readEnvText } from "./env-file.ts";
import { pathsOf } from "./plan.ts";
import { type Target, unitName } from "./roles.ts";
import type { System } from "./system.ts";
import { readText } from "./system-files.ts";

const CREDENTIAL = /^\s*(?:Load|Set)Credential(?:Encrypted)?\s*=\s*(\w+)/gm;

/**
 * Sources of variables that a version which reads only the environment would miss: secret files, the
 * service manager's credentials, a configuration file. Described in words, without values.
 * @param unit_text the unit with its drop-ins, as `systemctl cat` prints it.
 */
export function beyondEnvironment(values: Record<string, string>, unit_text: string): string[] {
  const files = ["SVC_CONFIG", ...SECRETS.map(fileVariable)].filter((name) => values[name]);
  const credentials = [...unit_text.matchAll(CREDENTIAL)]
    .map(([, name = ""]) => name)
    // The environment takes precedence over a credential.
    .filter((name) => SECRETS.includes(name) && !values[name])
    .map((name) => `${name} from a credential`);
  return [...files, ...credentials];
}

/** A version without `config` would miss those variables: a hub without its token lets everybody in. */
export async function refuseUnread(
  system: System,
  program: string,
  version: string,
  targets: readonly Target[],
): Promise<void> {
  const help = await system.run([program, "--help"]);
  if (/^\s+config\s/m.test(help)) return;
  for (const target of targets) {
    const { env } = pathsOf(target, "/");
    const unit_text = await system.run(["systemctl", "cat", unitName(target)]);
    const unread = beyondEnvironment(readEnvText((await readText(env)) ?? ""), unit_text);
    if (unread.length > 0)
      throw new CommandRefused(
        `version ${version} reads variables only from ${env}, but ${unitName(target)} has ${unread.join(", ")}: ` +
          `it would run without them. First write the values into ${env} and remove these sources`,
      );
  }
}
