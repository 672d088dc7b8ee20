import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { ensureBinary, ROOT } from "../../../scripts/build.ts";
import { runProgram } from "../rigs/program.ts";

/** The machines of scripts/lan, each with a systemd of its own. There is one set of them at a time, and root makes it. */

const LAN = join(ROOT, "scripts/lan");
/** A directory of this machine that is /srv/flotilla on the others. */
export const SHARED = "/run/flotilla-lan/srv";
/** One test there: services start and stop several times, each in its own time where the machine is busy. */
export const SLOW_MS = 600_000;
/** The compiled binary there. */
export const FLOTILLA = "/srv/flotilla/flotilla";

async function lan(...words: string[]) {
  const ended = await runProgram([LAN, ...words]);
  return { ...ended, said: `${ended.stdout}\n${ended.stderr}` };
}

async function lanOrThrow(...words: string[]): Promise<string> {
  const { code, stdout, said } = await lan(...words);
  if (code !== 0) throw new Error(`lan ${words.join(" ")}: ${code}\n${said}`);
  return stdout;
}

/** Starts them, `NAME=ADDRESS` each, with the binary at `FLOTILLA`. */
export async function machinesUp(...hosts: string[]): Promise<void> {
  const binary = await ensureBinary();
  await lanOrThrow("up", ...hosts);
  copyFileSync(binary, join(SHARED, "flotilla"));
}

export const machinesDown = () => lanOrThrow("down");

/** Runs `script` there as root; how it ended and what it said. */
export const tryIn = (host: string, script: string) => lan("run", host, "sh", "-c", script);

/** Runs `script` there as root; its standard output. @throws Error when a command of it failed. */
export const runIn = (host: string, script: string) => lanOrThrow("run", host, "sh", "-ec", script);

/** Creates a workload whose tasks succeed, by the command line there; `hub` is the address of the fleet. */
export const createWorkload = (host: string, slug: string, hub = "http://localhost:8000") =>
  runIn(
    host,
    `printf '%s\\n' 'slug: ${slug}' 'executor_type: bun_module' 'executor_config:' '  code: "export const run = () => 2"' > /tmp/${slug}.yaml
     SVC_HUB=${hub} flotilla workloads create -f /tmp/${slug}.yaml`,
  );
