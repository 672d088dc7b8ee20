import { ConfigError } from "#shared/env.ts";

/** The account Chromium runs as, when the worker is root. */
export interface BrowserUser {
  name: string;
  uid: number;
  gid: number;
}

/**
 * Looks `name` up; null when none is set or when the worker is that user already.
 * @throws ConfigError when there is no such user, or when the worker may not change to it.
 */
export function findBrowserUser(name: string | null): BrowserUser | null {
  if (name === null) return null;
  const [uid, gid] = [lookUp("-u", name), lookUp("-g", name)];
  if (uid === null || gid === null) throw new ConfigError(`SVC_BROWSER_USER: no user ${name}`);
  const self = process.getuid?.();
  if (uid === self) return null;
  if (self !== 0)
    throw new ConfigError("SVC_BROWSER_USER: only root can run Chromium as another user");
  return { name, uid, gid };
}

/** `id` asks the same sources as login does, a directory server included. */
function lookUp(option: string, name: string): number | null {
  const result = Bun.spawnSync(["id", option, "--", name], { timeout: 5_000, stderr: "ignore" });
  return result.exitCode === 0 ? Number(result.stdout.toString()) : null;
}
