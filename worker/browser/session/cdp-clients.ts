import type { Clock } from "#shared/kit/clock.ts";
import type { CdpConnection, CdpSession } from "../cdp/connection.ts";
import { createHeldTargets } from "./held-targets.ts";

/** What a client attached to, as the browser reported it. */
interface ClientTarget {
  session_id: string;
  target_id: string;
  type: string;
  /** The client's session it was attached through; null at the browser itself. */
  parent: string | null;
  /**
   * `held`: it does not run yet, and this client expects to release it itself. `releasing`: its command is on its way to
   * the browser. `released`: the browser has answered it.
   */
  state: "free" | "held" | "releasing" | "released";
}

/** `filter` of Target.setAutoAttach: the first entry that fits decides. */
export type TargetFilter = readonly { type?: string; exclude?: boolean }[];

/** One program at `WS /sessions/{sid}/cdp`, as far as it affects others. */
export interface CdpClient {
  attached(target: ClientTarget): void;
  detached(session_id: string): void;
  /** `session_id` null: the connection's own target. */
  pageEnabled(session_id: string | null, enabled: boolean): void;
  /** Target.setAutoAttach; `waits` false when it does not hold what it attaches to. */
  autoAttach(session_id: string | null, waits: boolean, filter: TargetFilter | null): void;
  /** It releases the target that this session is attached to. @returns null when it does not hold that target. */
  release(session_id: string): {
    /** What to wait for before the target continues; null for nothing. */
    wait: Promise<void> | null;
  } | null;
  /** The browser has answered the release, and with it read every command that this client sent before. */
  releaseAnswered(session_id: string): void;
  /** It requests a tab of its own. */
  opensTab(): void;
  leave(): void;
}

/**
 * The CDP clients at one session's browser. A dialog belongs to a client that has enabled `Page` on its target, and a
 * new target runs once everybody who holds it has released it: Chromium itself would let it run after the first
 * release. The session's own release is the last one (for service workers see `lets`), because what goes through its
 * pipe overtakes a client's socket: sent beside the client's, it let 3 of 150 popups begin before the browser had read
 * the client's `Fetch.enable`.
 */
export interface CdpClients {
  /** `own_target`: the target of a connection to one page; null at the browser. `by`: who it is, for people. */
  join(own_target: string | null, by?: string): CdpClient;
  /** Whether a client answers the dialogs of this page. */
  steers(target_id: string): boolean;
  /** Called whenever `steers` may have changed. */
  onChange(listener: () => void): void;
  /** The session itself holds and releases targets through this connection: those it releases wait for the clients. */
  follow(connection: CdpConnection): void;
}

const DEFAULT_FILTER: TargetFilter = [
  { type: "browser", exclude: true },
  { type: "tab", exclude: true },
  {},
];

interface Client {
  own_target: string | null;
  targets: Map<string, ClientTarget>;
  pages: Set<string>;
  holds: Map<string, TargetFilter>;
}

/** Key of the connection's own target. */
const OWN = "";

const takes = (filter: TargetFilter, type: string): boolean => {
  const first = filter.find((entry) => entry.type === undefined || entry.type === type);
  return first !== undefined && first.exclude !== true;
};

const targetOf = (client: Client, session_id: string): string | null =>
  session_id === OWN ? client.own_target : (client.targets.get(session_id)?.target_id ?? null);

/** A target that should be released. */
interface HeldTarget {
  target_id: string;
  type: string;
  /** The target it was attached below; null at the browser itself. */
  parent_target_id: string | null;
}

/** Whether this client will be attached to the target and hold it. */
function covers(client: Client, { type, parent_target_id }: HeldTarget): boolean {
  for (const [session_id, filter] of client.holds)
    if (targetOf(client, session_id) === parent_target_id)
      return takes(filter, type) || (type === "page" && takes(filter, "tab"));
  return false;
}

/** How the client stands to the target in each of its sessions; empty when it is not attached to it. */
const statesOf = (client: Client, target_id: string) =>
  [...client.targets.values()].filter((t) => t.target_id === target_id).map(({ state }) => state);

/** Whether the client still wants the target to wait for it. */
function holds(client: Client, target_id: string): boolean {
  const states = statesOf(client, target_id);
  return states.includes("held") && !states.some((s) => s === "releasing" || s === "released");
}

/** Whether the client is done with the target, so that it may run without it. */
function lets(client: Client, target: HeldTarget, unclaimed: boolean): boolean {
  const states = statesOf(client, target.target_id);
  if (states.length === 0) return unclaimed || !covers(client, target);
  // Chromium waits for everybody who holds a service worker, and answers nobody before: nothing is overtaken.
  if (target.type === "service_worker") return !holds(client, target.target_id);
  return states.includes("released") || states.every((state) => state === "free");
}

export function createCdpClients(clock: Clock): CdpClients {
  const clients = new Set<Client>();
  /** Targets that the session itself has released, or would have. */
  const released = new Set<string>();
  const listeners = new Set<() => void>();
  const held = createHeldTargets(clock);
  const changed = () => {
    for (const listener of listeners) listener();
  };
  /** The session's own connection; without one, only the clients hold targets. */
  let own: CdpConnection | null = null;

  const ownLets = ({ target_id, type }: ClientTarget): boolean =>
    own === null || own.root.is_closed || type === "tab" || released.has(target_id);
  const othersLet = (target_id: string, but: Client): boolean =>
    [...clients].every((client) => client === but || !holds(client, target_id));

  return {
    join: (own_target) => {
      const client: Client = {
        own_target,
        targets: new Map(),
        pages: new Set(),
        holds: new Map(),
      };
      clients.add(client);
      return connect(client, {
        wake: held.wake,
        changed,
        untilOthersLet: (target) =>
          held.until(
            (unclaimed) => othersLet(target.target_id, client) && (unclaimed || ownLets(target)),
          ),
        opensTab: () => own?.asked_tabs.expect(),
        leave: () => void clients.delete(client),
      });
    },
    steers: (target_id) =>
      [...clients].some((client) =>
        [...client.pages].some((session_id) => targetOf(client, session_id) === target_id),
      ),
    onChange: (listener) => void listeners.add(listener),
    follow: (connection) => {
      own = connection;
      connection.beforeRelease = releaseOwn;
    },
  };

  function releaseOwn({ target, parent, closed }: CdpSession): Promise<void> | null {
    if (target === null) return null;
    const { targetId: target_id, type } = target;
    released.add(target_id);
    void closed.then(() => released.delete(target_id));
    held.wake();
    if (clients.size === 0) return null;
    const waiting = { target_id, type, parent_target_id: parent?.target?.targetId ?? null };
    return held.until((unclaimed) =>
      [...clients].every((client) => lets(client, waiting, unclaimed)),
    );
  }
}

/** What a client changes beyond its own state. */
interface Others {
  /** A target may be free to run now. */
  wake(): void;
  /** Another may answer the dialogs of a page now. */
  changed(): void;
  /** What to wait for after this client has released the target; null for nothing. */
  untilOthersLet(target: ClientTarget): Promise<void> | null;
  opensTab(): void;
  leave(): void;
}

function connect(client: Client, { wake, changed, ...others }: Others): CdpClient {
  const drop = (session_id: string) => {
    client.targets.delete(session_id);
    client.pages.delete(session_id);
    client.holds.delete(session_id);
    // What was attached through it is detached with it, and no event reports that.
    for (const [id, { parent }] of client.targets) if (parent === session_id) drop(id);
  };
  return {
    attached: (target) => {
      client.targets.set(target.session_id, target);
      wake();
    },
    detached: (session_id) => {
      drop(session_id);
      wake();
      changed();
    },
    pageEnabled: (session_id, enabled) => {
      if (enabled) client.pages.add(session_id ?? OWN);
      else client.pages.delete(session_id ?? OWN);
      changed();
    },
    autoAttach: (session_id, waits, filter) => {
      if (waits) client.holds.set(session_id ?? OWN, filter ?? DEFAULT_FILTER);
      else client.holds.delete(session_id ?? OWN);
      wake();
    },
    release: (session_id) => {
      const target = client.targets.get(session_id);
      if (target?.state !== "held") return null;
      target.state = "releasing";
      wake();
      return { wait: others.untilOthersLet(target) };
    },
    releaseAnswered: (session_id) => {
      const target = client.targets.get(session_id);
      if (target?.state !== "releasing") return;
      target.state = "released";
      wake();
    },
    opensTab: others.opensTab,
    leave: () => {
      others.leave();
      wake();
      changed();
    },
  };
}
