import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Root that writes into a service's data directory leaves files there which the service cannot write: from here on the
 * process is the directory's owner. Nothing happens to anybody else, or where root owns it.
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
