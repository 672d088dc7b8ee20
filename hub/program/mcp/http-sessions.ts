import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import type { Http } from "#shared/client/http.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { AppError } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { createMcpServer, type McpServer, type Offer } from "./server.ts";

/** Clients of the route /mcp, each with what it has begun (rules/mcp#sessions-over-http). */

/** At a time in one hub. */
export const MOST_CLIENTS = 100;
/** A client that makes no call for so long is forgotten. */
export const IDLE_MS = 30 * 60_000;
/** Where there is no room, whoever was silent for so long makes it. */
const QUIET_MS = 60_000;
const LOOK_MS = 30_000;

interface Client {
  readonly id: string;
  readonly mcp: McpServer;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** Whose it is: nobody else may use it. */
  readonly whose: string;
  used_at: number;
}

interface SessionsDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  /** Ids begin with it: other hubs pass calls on by it. */
  readonly hub_id: string;
}

export interface McpSessions {
  /** @throws AppError unavailable when all places are taken */
  open(whose: string, http: Http, offer: Offer): Promise<Client>;
  /** @throws AppError not_found when there is none, or it is another caller's */
  of(id: string, whose: string): Client;
  count(): number;
  /** Ends all. */
  close(): Promise<void>;
}

const silentSince = ({ used_at, mcp }: Client): number => Math.max(used_at, mcp.ended_at());

/** The first candidate of the caller with the most: one that opens many must not end those of others. */
function leastMissed(all: readonly Client[], candidates: readonly Client[]): Client | undefined {
  const counts = new Map<string, number>();
  for (const { whose } of all) counts.set(whose, (counts.get(whose) ?? 0) + 1);
  const most = Math.max(...candidates.map(({ whose }) => counts.get(whose) ?? 0));
  return candidates.find(({ whose }) => counts.get(whose) === most);
}

export function createMcpSessions({ clock, log, version, hub_id }: SessionsDeps): McpSessions {
  const clients = new Map<string, Client>();
  const over = new AbortController();
  const end = async (client: Client, why: string) => {
    if (!clients.delete(client.id)) return;
    log.debug({ client: client.id.slice(0, 20), why }, "client of /mcp forgotten");
    await client.mcp
      .close()
      .catch((err: unknown) => log.warn({ err }, "a client of /mcp did not close"));
  };
  /** Whoever was silent for longest first. */
  const quiet = (ms: number) =>
    [...clients.values()]
      .filter((one) => one.mcp.running() === 0 && clock.monotonic() - silentSince(one) > ms)
      .sort((a, b) => silentSince(a) - silentSince(b));
  let looking = false;
  /** Runs only while there are clients. */
  const look = async () => {
    if (looking) return;
    looking = true;
    while (clients.size > 0 && !over.signal.aborted) {
      await clock.sleep(LOOK_MS, over.signal);
      for (const client of quiet(IDLE_MS)) await end(client, "idle");
    }
    looking = false;
  };
  /** Without a pause, so that nobody else takes the place. */
  const makeRoom = () => {
    if (clients.size < MOST_CLIENTS) return;
    const leaves = leastMissed([...clients.values()], quiet(QUIET_MS));
    if (!leaves)
      throw new AppError("unavailable", `${MOST_CLIENTS} agents are connected already`, {
        headers: { "Retry-After": "60" },
      });
    void end(leaves, "room for another");
  };
  return {
    open: async (whose, http, offer) => {
      if (over.signal.aborted) throw new AppError("unavailable", "the hub is stopping");
      makeRoom();
      const id = `${hub_id}.${newToken()}`;
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: () => id,
        onsessionclosed: () => void clients.delete(id),
      });
      const mcp = createMcpServer({ http, clock, version, offer: async () => offer });
      // What it tells is the client's: it has gone, or does not keep to the protocol.
      mcp.server.onerror = (err) => log.debug({ err }, "a client of /mcp");
      const client = { id, mcp, transport, whose, used_at: clock.monotonic() };
      clients.set(id, client);
      await mcp.server.connect(transport);
      void mcp.closed.then(() => clients.delete(id));
      void look();
      return client;
    },
    of: (id, whose) => {
      const client = clients.get(id);
      // Whether there is one is nobody else's business.
      if (client === undefined || client.whose !== whose)
        throw new AppError("not_found", "there is no such session of /mcp: initialize again");
      client.used_at = clock.monotonic();
      return client;
    },
    count: () => clients.size,
    close: async () => {
      over.abort();
      await Promise.all([...clients.values()].map((client) => end(client, "the hub stops")));
    },
  };
}
