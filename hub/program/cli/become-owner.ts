import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * When root writes into a service's data directory, it leaves files there that the service cannot write. From here on
 * the process runs as the directory's owner. Does nothing for other users, or where root owns the directory.
 */
export function becomeOwner(dir: string): void {
  if (process.getuid?.() !== 0) return;
  let at = dir;
  while (!existsSync(at)) at = dirname(at);
  const { uid, gid } = statSync(at);
  if (uid === 0) return;
  process.setgroups?.([gid]);
  process.setgid?.(gid);
  process.setuid?.(uid);
}
