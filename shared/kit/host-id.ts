import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** Header in which a hub tells a bridge its host id: a hub on the same host may see what is behind the bridge. */
export const HOST_ID_HEADER = "flotilla-host";

/**
 * Identifies the host this process runs on, the same for every process that sees the same machine and the same files;
 * null where it cannot be determined. The kernel creates a new boot id at every start of the machine, so no two
 * machines share one, as they may share a cloned machine-id; containers on one machine differ by their host name.
 */
export function hostId(): string | null {
  try {
    const boot_id = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return createHash("sha256").update(`${boot_id}\n${hostname()}`).digest("hex").slice(0, 32);
  } catch {
    return null;
  }
}
