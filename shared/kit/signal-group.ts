/** Signals every process of the group that `pid` leads; a group that is gone, or never existed, is fine too. */
export function signalGroup(pid: number | null | undefined, name: NodeJS.Signals): void {
  if (pid === null || pid === undefined) return;
  try {
    process.kill(-pid, name);
  } catch {
    // It is already gone.
  }
}
