import { z } from "@hono/zod-openapi";
import type { NetworkEntry, PastSession, Session } from "#shared/protocol/schema/session.ts";
import { CreateSession, SaveProfile } from "#shared/protocol/schema/session.ts";
import { pageJson, pageText, said } from "./results.ts";
import { CALL_MS, cursor, PIECE, session_id, type Tool, tool } from "./tool.ts";

/** Opening, listing and ending sessions, and what their pages said and requested. */

/** A lane is waited for, then a page; both have the hub's own deadlines. */
const OPEN_MS = 90_000;
const SAVE_MS = 600_000;

const shortSession = (one: Session | PastSession) => {
  const { session_id: id, state, worker_id, job_id, created_at, url, title } = one;
  const more =
    one.state === "active"
      ? { expires_at: one.expires_at, tabs: one.tabs, dialogs: one.dialogs, watchers: one.watchers }
      : { ended_at: one.ended_at, end_reason: one.end_reason };
  return { session_id: id, state, worker_id, job_id, created_at, url, title, ...more };
};

const open = tool({
  name: "session_open",
  title: "Open a browser session",
  about:
    "Opens a real Chromium that stays open for you. Then look at it with session_snapshot and act with session_click, session_fill and the like. use_profile starts it with a stored login. Close it with session_close when you are done.",
  part: "fleet",
  args: CreateSession,
  calls: ["POST /sessions"],
  access: "operate",
  effect: "changes",
  run: async ({ http, signal, given: json }) => {
    const session = await http.call("POST /sessions", { json, timeout_ms: OPEN_MS, signal });
    const { session_id: id, novnc_url, idle_ttl_s } = session;
    const lines = [`session_id: ${id}`, `viewer for people: ${http.base_url}${novnc_url}`];
    if (idle_ttl_s !== null) lines.push(`It ends after ${idle_ttl_s} s without use.`);
    return [
      said(lines.join("\n")),
      ...pageJson({ url: session.url, title: session.title, tabs: session.tabs }),
    ];
  },
});

const list = tool({
  name: "session_list",
  title: "List browser sessions",
  about:
    "Open sessions with where their pages are, who watches and which dialogs wait; with status ended those that are over, newest first.",
  part: "fleet",
  args: z.strictObject({
    status: z.enum(["active", "ended"]).default("active"),
    limit: z.int().min(1).max(200).default(20),
    cursor,
  }),
  calls: ["GET /sessions"],
  access: "view",
  effect: "reads",
  run: async ({ http, signal }, query) => {
    const page = await http.call("GET /sessions", { query, timeout_ms: CALL_MS, signal });
    const { sessions, next_cursor } = page;
    return pageJson({ sessions: sessions.map(shortSession), next_cursor });
  },
});

const close = tool({
  name: "session_close",
  title: "Close a browser session",
  about: "Ends the session and its browser. What was not saved in it is gone.",
  part: "fleet",
  args: z.strictObject({ session_id }),
  calls: ["DELETE /sessions/{sid}"],
  access: "operate",
  effect: "ends",
  run: async ({ http, signal }, { session_id: sid }) => {
    await http.call("DELETE /sessions/{sid}", { params: { sid }, timeout_ms: CALL_MS, signal });
    return [said("closed")];
  },
});

const saveProfile = tool({
  name: "session_save_profile",
  title: "Save the logins of a session as a profile",
  about:
    "Stores cookies and storage of the session's browser under a name, in place of what was stored there: session_open and job_submit take it as use_profile. Restarts the browser of the session.",
  part: "fleet",
  args: SaveProfile.extend({ session_id }),
  calls: ["POST /sessions/{sid}/profile/save"],
  access: "operate",
  effect: "ends",
  run: async ({ http, signal }, { session_id: sid, name }) => {
    const call = { params: { sid }, json: { name }, timeout_ms: SAVE_MS, signal };
    const { size } = await http.call("POST /sessions/{sid}/profile/save", call);
    return [said(`saved as ${name}, ${size} bytes`)];
  },
});

const requestLine = ({ seq, method, status, error, type, size, ms, url }: NetworkEntry): string =>
  [
    seq,
    method,
    status ?? error ?? "pending",
    type,
    size === null ? "" : `${size} B`,
    ms === null ? "" : `${Math.round(ms)} ms`,
    url.slice(0, 500),
  ]
    .filter((part) => part !== "")
    .join(" ");

const network = tool({
  name: "session_network",
  title: "List what a session requested",
  about:
    "Requests of the session's pages with status, type, size and time, oldest first. since reads on from the call before; failed alone shows those that failed.",
  part: "fleet",
  args: z.strictObject({
    session_id,
    since: z.int().min(0).default(0).describe("next of the call before"),
    failed: z
      .boolean()
      .default(false)
      .describe("Only failed ones, and those with status 400 or more"),
    limit: z.int().min(1).max(500).default(100).describe("The newest so many"),
  }),
  calls: ["GET /sessions/{sid}/network"],
  access: "view",
  effect: "reads",
  run: async ({ http, signal }, { session_id: sid, since, failed, limit }) => {
    const call = { params: { sid }, query: { since }, timeout_ms: CALL_MS, signal };
    const { entries, next, dropped } = await http.call("GET /sessions/{sid}/network", call);
    const wanted = entries.filter(
      ({ status, error }) => !failed || error !== null || (status ?? 0) >= 400,
    );
    const shown = wanted.slice(-limit);
    const left_out = wanted.length - shown.length;
    return [
      said(
        `${shown.length} requests${left_out > 0 ? `, ${left_out} older ones left out` : ""}${dropped > 0 ? `, ${dropped} no longer kept` : ""}; next: ${next}`,
      ),
      ...pageText(shown.map(requestLine).join("\n"), { offset: 0, max_chars: 60_000 }, null),
    ];
  },
});

const consoleOf = tool({
  name: "session_console",
  title: "Read the console of a session",
  about:
    "What pages wrote to their console, and errors that they did not catch, oldest first. after_ms reads on from the call before.",
  part: "fleet",
  args: z.strictObject({
    session_id,
    after_ms: z.int().min(-1).default(-1).describe("after_ms of the call before"),
    errors: z.boolean().default(false).describe("Only errors and warnings"),
    ...PIECE,
  }),
  calls: ["GET /sessions/{sid}/recording/events"],
  access: "view",
  effect: "reads",
  run: async ({ http, signal }, { session_id: sid, after_ms, errors, ...piece }) => {
    const call = { params: { sid }, query: { after_ms }, timeout_ms: CALL_MS, signal };
    const { items, more } = await http.call("GET /sessions/{sid}/recording/events", call);
    const lines = items.flatMap((event) => {
      if (event.type === "error") return [`${event.at_ms} error ${event.text} ${event.url ?? ""}`];
      if (event.type !== "console") return [];
      if (errors && !/error|warn|assert/i.test(event.level)) return [];
      return [`${event.at_ms} ${event.level} ${event.text}`];
    });
    const last = items.at(-1)?.at_ms ?? after_ms;
    return [
      said(`${lines.length} lines; ${more ? "there is more: " : ""}after_ms: ${last}`),
      ...pageText(lines.join("\n"), piece),
    ];
  },
});

export const SESSION_TOOLS: readonly Tool[] = [open, list, close, saveProfile, network, consoleOf];
