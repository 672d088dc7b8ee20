import type { CdpSession, Protocol } from "../cdp/connection.ts";
import { Described, rankSelectors } from "../picker/described.ts";

/** The frames of the tabs that are recorded: where they are, and where the recorder's own world in them is. */
export interface FrameBook {
  /** A target was attached: its frames, now and from now on. */
  follow(session: CdpSession, target: Protocol.Target.TargetInfo): Promise<void>;
  /** The frame of a world; null for one that is gone. */
  ofContext(session: CdpSession, context_id: number): string | null;
  /** Address of a frame's document. */
  urlOf(frame_id: string): string;
  isKnown(frame_id: string): boolean;
  /** The outermost frame, whose id is that of its tab. */
  rootOf(frame_id: string): string;
  /** Selectors of the iframes around it, from outside in. @throws when they cannot be told. */
  pathOf(frame_id: string): Promise<string[]>;
  /** Its document is new: what was known of its iframe may no longer hold. */
  forgetPath(frame_id: string): void;
  /** The recorder's worlds that are there. */
  worlds(): World[];
}

/** The recorder's own place in a document. */
export interface World {
  session: CdpSession;
  context_id: number;
}
interface FrameNote {
  url: string;
  parent: string | null;
}

/** Frames of all tabs; what is done in further ones is not recorded. */
const MOST_NOTED = 5_000;
const MAX_ADDRESS = 8_000;
const MOST_FRAMES = 10;
const MOST_LEVELS = 50;
const ASK_MS = 2_000;
const DESCRIBE = "function () { return flotillaPicker.describe(this, false); }";

export function createFrameBook(world: string): FrameBook {
  const frames = new Map<string, FrameNote>();
  const worlds = createWorlds(world);
  const paths = new Map<string, Promise<string>>();
  const parentOf = (frame_id: string) => frames.get(frame_id)?.parent ?? null;
  const ownerOf = (frame_id: string): Promise<string> => {
    const known = paths.get(frame_id);
    if (known !== undefined) return known;
    const owner = ownerIn(worlds.of(parentOf(frame_id)), frame_id);
    paths.set(frame_id, owner);
    owner.catch(() => paths.delete(frame_id));
    return owner;
  };
  return {
    follow: async (session, target) => {
      worlds.follow(session);
      await followFrames(frames, session, target);
    },
    ofContext: worlds.frameOf,
    urlOf: (frame_id) => frames.get(frame_id)?.url ?? "",
    isKnown: (frame_id) => frames.has(frame_id),
    rootOf: (frame_id) => rootIn(frames, frame_id),
    pathOf: async (frame_id) => {
      const path: string[] = [];
      for (let at = frame_id; path.length <= MOST_FRAMES; ) {
        const parent = parentOf(at);
        if (parent === null) return path.reverse();
        path.push(await ownerOf(at));
        at = parent;
      }
      throw new Error("the frame is too deep");
    },
    forgetPath: (frame_id) => void paths.delete(frame_id),
    worlds: worlds.all,
  };
}

function rootIn(frames: ReadonlyMap<string, FrameNote>, frame_id: string): string {
  let at = frame_id;
  for (let up = 0; up < MOST_LEVELS; up += 1) at = frames.get(at)?.parent ?? at;
  return at;
}

/** Notes the frames of a target; those of other processes are targets of their own. */
async function followFrames(
  frames: Map<string, FrameNote>,
  session: CdpSession,
  { targetId, url, parentFrameId }: Protocol.Target.TargetInfo,
): Promise<void> {
  const note = (id: string, address: string, parent: string | undefined) => {
    const known = frames.get(id);
    if (!known && frames.size >= MOST_NOTED) return;
    frames.set(id, { url: address.slice(0, MAX_ADDRESS), parent: parent ?? known?.parent ?? null });
  };
  note(targetId, url, parentFrameId);
  session.on("Page.frameAttached", (one) => note(one.frameId, "", one.parentFrameId));
  session.on("Page.frameNavigated", ({ frame }) => note(frame.id, frame.url, frame.parentId));
  session.on("Page.frameDetached", ({ frameId, reason }) => {
    if (reason !== "swap") frames.delete(frameId);
  });
  // A tab takes its frames with it, those of other processes too.
  if (parentFrameId === undefined)
    void session.closed.then(() => {
      for (const id of frames.keys()) if (rootIn(frames, id) === targetId) frames.delete(id);
    });
  session.post("Page.enable");
  const { frameTree } = await session.send("Page.getFrameTree");
  const noteAll = ({ frame, childFrames = [] }: typeof frameTree): void => {
    note(frame.id, frame.url, frame.parentId);
    for (const child of childFrames) noteAll(child);
  };
  noteAll(frameTree);
}

/** What the iframe around a frame is called by the document that it is in. */
async function ownerIn(parent: World | null, frame_id: string): Promise<string> {
  if (!parent) throw new Error("the frame's page is gone");
  const { session, context_id } = parent;
  const soon = { timeout_ms: ASK_MS };
  const { backendNodeId } = await session.send("DOM.getFrameOwner", { frameId: frame_id }, soon);
  const node = { backendNodeId, executionContextId: context_id };
  const { object } = await session.send("DOM.resolveNode", node, soon);
  const { result } = await session.send(
    "Runtime.callFunctionOn",
    { objectId: object.objectId, functionDeclaration: DESCRIBE, returnByValue: true },
    soon,
  );
  const [best] = rankSelectors(Described.parse(result.value).selectors);
  if (!best) throw new Error("the frame has no selector");
  return best.selector;
}

/** The recorder's own worlds, one in each document. */
function createWorlds(name: string) {
  const by_frame = new Map<string, World>();
  const by_context = new Map<string, string>();
  const keyOf = (session: CdpSession, context_id: number) => `${session.session_id} ${context_id}`;
  const forget = (session: CdpSession) => {
    for (const [id, one] of by_frame) if (one.session === session) by_frame.delete(id);
    for (const key of by_context.keys())
      if (key.startsWith(`${session.session_id} `)) by_context.delete(key);
  };
  return {
    follow: (session: CdpSession) => {
      session.on("Runtime.executionContextCreated", ({ context }) => {
        const frame_id: unknown = context.auxData?.frameId;
        if (context.name !== name || typeof frame_id !== "string") return;
        by_frame.set(frame_id, { session, context_id: context.id });
        by_context.set(keyOf(session, context.id), frame_id);
      });
      session.on("Runtime.executionContextDestroyed", ({ executionContextId }) => {
        const key = keyOf(session, executionContextId);
        const frame_id = by_context.get(key);
        by_context.delete(key);
        // Its next document may have one already.
        const now = frame_id === undefined ? undefined : by_frame.get(frame_id);
        if (
          frame_id !== undefined &&
          now?.session === session &&
          now.context_id === executionContextId
        )
          by_frame.delete(frame_id);
      });
      void session.closed.then(() => forget(session));
    },
    of: (frame_id: string | null) => (frame_id === null ? null : (by_frame.get(frame_id) ?? null)),
    frameOf: (session: CdpSession, context_id: number) =>
      by_context.get(keyOf(session, context_id)) ?? null,
    all: () => [...by_frame.values()],
  };
}
