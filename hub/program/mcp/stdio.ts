import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CancelledNotificationSchema, isJSONRPCRequest } from "@modelcontextprotocol/sdk/types.js";
import { failureOf, type Http } from "#shared/client/http.ts";
import { callWithin } from "#shared/kit/call-within.ts";
import { systemClock } from "#shared/kit/clock.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Role } from "#shared/protocol/schema/token.ts";
import { ROLES } from "#shared/protocol/token-roles.ts";
import { EXIT } from "../cli/exit.ts";
import { DEFAULT_HUB } from "../cli/flags.ts";
import { createHubClient, tellFailure } from "../cli/hub-client.ts";
import type { Terminal } from "../cli/print.ts";
import { createMcpServer, type Offer } from "./server.ts";
import type { ToolAccess } from "./tool.ts";

/** `flotilla mcp`: the tools over standard input and output, as a client of a hub (rules/mcp#over-standard-input-and-output). */

const ASK_MS = 5_000;
/** How long answers are waited for once the input has ended. */
const ANSWER_MS = 5_000;
/** Longer than any message of a client that is not broken. */
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;

const NEEDED: Record<ToolAccess, Role> = {
  view: "viewer",
  submit: "submitter",
  operate: "operator",
};

/** Everything: what the hub refuses it says itself. */
const UNKNOWN: Offer = { may: () => true, role: "unknown", fleet: true };

/** The role of this client's token; null: whatever needs no administrator. The page of the app asks the same. */
async function askRole({ base_url, socket }: Http, signal: AbortSignal): Promise<Role | null> {
  const limit = { what: "the question for the role", ms: ASK_MS, signal };
  return callWithin(systemClock, limit, async (over) => {
    const response = await fetch(`${base_url}/ui/caller`, { ...socket, signal: over });
    if (!response.ok)
      throw failureOf(response.status, await response.json().catch(() => null), response.headers);
    const { role } = (await response.json()) as { role: Role | null };
    return role;
  });
}

/** What the token of this client opens, as its hub says. */
async function askOffer(http: Http, signal: AbortSignal): Promise<Offer> {
  const call = { timeout_ms: ASK_MS, signal, headers: { accept: "application/json" } };
  const [index, role] = await Promise.all([http.call("GET /", call), askRole(http, signal)]);
  const may = (access: ToolAccess) =>
    role === null || ROLES.indexOf(role) >= ROLES.indexOf(NEEDED[access]);
  return { may, role: role ?? "any", fleet: index.links.jobs !== undefined };
}

/** Which requests of the client have no answer yet. To be called once the transport is connected. */
function countUnanswered(transport: StdioServerTransport): { none(): Promise<void> } {
  const ids = new Set<string | number>();
  const { promise, resolve } = Promise.withResolvers<void>();
  let ending = false;
  const take = transport.onmessage;
  transport.onmessage = (message) => {
    if (isJSONRPCRequest(message)) ids.add(message.id);
    // Nobody answers it any more.
    const cancelled = CancelledNotificationSchema.safeParse(message).data?.params.requestId;
    if (cancelled !== undefined) ids.delete(cancelled);
    take?.(message);
  };
  const send = transport.send.bind(transport);
  transport.send = async (message) => {
    await send(message);
    if ("id" in message && message.id !== undefined && !("method" in message))
      ids.delete(message.id);
    if (ending && ids.size === 0) resolve();
  };
  return {
    none: () => {
      ending = true;
      return ids.size === 0 ? Promise.resolve() : promise;
    },
  };
}

/** Until it is done, the time is over, or the signal. */
async function withinMs(done: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const late = systemClock.sleep(ms, AbortSignal.any([signal, over.signal]));
  await Promise.race([done, late]);
  over.abort();
}

interface StdioDeps {
  /** Where the hub is, and the token for it. */
  settings: EnvSource;
  version: string;
  terminal: Pick<Terminal, "err">;
  /** Ends it. */
  signal: AbortSignal;
}

/** Serves one client until it closes standard input, or the signal. @returns the exit code */
export async function startMcp({
  settings,
  version,
  terminal,
  signal,
}: StdioDeps): Promise<number> {
  const address = settings.SVC_HUB?.trim() || DEFAULT_HUB;
  const http = createHubClient(address, settings.SVC_API_TOKEN?.trim());
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const offer = () =>
    askOffer(http, until).catch((err: Error) => {
      tellFailure(terminal, http.base_url, err);
      return UNKNOWN;
    });
  const mcp = createMcpServer({ http, clock: systemClock, version, offer });
  const transport = new StdioServerTransport(process.stdin, process.stdout, {
    maxBufferSize: MAX_MESSAGE_BYTES,
  });
  const ended = new Promise<number>((resolve) => {
    for (const event of ["end", "close"]) process.stdin.once(event, () => resolve(EXIT.ok));
    signal.addEventListener("abort", () => resolve(EXIT.ok), { once: true });
    // A message without end, or a client that reads no answers.
    void mcp.closed.then(() => resolve(EXIT.failed));
    for (const event of ["error", "close"]) process.stdout.once(event, () => resolve(EXIT.failed));
  });
  mcp.server.onerror = (err) => terminal.err(`flotilla: mcp: ${errorMessage(err)}\n`);
  await mcp.server.connect(transport);
  const unanswered = countUnanswered(transport);
  const code = await ended;
  // Whoever pipes questions into it closes its input before the answers are there.
  if (code === EXIT.ok && !signal.aborted) await withinMs(unanswered.none(), ANSWER_MS, signal);
  over.abort();
  await mcp.close();
  return code;
}
