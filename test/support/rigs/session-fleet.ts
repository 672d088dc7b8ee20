import { afterAll, beforeAll, expect } from "bun:test";
import type { Session } from "#shared/protocol/schema/session.ts";
import { type SiteServer, startServer } from "../servers/site/server.ts";
import { type FleetOptions, startFleet } from "./fleet-process.ts";

/** A hub and a worker as processes of their own, for sessions over HTTP and CDP alone. */
export interface SessionFleet {
  /** Of its hub. */
  readonly url: string;
  /** Where both keep everything, and what names their processes. */
  readonly dir: string;
  open(body?: Record<string, unknown>): Promise<HttpSession>;
  /** Ends both; nothing of theirs may be left. */
  stop(): Promise<void>;
}

export interface HttpSession {
  session_id: string;
  /** `/sessions/<id>` of the hub. */
  url: string;
  /** What CDP clients connect to. */
  cdp_url: string;
  /** One action: status and body. */
  act(action: string, args?: Record<string, unknown>): Promise<Answer>;
  state(): Promise<Session>;
  end(): Promise<void>;
}

interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  body: any;
}

const CALL_MS = 70_000;

export async function startSessionFleet(options: FleetOptions = {}): Promise<SessionFleet> {
  const fleet = await startFleet({
    lanes: 1,
    headless: true,
    ...options,
    env: { SVC_DRAIN_TIMEOUT_S: "1", ...options.env },
  });
  await fleet.lanesWarm();
  const call = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const answer = await fetch(fleet.url + path, {
      method,
      signal: AbortSignal.timeout(CALL_MS),
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? null : JSON.parse(text) };
  };
  return {
    url: fleet.url,
    dir: fleet.dir,
    open: async (body = {}) => {
      const opened = await call("POST", "/sessions", {
        headless: options.headless ?? true,
        ...body,
      });
      expect(opened).toMatchObject({ status: 201 });
      const { session_id } = opened.body as Session;
      const path = `/sessions/${session_id}`;
      return {
        session_id,
        url: fleet.url + path,
        cdp_url: `${fleet.url.replace(/^http/, "ws")}${path}/cdp`,
        act: (action, args = {}) => call("POST", `${path}/${action}`, args),
        state: async () => (await call("GET", `${path}/state`)).body as Session,
        end: async () => {
          await call("DELETE", path);
          await fleet.lanesWarm();
        },
      };
    },
    stop: async () => expect(await fleet.stop()).toEqual([]),
  };
}

/** What the tests of one file share. */
export interface SessionRig {
  /** There from the first test on. */
  readonly fleet: SessionFleet;
  readonly site: SiteServer;
}

const START_MS = 180_000;

/** A fleet and a site for all tests of a file: started before the first of them, ended after the last. */
export function shareSessionFleet(
  pages: (site: SiteServer) => void,
  options?: FleetOptions,
): SessionRig {
  let fleet: SessionFleet | undefined;
  let site: SiteServer | undefined;
  const started = <T>(what: T | undefined): T => {
    if (what === undefined) throw new Error("the fleet is there from the first test on");
    return what;
  };
  beforeAll(async () => {
    site = await startServer("127.0.0.1");
    pages(site);
    fleet = await startSessionFleet(options);
  }, START_MS);
  afterAll(async () => {
    await fleet?.stop();
    await site?.stop();
  }, START_MS);
  return {
    get fleet() {
      return started(fleet);
    },
    get site() {
      return started(site);
    },
  };
}
