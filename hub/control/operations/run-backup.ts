import type { HubConfig } from "../../config.ts";

/** A backup as a process of its own: packing and hashing would hold up every call of the hub. */

/** Of what it says, as much as a reason needs. */
const MAX_SAID = 500;
const NICE = ["nice", "-n", "10"];

/**
 * Runs `flotilla backup DIR --keep N` on the stores of `config`.
 * @param self how this program is started.
 * @returns the file. @throws Error with what the command said.
 */
export async function runBackupProcess(
  self: readonly string[],
  config: HubConfig,
  signal: AbortSignal,
): Promise<string> {
  const { backup, db_url, objects_url, plugins_dir, data_dir } = config;
  if (backup === null) throw new Error("SVC_BACKUP_DIR is not set");
  const nice = Bun.which("nice") === null ? [] : NICE;
  const argv = [...nice, ...self, "backup", backup.dir, "--json", "--keep", String(backup.keep)];
  const child = Bun.spawn(argv, {
    env: {
      ...backup.environment,
      SVC_DB_URL: db_url,
      SVC_OBJECTS_URL: objects_url,
      SVC_PLUGINS_DIR: plugins_dir,
      SVC_DATA_DIR: data_dir,
    },
    ...{ stdin: "ignore", stdout: "pipe", stderr: "pipe", signal, killSignal: "SIGTERM" },
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code === 0) return (JSON.parse(out) as { file: string }).file;
  if (signal.aborted) throw new Error("the hub was stopped meanwhile");
  const said = err
    .trim()
    .replace(/^flotilla: /gm, "")
    .slice(0, MAX_SAID);
  throw new Error(said || `the backup ended with ${child.signalCode ?? code}`);
}
