import type { HubConfig } from "#hub/platform/config.ts";

/** Runs the backup in its own process: packing and hashing would hold up every call of the hub. */

/** How much of its output is kept as the reason. */
const MAX_SAID = 500;
const NICE = ["nice", "-n", "10"];

/** What a finished backup prints. */
export interface MadeBackup {
  file: string;
  /** What it warns about, such as a bucket that keeps no versions; empty for nothing. */
  warned: string;
}

/** Only for asking the bucket whether it keeps versions: bodies in a bucket are not part of the backup. */
const keysOf = ({ object_keys: keys }: HubConfig): Record<string, string | undefined> =>
  keys === null
    ? {}
    : {
        S3_ACCESS_KEY_ID: keys.access_key_id,
        S3_SECRET_ACCESS_KEY: keys.secret_access_key,
        S3_SESSION_TOKEN: keys.session_token,
      };

const wordsOf = (stderr: string): string =>
  stderr
    .trim()
    .replace(/^flotilla: (warning: )?/gm, "")
    .slice(0, MAX_SAID);

/**
 * Runs `flotilla backup DIR --keep N` on the stores of `config`.
 * @param self how this program is started.
 * @throws Error with what the command said.
 */
export async function runBackupProcess(
  self: readonly string[],
  config: HubConfig,
  signal: AbortSignal,
): Promise<MadeBackup> {
  const { backup, db_url, objects_url, plugins_dir, data_dir } = config;
  if (backup === null) throw new Error("SVC_BACKUP_DIR is not set");
  const nice = Bun.which("nice") === null ? [] : NICE;
  const argv = [...nice, ...self, "backup", backup.dir, "--json", "--keep", String(backup.keep)];
  const child = Bun.spawn(argv, {
    env: {
      ...backup.environment,
      ...keysOf(config),
      SVC_DB_URL: db_url,
      SVC_OBJECTS_URL: objects_url,
      SVC_PLUGINS_DIR: plugins_dir,
      SVC_DATA_DIR: data_dir,
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    signal,
    killSignal: "SIGTERM",
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code === 0) return { file: (JSON.parse(out) as { file: string }).file, warned: wordsOf(err) };
  if (signal.aborted) throw new Error("the hub was stopped during the backup");
  throw new Error(wordsOf(err) || `the backup ended with ${child.signalCode ?? code}`);
}
