import type { OpenReplay, Replays } from "#worker/replay/replays.ts";
import type { LaneArchive } from "../lanes/lane-browser.ts";
import type { Live } from "./live.ts";

/**
 * Opens the capture that a session's browser is to show; the session keeps it until it ends. @throws ReplayError, or why
 * the session has ended meanwhile
 */
export async function showReplay(
  live: Live,
  replays: Replays,
  options: Omit<OpenReplay, "signal">,
): Promise<LaneArchive> {
  const replay = await replays.open({ ...options, signal: live.signal });
  if (live.signal.aborted) await replay.close();
  live.signal.throwIfAborted();
  live.replay = replay;
  return replay.archive;
}
