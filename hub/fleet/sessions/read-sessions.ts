import { z } from "zod";
import { endsWithin, isoTime } from "#shared/kit/clock.ts";
import { AppError, notFound } from "#shared/kit/errors.ts";
import {
  CookieList,
  NetworkLog,
  type Session,
  SessionFile,
  type SessionFileList,
  type SessionListQuery,
} from "#shared/protocol/schema/session.ts";
import type { FleetContext } from "../context.ts";
import { callSession, resultOf, type SessionCall } from "./calls.ts";
import type { HubSession } from "./hub-session.ts";
import { requireSession, sessionRecord } from "./registry.ts";
import type { SessionCallContext } from "./session-contexts.ts";

/** How long GET /sessions/{sid}/state waits for fresh values; after that it shows the last known ones. */
const STATE_MS = 1_000;
/** For cookies, the network log and the list of files, which involve no page. */
const READ_MS = 10_000;

/** GET /sessions, oldest first. What a one-shot call holds is over before anybody could look at it. */
export const listSessions = (ctx: Pick<FleetContext, "sessions" | "wall_jumps">): Session[] =>
  [...ctx.sessions.values()]
    .filter(({ kind }) => kind !== "call")
    .sort((a, b) => a.created_at - b.created_at)
    .map((session) => sessionRecord(ctx, session));

/** Those that a query of GET /sessions asks for, as past ones are looked for in the database. */
export function sessionsWith(
  sessions: readonly Session[],
  { q = "", worker_id = "" }: Pick<SessionListQuery, "q" | "worker_id">,
): Session[] {
  const part = q.toLowerCase();
  return sessions.filter(
    (one) =>
      (worker_id === "" || one.worker_id === worker_id) &&
      [one.url, one.title].some((text) => text.toLowerCase().includes(part)),
  );
}

/** GET /sessions/{sid}/state, with the active tab's current URL if the worker reports it in time. */
export async function readState(
  ctx: SessionCallContext & Pick<FleetContext, "awaited" | "sessions" | "wall_jumps">,
  session_id: string,
): Promise<Session> {
  const session = requireSession(ctx, session_id);
  const call = { action: "state", timeout_ms: STATE_MS, counts_as_activity: false };
  const told = callSession(ctx, session, call).catch(() => {});
  await endsWithin(ctx.clock, STATE_MS, told);
  return sessionRecord(ctx, requireSession(ctx, session_id));
}

async function read<T extends z.ZodType>(
  ctx: Pick<FleetContext, "session_calls" | "clock" | "stopping" | "meters">,
  session: HubSession,
  schema: T,
  call: SessionCall,
): Promise<z.infer<T>> {
  const reply = await callSession(ctx, session, call);
  const parsed = schema.safeParse(await resultOf(ctx, session, reply));
  if (parsed.success) return parsed.data;
  throw new AppError("relay_failed", `the worker's answer to ${call.action} makes no sense`);
}

export const readCookies = (
  ctx: Pick<FleetContext, "session_calls" | "clock" | "stopping" | "meters">,
  session: HubSession,
): Promise<CookieList> =>
  read(ctx, session, CookieList, { action: "cookies_get", timeout_ms: READ_MS });

/** Adds or replaces these cookies and keeps the others. @returns every cookie of the session afterwards */
export async function putCookies(
  ctx: Pick<FleetContext, "session_calls" | "clock" | "stopping" | "meters">,
  session: HubSession,
  { cookies }: CookieList,
): Promise<CookieList> {
  await callSession(ctx, session, {
    action: "cookies_put",
    args: { cookies },
    timeout_ms: READ_MS,
  });
  return readCookies(ctx, session);
}

export async function clearCookies(
  ctx: Pick<FleetContext, "session_calls" | "clock" | "stopping" | "meters">,
  session: HubSession,
): Promise<void> {
  await callSession(ctx, session, { action: "cookies_clear", timeout_ms: READ_MS });
}

/** Requests with `seq` above `since`. */
export const readNetwork = (
  ctx: Pick<FleetContext, "session_calls" | "clock" | "stopping" | "meters">,
  session: HubSession,
  since: number,
): Promise<NetworkLog> =>
  read(ctx, session, NetworkLog, { action: "network", args: { since }, timeout_ms: READ_MS });

/** As the worker reports them: times are epoch ms. */
const WorkerFiles = z.object({
  files: z.array(SessionFile.omit({ href: true }).extend({ created_at: z.number() })),
});

/** What the session's browser has downloaded, or is still downloading. Reading it is not activity. */
export async function listFiles(
  ctx: Pick<FleetContext, "session_calls" | "clock" | "stopping" | "meters">,
  session: HubSession,
): Promise<SessionFileList> {
  const call = { action: "files", timeout_ms: READ_MS, counts_as_activity: false };
  const { files } = await read(ctx, session, WorkerFiles, call);
  return {
    files: files.map((file) => ({
      ...file,
      href: fileHref(session.session_id, file.name),
      created_at: isoTime(file.created_at),
    })),
  };
}

const fileHref = (session_id: string, name: string): string =>
  `/sessions/${session_id}/files/${encodeURIComponent(name)}`;

/** A name that can stand as one segment of a path. @throws AppError not_found */
export function filePath(name: string): string {
  const segment = encodeURIComponent(name.toWellFormed());
  if (name === "" || name === "." || name === "..") throw notFound("file");
  return `files/${segment}`;
}
