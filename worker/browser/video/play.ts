import type { CdpSession, Protocol } from "../cdp/connection.ts";
import type { Tracked } from "../record/targets.ts";

const FRAME_MS = 3_000;

/** Starts every player of a frame, muted; returns how many there are. */
const PLAY = `(() => {
  const players = [...document.querySelectorAll("video")];
  for (const player of players) {
    player.muted = true;
    player.play().catch(() => {});
  }
  return players.length;
})()`;

const frameIds = (tree: Protocol.Page.FrameTree): string[] => [
  tree.frame.id,
  ...(tree.childFrames ?? []).flatMap(frameIds),
];

async function playFrame(session: CdpSession, frame_id: string): Promise<number> {
  const timeout = { timeout_ms: FRAME_MS };
  const { executionContextId } = await session.send(
    "Page.createIsolatedWorld",
    { frameId: frame_id, worldName: "flotilla" },
    timeout,
  );
  const { result } = await session.send(
    "Runtime.evaluate",
    { contextId: executionContextId, expression: PLAY, returnByValue: true, userGesture: true },
    timeout,
  );
  return typeof result.value === "number" ? result.value : 0;
}

/**
 * Presses play, muted, in every frame of these pages, so that players that wait for it request their manifests. A frame
 * that does not answer is left alone.
 * @returns how many players there are.
 */
export async function playVideos(targets: readonly Tracked[]): Promise<number> {
  const counts = await Promise.all(
    targets
      .filter(({ type }) => type === "page" || type === "iframe")
      .map(async ({ session }) => {
        const answer = await session
          .send("Page.getFrameTree", undefined, { timeout_ms: FRAME_MS })
          .catch(() => null);
        if (!answer) return 0;
        const frames = frameIds(answer.frameTree);
        const played = await Promise.all(frames.map((id) => playFrame(session, id).catch(() => 0)));
        return played.reduce((sum, count) => sum + count, 0);
      }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
