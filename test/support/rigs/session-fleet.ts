import { afterAll, beforeAll, expect } from "bun:test";
import type { Session } from "#shared/protocol/schema/session.ts";
import type { Role } from "#shared/protocol/schema/token.ts";
import { type SiteServer, startServer } from "../servers/site/server.ts";
import { type FleetOptions, startFleet } from "./fleet-process.ts";

/** A hub and a worker as processes of their own, for sessions over HTTP and CDP alone. */
export interface SessionFleet {
  /** Of its hub. */
  readonly url: string;
  /** Where both keep everything, and what names their processes. */
  readonly dir: string;
  open(body?: Record<string, unknown>): Promise<HttpSession>;
  /** Makes a token of this role for `use`. Meanwhile the hub asks everybody for one, and calls from here show another. */
  withToken(role: Role, use: (token: string) => Promise<void>): Promise<void>;
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

interface MadeToken {
  token: string;
  token_id: string;
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
  let admin: MadeToken | null = null;
  const call = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const answer = await fetch(fleet.url + path, {
      method,
      signal: AbortSignal.timeout(CALL_MS),
      headers: {
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(admin && { authorization: `Bearer ${admin.token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? null : JSON.parse(text) };
  };
  const makeToken = async (role: Role): Promise<MadeToken> => {
    const made = await call("POST", "/tokens", { name: `a test's ${role}`, role });
    expect(made).toMatchObject({ status: 201 });
    return made.body;
  };
  const revoke = async ({ token_id }: MadeToken) =>
    expect(await call("DELETE", `/tokens/${token_id}`)).toMatchObject({ status: 204 });
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
    withToken: async (role, use) => {
      // The first token is an administrator's, and is revoked last.
      admin = await makeToken("admin");
      const made = await makeToken(role);
      try {
        await use(made.token);
      } finally {
        await revoke(made);
        await revoke(admin);
        admin = null;
      }
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
