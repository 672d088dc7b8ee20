import controlUnit from "../../../../scripts/systemd/flotilla-control.service" with {
  type: "text",
};
import hubUnit from "../../../../scripts/systemd/flotilla-hub.service" with { type: "text" };
import workerUnit from "../../../../scripts/systemd/flotilla-worker@.service" with { type: "text" };
import { UsageError } from "../../cli/exit.ts";
import { readText } from "./system-files.ts";

export const ROLES = ["hub", "control", "worker"] as const;
export type Role = (typeof ROLES)[number];

/** What is installed: `instance` names one of a machine's workers, null for hub and control plane. */
export interface Target {
  role: Role;
  instance: string | null;
}

/** The user in the unit files, replaced if another one is asked for. */
const DEFAULT_USER: Record<Role, string> = {
  hub: "flotilla",
  control: "flotilla",
  // Tasks and pages run as the worker's user, which must not read the hub's database.
  worker: "flotilla-worker",
};

const UNIT_TEXT: Record<Role, string> = { hub: hubUnit, control: controlUnit, worker: workerUnit };

/** Valid between `@` and `.service` without escapes, and as part of a worker id. */
const INSTANCE = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/;
const USER = /^[a-z_][a-z0-9_-]{0,30}$/;

/** @throws UsageError naming the word that is wrong. */
export function readTarget([role, name]: string[]): Target {
  const known = ROLES.find((r) => r === role);
  if (known === undefined) throw new UsageError(`"${role}" is not one of ${ROLES.join(", ")}`);
  if (known !== "worker") {
    if (name !== undefined)
      throw new UsageError(`unexpected word "${name}": only workers have names`);
    return { role: known, instance: null };
  }
  const instance = name ?? "main";
  if (!INSTANCE.test(instance))
    throw new UsageError(
      `"${instance}" is not a worker name: letters, digits, - and _, at most 32`,
    );
  return { role: known, instance };
}

/** @throws UsageError */
export function readUser(role: Role, given: string | undefined): string {
  const user = given ?? DEFAULT_USER[role];
  if (!USER.test(user)) throw new UsageError(`--user: "${user}" is not a user name`);
  if (user === "root")
    throw new UsageError("--user: root is refused: Chromium would run without its sandbox");
  return user;
}

export const defaultUser = (role: Role): string => DEFAULT_USER[role];

/** The user that the unit at `path` runs as; null when there is no unit. */
export async function userOf(path: string): Promise<string | null> {
  return /^User=(.+)$/m.exec((await readText(path)) ?? "")?.[1] ?? null;
}

export const unitFile = ({ role }: Target): string =>
  role === "worker" ? "flotilla-worker@.service" : `flotilla-${role}.service`;

/** The name for systemctl. */
export const unitName = ({ role, instance }: Target): string =>
  role === "worker" ? `flotilla-worker@${instance}.service` : `flotilla-${role}.service`;

export const stateName = ({ role, instance }: Target): string => {
  if (role === "worker") return `flotilla-worker-${instance}`;
  return role === "control" ? "flotilla-control" : "flotilla";
};

export const envFile = ({ role, instance }: Target): string =>
  role === "worker" ? `worker-${instance}.env` : `${role}.env`;

/** The unit's text for `user`. */
export const unitText = (role: Role, user: string): string =>
  UNIT_TEXT[role].replace(/^User=.*$/m, `User=${user}`);

/** Of the units that `install` writes; a package's executable is replaced by dpkg, which marks no version to go back to. */
const MARKS_HEALTHY = /^# The version that is ready .*\nExecStartPost=.*\n/m;

/** The unit as Debian's package has it. */
export const packagedUnitText = (role: Role): string =>
  unitText(role, defaultUser(role))
    .replace(MARKS_HEALTHY, "")
    .replace(/^Description=.*$/m, "$&\nDocumentation=man:flotilla(1)")
    .replaceAll("/usr/local/bin/", "/usr/bin/");
