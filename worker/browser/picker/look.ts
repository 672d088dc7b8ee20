import { z } from "zod";
import { CdpConnection, type CdpSession } from "../cdp/connection.ts";
import { socketTransport } from "../cdp/transport.ts";
import { Described, moved, rankSelectors } from "./described.ts";
import { ownSource } from "./page-source.ts";

/** An element of a tab, found by its place. Boxes are in pixels of the page. */
export interface Looked {
  element: Described | null;
  /** Selectors of its iframes, from outside in. */
  frame: string[];
}

interface Place {
  x: number;
  y: number;
  /** The element with this width and height there, and not the one that a person would mean. */
  size: { width: number; height: number } | null;
}

const WORLD = "flotilla-picker";
const MOST_FRAMES = 10;

/** The element at a point of the frame, or the iframe that covers the point. */
const AT = `function (x, y, size) {
  const { elementAt, meantBy, describe, boxOf, parentOf } = this;
  let element = elementAt(x, y);
  if (!element) return null;
  const isFrame = ["iframe", "frame"].includes(element.localName);
  const fits = (one) => {
    const box = boxOf(one);
    return Math.abs(box.width - size.width) < 1 && Math.abs(box.height - size.height) < 1;
  };
  if (isFrame && !(size && fits(element))) {
    const box = element.getBoundingClientRect();
    const scale = element.offsetWidth > 0 ? box.width / element.offsetWidth : 1;
    const style = getComputedStyle(element);
    const left = (element.clientLeft + parseFloat(style.paddingLeft)) * scale;
    const top = (element.clientTop + parseFloat(style.paddingTop)) * scale;
    return { frame: describe(element, false), element, inner: { x: box.x + left, y: box.y + top } };
  }
  if (size) while (element && !fits(element)) element = parentOf(element);
  else element = meantBy(element);
  return element && { found: describe(element, true) };
}`;

const Answer = z
  .object({
    found: Described.optional(),
    frame: Described.optional(),
    inner: z.object({ x: z.number(), y: z.number() }).optional(),
  })
  .nullable();

/**
 * What is at a point of a tab, through its frames and open shadow roots, over a connection of its own and in a world of
 * its own. @throws CdpError, DeadlineError when the page or the browser does not answer
 */
export async function lookAt(cdp_url: string, target_id: string, place: Place): Promise<Looked> {
  const connection = new CdpConnection(await socketTransport(cdp_url));
  try {
    return await descend(connection, target_id, place);
  } finally {
    connection.close();
  }
}

async function descend(
  connection: CdpConnection,
  target_id: string,
  { x, y, size }: Place,
): Promise<Looked> {
  let session = await attach(connection, target_id);
  let frame_id = (await session.send("Page.getFrameTree")).frameTree.frame.id;
  const frame: string[] = [];
  const offset = { x: 0, y: 0 };
  for (;;) {
    const seen = await lookInFrame(session, frame_id, { x: x - offset.x, y: y - offset.y, size });
    if (seen === null) return { element: null, frame };
    if (seen.found) return { element: onPage(seen.found, offset), frame };
    const [by] = rankSelectors(seen.frame?.selectors ?? []);
    if (!by || !seen.child || !seen.inner || frame.length >= MOST_FRAMES)
      return { element: seen.frame ? onPage(seen.frame, offset) : null, frame };
    frame.push(by.selector);
    offset.x += seen.inner.x;
    offset.y += seen.inner.y;
    frame_id = seen.child;
    session = await sessionOf(connection, session, frame_id);
  }
}

const attach = async (connection: CdpConnection, targetId: string): Promise<CdpSession> => {
  const { sessionId } = await connection.root.send("Target.attachToTarget", {
    targetId,
    flatten: true,
  });
  const session = connection.session(sessionId);
  if (!session) throw new Error("the tab was closed");
  return session;
};

/** A frame of another process is a target of its own, with the frame's id. */
async function sessionOf(
  connection: CdpConnection,
  session: CdpSession,
  frame_id: string,
): Promise<CdpSession> {
  const { frameTree } = await session.send("Page.getFrameTree");
  const isIn = (tree: typeof frameTree): boolean =>
    tree.frame.id === frame_id || (tree.childFrames ?? []).some(isIn);
  return isIn(frameTree) ? session : attach(connection, frame_id);
}

/** The world of the picker in a frame, with its functions in it. */
async function pickerIn(session: CdpSession, frameId: string): Promise<string> {
  const { executionContextId: contextId } = await session.send("Page.createIsolatedWorld", {
    frameId,
    worldName: WORLD,
  });
  const expression = `${ownSource()}; flotillaPicker`;
  const { result } = await session.send("Runtime.evaluate", { expression, contextId });
  if (result.objectId === undefined) throw new Error("the page cannot be looked at");
  return result.objectId;
}

async function lookInFrame(session: CdpSession, frame_id: string, { x, y, size }: Place) {
  const objectId = await pickerIn(session, frame_id);
  const { result, exceptionDetails } = await session.send("Runtime.callFunctionOn", {
    objectId,
    functionDeclaration: AT,
    arguments: [{ value: x }, { value: y }, { value: size }],
  });
  if (exceptionDetails || result.objectId === undefined) return null;
  const at = { objectId: result.objectId };
  const { result: told } = await session.send("Runtime.callFunctionOn", {
    ...at,
    functionDeclaration: "function () { const { element, ...told } = this; return told; }",
    returnByValue: true,
  });
  const answer = Answer.safeParse(told.value ?? null);
  if (!answer.success || answer.data === null) return null;
  return { ...answer.data, child: answer.data.frame ? await childOf(session, at.objectId) : null };
}

/** The frame inside the iframe that was found. */
async function childOf(session: CdpSession, objectId: string): Promise<string | null> {
  const { result } = await session.send("Runtime.callFunctionOn", {
    objectId,
    functionDeclaration: "function () { return this.element; }",
  });
  if (result.objectId === undefined) return null;
  const { node } = await session.send("DOM.describeNode", { objectId: result.objectId });
  return node.frameId ?? null;
}

const onPage = (element: Described, offset: { x: number; y: number }): Described => ({
  ...element,
  box: moved(element.box, offset),
  selectors: rankSelectors(element.selectors).map((one) => ({
    ...one,
    boxes: one.boxes.map((box) => moved(box, offset)),
  })),
});
