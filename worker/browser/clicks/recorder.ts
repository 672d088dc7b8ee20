import { DeadlineError, withDeadline } from "#shared/kit/clock.ts";
import { isBrowserUi } from "../cdp/browser-ui.ts";
import { CdpConnection, type CdpSession, type Protocol } from "../cdp/connection.ts";
import { socketTransport } from "../cdp/transport.ts";
import { ownSource } from "../picker/page-source.ts";
import { createFrameBook, type FrameBook, type World } from "./frame-book.ts";
import { Heard, MAX_HEARD_CHARS } from "./heard.ts";
import listen from "./listen.page.js" with { type: "text" };
import { moveTo } from "./move-to.ts";
import { createMoves, type LookAtMoves } from "./moves.ts";
import { createStepList, createTabList, type StepList, type TabList } from "./step-list.ts";
import { stepOf } from "./step-of.ts";
import type { NewStep } from "./steps.ts";

interface Place {
  tab: number;
  url: string;
  host: string;
}

/** What people and programs do in one browser, as steps (rules/recorded-input). */
export interface ClickRecorder extends Pick<StepList, "state" | "beyond"> {
  /** A step of a program, in the active tab. */
  add(target_id: string, make: (place: Place) => NewStep): void;
  /** Whether a field that is, or once was, secret holds this text; true when a page does not say. */
  isSecret(text: string): Promise<boolean>;
  /** Resolves when it listens to every tab and frame that is there now, or after READY_MS. */
  ready(): Promise<void>;
  /** While it runs, nothing is recorded. */
  unheard<T>(work: () => Promise<T>): Promise<T>;
  /** Takes its code out of the pages. Idempotent; `why` is for people, null when somebody asked for it. */
  stop(why: string | null): Promise<void>;
}

const WORLD = "flotilla-clicks";
const BINDING = "flotillaHeard";
const START_MS = 10_000;
const STOP_MS = 2_000;
const ANSWER_MS = 500;
const PATH_MS = 3_000;
const READY_MS = 2_000;
/** Steps whose place is looked up; a page that tells of more says what no person does. */
const MOST_WAITING = 1_000;

/** @throws CdpError, DeadlineError when the browser cannot be listened to. */
export async function startClickRecorder(
  cdp_url: string,
  active_target: string | null,
): Promise<ClickRecorder> {
  const connection = new CdpConnection(await socketTransport(cdp_url));
  const frames = createFrameBook(WORLD);
  const tabs = createTabList();
  const list = createStepList(tabs);
  const ears = createEars(frames, tabs, list);
  const stop = async (why: string | null) => {
    if (!list.end(why)) return;
    await Promise.all(frames.worlds().map(fallSilent));
    connection.close();
  };
  void connection.closed.then(() => stop("the browser was closed, or started again"));
  const hearing = createHearing(
    { root: connection.root, session: (id) => connection.session(id) },
    frames,
    ears,
  );
  try {
    await withDeadline("listening to the browser", START_MS, hearing.start());
  } catch (err) {
    connection.close();
    throw err;
  }
  if (active_target !== null) {
    const { tab, url } = ears.placeOf(active_target);
    list.begin(tab);
    if (/^https?:/.test(url)) list.add(moveTo(url, tab));
  }
  return {
    state: list.state,
    beyond: list.beyond,
    add: (target_id, make) => ears.inTurn(() => list.add(make(ears.placeOf(target_id)))),
    isSecret: async (text) => (await Promise.all(frames.worlds().map(holds(text)))).some(Boolean),
    ready: () =>
      withDeadline("the recorder", READY_MS, hearing.ready()).catch(() => {
        // A page that keeps the recorder waiting must not keep the action.
      }),
    unheard: ears.unheard,
    stop,
  };
}

interface Ears {
  placeOf(frame_id: string): Place;
  heard(session: CdpSession, payload: string, context_id: number): void;
  moved(target_id: string, look: LookAtMoves): void;
  /** A tab is there; whichever step its page was opened by comes before this. */
  opened(info: Protocol.Target.TargetInfo): void;
  closed(target_id: string): void;
  /** One after the other: a frame's place takes longer to find out than the page's. */
  inTurn(work: () => Promise<void> | void): void;
  unheard: ClickRecorder["unheard"];
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : "");

/** Makes steps of what pages and tabs tell. */
function createEars(frames: FrameBook, tabs: TabList, list: StepList): Ears {
  let deaf = 0;
  let turn: Promise<void> = Promise.resolve();
  let waiting = 0;
  const inTurn = (work: () => Promise<void> | void) => {
    if (waiting >= MOST_WAITING) return;
    waiting += 1;
    turn = turn
      .then(work)
      .catch(() => {})
      .finally(() => {
        waiting -= 1;
      });
  };
  const placeOf = (frame_id: string): Place => {
    const root = frames.rootOf(frame_id);
    const url = frames.urlOf(root);
    return { tab: tabs.numberOf(root), url, host: hostOf(frames.urlOf(frame_id)) };
  };
  return {
    placeOf,
    inTurn,
    heard: (session, payload, context_id) => {
      const frame_id = frames.ofContext(session, context_id);
      const heard = payload.length > MAX_HEARD_CHARS ? null : parsed(payload);
      if (frame_id === null || heard === null || !frames.isKnown(frame_id)) return;
      if (heard.kind === "here") frames.forgetPath(frame_id);
      // Its iframe may be gone by the time something happens in it.
      const path = withDeadline("the place of a frame", PATH_MS, frames.pathOf(frame_id));
      path.catch(() => {});
      if (heard.kind === "here" || deaf > 0) return;
      const place = placeOf(frame_id);
      inTurn(async () => list.add(stepOf(heard, { ...place, frame: await path })));
    },
    opened: (info) => {
      tabs.opened(info);
      const tab = tabs.numberOf(info.targetId);
      const by = info.openerId === undefined ? null : tabs.known(frames.rootOf(info.openerId));
      if (by !== null) inTurn(() => list.opened(tab, by));
    },
    closed: (target_id) => {
      const tab = tabs.known(target_id);
      if (tab !== null) inTurn(() => list.closed(tab));
    },
    moved: (target_id, look) => {
      const told = deaf === 0;
      // It takes its turn now: what is done on the new page comes after it.
      const found = look();
      found.catch(() => {});
      inTurn(async () => {
        const urls = await found;
        if (told) for (const url of urls) list.add(moveTo(url, tabs.numberOf(target_id)));
      });
    },
    unheard: async (work) => {
      deaf += 1;
      try {
        return await work();
      } finally {
        // What it did last may still be on its way: what a page answers comes after it.
        await Promise.all(frames.worlds().map(answers));
        deaf -= 1;
      }
    },
  };
}

interface Attachable {
  root: CdpSession;
  session: CdpConnection["session"];
}

interface Hearing {
  /** Resolves when every tab and frame that was there has been listened to. */
  start(): Promise<void>;
  ready(): Promise<void>;
}

/** Listens to every tab and frame, those that are there and those to come. */
function createHearing(
  { root, session: sessionBy }: Attachable,
  frames: FrameBook,
  ears: Ears,
): Hearing {
  const attaching = new Set<Promise<void>>();
  const moves = new Map<string, LookAtMoves>();
  let started = false;
  const attach = async (info: Protocol.Target.TargetInfo, is_new: boolean): Promise<void> => {
    const asked = { targetId: info.targetId, flatten: true };
    const session = sessionBy((await root.send("Target.attachToTarget", asked)).sessionId);
    if (!session) return;
    session.on("Runtime.bindingCalled", ({ name, payload, executionContextId }) => {
      if (name === BINDING) ears.heard(session, payload, executionContextId);
    });
    await frames.follow(session, info);
    if (info.type === "page") {
      const look = createMoves(session, is_new);
      moves.set(info.targetId, look);
      ears.moved(info.targetId, look);
    }
    await listenIn(session);
  };
  root.on("Target.targetCreated", ({ targetInfo }) => {
    const { type } = targetInfo;
    if ((type !== "page" && type !== "iframe") || isBrowserUi(targetInfo)) return;
    if (type === "page") ears.opened(targetInfo);
    // One that is gone again has nothing to tell.
    const one = attach(targetInfo, started)
      .catch(() => {})
      .finally(() => attaching.delete(one));
    attaching.add(one);
  });
  // A page tells of its new document before the browser has written it into the tab's history.
  root.on("Target.targetInfoChanged", ({ targetInfo: { targetId } }) => {
    const look = moves.get(targetId);
    if (look) ears.moved(targetId, look);
  });
  root.on("Target.targetDestroyed", ({ targetId }) => {
    moves.delete(targetId);
    ears.closed(targetId);
  });
  const all = async () => void (await Promise.all(attaching));
  return {
    start: async () => {
      await root.send("Target.setDiscoverTargets", { discover: true });
      started = true;
      await all();
    },
    ready: async () => {
      // The browser tells of the targets that are there before it answers.
      await root.send("Target.getTargets", {}, { timeout_ms: READY_MS });
      await all();
    },
  };
}

/** Puts the listeners into every document of a target, those that are there and those to come. */
async function listenIn(session: CdpSession): Promise<void> {
  session.post("Runtime.enable");
  await session.send("Runtime.addBinding", { name: BINDING, executionContextName: WORLD });
  await session.send("Page.addScriptToEvaluateOnNewDocument", {
    source: ownSource(listen),
    worldName: WORLD,
    runImmediately: true,
  });
}

const answers = ({ session, context_id }: World) =>
  session
    .send("Runtime.evaluate", { expression: "0", contextId: context_id }, { timeout_ms: ANSWER_MS })
    .catch(() => {});

const holds =
  (text: string) =>
  async ({ session, context_id }: World): Promise<boolean> => {
    const expression = `flotillaHolds(${JSON.stringify(text)})`;
    const asked = { expression, contextId: context_id, returnByValue: true };
    try {
      const { result } = await session.send("Runtime.evaluate", asked, { timeout_ms: ANSWER_MS });
      return result.value !== false;
    } catch (err) {
      // A document that is gone holds nothing.
      return err instanceof DeadlineError;
    }
  };

const fallSilent = ({ session, context_id }: World) =>
  session
    .send(
      "Runtime.evaluate",
      { expression: "flotillaStop()", contextId: context_id },
      { timeout_ms: STOP_MS },
    )
    .catch(() => {});

function parsed(payload: string): Heard | null {
  try {
    return Heard.parse(JSON.parse(payload));
  } catch {
    return null;
  }
}
