import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Role, Target } from "../install/roles.ts";
import { CommandRefused } from "../refused.ts";
import { outputOf } from "./check.ts";

/** Runs the doctor as an installed unit would run its service: user, variables, restrictions, drop-ins. */

/** Settings of a unit that concern the life of its service, or would affect the running one. */
const NOT_TAKEN =
  /^\s*(Type|Exec\w+|Restart\w*|SuccessExitStatus|NotifyAccess|Watchdog\w+|FileDescriptorStore\w+|Sockets|PIDFile|BusName|Standard\w+|TTY\w+|RuntimeDirectory\w*|Timeout\w+|RemainAfterExit|SyslogIdentifier)\s*=/;
const RUN_MS = 150_000;
const UNITS = "/run/systemd/system";

/** The lines of `[Service]` that decide how a program runs; `text` as `systemctl cat` prints it, drop-ins at its end. */
export function serviceLines(text: string): string[] {
  const kept: string[] = [];
  let section = "";
  let goes_on = false;
  let taken = false;
  for (const line of text.split("\n")) {
    const comment = /^\s*([#;]|$)/.test(line);
    if (!goes_on && comment) continue;
    const [, title] = (goes_on ? null : /^\s*\[(.+)\]\s*$/.exec(line)) ?? [];
    if (title !== undefined) {
      section = title;
      continue;
    }
    if (!goes_on) taken = section === "Service" && !NOT_TAKEN.test(line);
    if (taken && !comment) kept.push(line);
    goes_on = comment ? goes_on : line.endsWith("\\");
  }
  return kept;
}

/** The executable that the unit starts. */
export const programOf = (text: string): string | null =>
  /^\s*ExecStart\s*=\s*[-@:+!]*(\S+)/m.exec(text)?.[1] ?? null;

export interface Inner {
  output: string;
  /** What systemd reports about a start that failed before the doctor printed anything; empty otherwise. */
  failure: string;
}

/**
 * Starts `program doctor ROLE --json` once, in a transient unit that has the lines of the installed one.
 * @throws CommandRefused when systemd cannot be asked.
 */
export async function runInUnit(
  { role, instance }: Target,
  unit_text: string,
  program: string,
  args: string[],
): Promise<Inner> {
  const dir = await mkdtemp("/run/flotilla-doctor-");
  const base = `flotilla-doctor-${process.pid}`;
  const file = join(UNITS, instance === null ? `${base}.service` : `${base}@.service`);
  const unit = instance === null ? `${base}.service` : `${base}@${instance}.service`;
  try {
    const out = join(dir, "out");
    const err = join(dir, "err");
    await writeFile(
      file,
      textOf(role, unit_text, [program, "doctor", role, "--json", ...args], out, err),
    );
    await outputOf(["systemctl", "start", unit], RUN_MS);
    const said = await outputOf([
      "systemctl",
      "show",
      "-p",
      "Result,ExecMainStatus,ExecMainCode",
      unit,
    ]);
    if (said === null) throw new CommandRefused("systemctl does not answer: is systemd well?");
    const text = async (path: string) => (existsSync(path) ? readFile(path, "utf8") : "");
    const output = await text(out);
    if (output.trimStart().startsWith("{")) return { output, failure: "" };
    return { output: output + (await text(err)), failure: said.trim().replaceAll("\n", ", ") };
  } finally {
    await rm(file, { force: true });
    await rm(dir, { recursive: true, force: true });
    await outputOf(["systemctl", "reset-failed", unit]);
    await outputOf(["systemctl", "daemon-reload"]);
  }
}

/** Words for `ExecStart=`, in which systemd reads `%`, `$`, quotes and blanks. */
const quote = (word: string): string =>
  `"${word.replace(/[\\"]/g, "\\$&").replaceAll("%", "%%").replaceAll("$", "$$$$")}"`;

const textOf = (role: Role, unit_text: string, argv: string[], out: string, err: string): string =>
  [
    "[Unit]",
    `Description=Flotilla doctor of the ${role}`,
    "CollectMode=inactive-or-failed",
    "[Service]",
    ...serviceLines(unit_text),
    "Type=oneshot",
    `ExecStart=${argv.map(quote).join(" ")}`,
    "SuccessExitStatus=1",
    `TimeoutStartSec=${RUN_MS / 1_000 - 10}`,
    `StandardOutput=file:${out}`,
    `StandardError=file:${err}`,
    "",
  ].join("\n");
