import type { PastSession, Session } from "#shared/client/client-types.ts";
import { FlotillaError } from "#shared/client/errors.ts";
import { everyItem } from "#shared/client/http.ts";
import { sessionCalls } from "#shared/client/sessions.ts";
import {
  actionOf,
  type ClientCall,
  jsonText,
  lastOf,
  moment,
  needed,
  refuseFlags,
} from "./client-call.ts";
import { UsageError } from "./exit.ts";
import { type Fields, fieldLines } from "./fields.ts";
import { asTyped, eachById, tell } from "./hub-client.ts";
import { type Column, type Terminal, tableFor } from "./print.ts";
import { sessionOptions } from "./session-options.ts";

/** `flotilla sessions` (rules/clients#sessions-by-command). */

type AnySession = Session | PastSession;

const ACTIVE: readonly Column[] = [
  { title: "session" },
  { title: "worker" },
  { title: "lane", right: true },
  { title: "opened" },
  { title: "last active" },
  { title: "watched", right: true },
  { title: "url", shrink: 16 },
];
const ENDED: readonly Column[] = [
  { title: "session" },
  { title: "worker" },
  { title: "opened by" },
  { title: "opened" },
  { title: "took", right: true },
  { title: "ended because", shrink: 12 },
  { title: "url", shrink: 16 },
];

const activeCells = (one: Session): string[] => [
  one.session_id,
  one.worker_id,
  String(one.lane_idx),
  moment(one.created_at),
  moment(one.last_active_at),
  String(one.watchers?.length ?? 0),
  one.url,
];
const endedCells = (one: PastSession): string[] => [
  one.session_id,
  one.worker_id,
  one.opened_by ?? "",
  moment(one.created_at),
  `${Math.round(one.duration_ms / 1_000)} s`,
  one.end_reason,
  one.url,
];

function listText(sessions: readonly AnySession[], ended: boolean, terminal: Terminal): string {
  if (sessions.length === 0) return ended ? "no session has ended" : "no sessions are open";
  return tableFor(
    terminal,
    ended ? ENDED : ACTIVE,
    sessions.map((one) => (one.state === "ended" ? endedCells(one) : activeCells(one))),
  );
}

/** All that are open; of those that have ended, the newest. */
async function list({ client, terminal, flags, json }: ClientCall): Promise<number> {
  const ended = flags.ended !== undefined;
  if (!ended) refuseFlags(flags, ["limit"], "open sessions: add --ended");
  const asked = ended
    ? client.call("GET /sessions", {
        query: asTyped({ status: "ended", limit: lastOf(flags, "limit") }),
      })
    : everyItem(client, "GET /sessions", "sessions").then((sessions) => ({
        sessions,
        next_cursor: null,
      }));
  return tell(terminal, asked, (answer) =>
    json ? jsonText(answer) : listText(answer.sessions, ended, terminal),
  );
}

/** Sessions that have ended are looked for in the newest of them. */
const PAST = 200;

/** One that is open, or has ended. @throws FlotillaError 404 where there is neither */
export async function findSession(
  { client }: Pick<ClientCall, "client">,
  sid: string,
): Promise<AnySession> {
  try {
    return await client.call("GET /sessions/{sid}", { params: { sid } });
  } catch (err) {
    if (!(err instanceof FlotillaError) || err.status !== 404) throw err;
    const { sessions } = await client.call("GET /sessions", {
      query: { status: "ended", limit: PAST },
    });
    const found = sessions.find(({ session_id }) => session_id === sid);
    if (!found) throw err;
    return found;
  }
}

const fieldsOf = (one: AnySession, base_url: string): Fields =>
  one.state === "ended"
    ? [
        ["session", one.session_id],
        ["state", "ended"],
        ["ended because", one.end_reason],
        ["page", `${one.title} ${one.url}`.trim()],
        ["where", `${one.worker_id}, lane ${one.lane_idx}`],
        ["opened", `${moment(one.created_at)}${one.opened_by ? ` by ${one.opened_by}` : ""}`],
        ["ended", moment(one.ended_at)],
        ["actions", String(one.actions)],
        ["job", one.job_id],
      ]
    : [
        ["session", one.session_id],
        ["state", one.state],
        ["page", `${one.title} ${one.url}`.trim()],
        ["where", `${one.worker_id}, lane ${one.lane_idx}${one.headless ? ", headless" : ""}`],
        ["opened", moment(one.created_at)],
        ["last active", moment(one.last_active_at)],
        ["expires", moment(one.expires_at)],
        ["tabs", String(one.tabs)],
        ["dialogs", one.dialogs.map(({ message }) => message).join("; ") || null],
        [
          "watched by",
          one.watchers?.map((who) => `${who.name ?? who.kind} (${who.mode})`).join(", ") || null,
        ],
        ["job", one.job_id],
        ["viewer", base_url + one.novnc_url],
        ["CDP", `${base_url}/sessions/${one.session_id}/cdp`],
      ];

async function show(call: ClientCall, sid: string): Promise<number> {
  return tell(call.terminal, findSession(call, sid), (one) =>
    call.json ? jsonText(one) : fieldLines(fieldsOf(one, call.client.base_url)),
  );
}

/** A fleet without a free lane is waited for (rules/clients#waiting-out-capacity). */
async function open(call: ClientCall, url: string | undefined): Promise<number> {
  const { client, terminal, flags, json, signal } = call;
  const body = { ...sessionOptions(flags), ...(url === undefined ? {} : { url }) };
  const asked = sessionCalls(client).open(body as never, { signal });
  return tell(terminal, asked, ({ record }) =>
    json ? jsonText(record) : fieldLines(fieldsOf(record, client.base_url)),
  );
}

async function close(call: ClientCall, ids: readonly string[]): Promise<number> {
  const { done, code } = await eachById(
    call,
    ids,
    (sid) => call.client.call("DELETE /sessions/{sid}", { params: { sid } }),
    (sid) => `session ${sid} closed`,
  );
  if (call.json) call.terminal.out(`${jsonText({ closed: done })}\n`);
  return code;
}

const OPEN_FLAGS = ["option", "profile", "headless", "worker", "viewport"];

/** @throws UsageError for words and flags that do not go together */
export async function runSessionsCommand(call: ClientCall): Promise<number> {
  const [word, ...rest] = call.words;
  const action = actionOf("sessions", word, ["list", "show", "open", "close"]);
  if (action !== "open") refuseFlags(call.flags, OPEN_FLAGS, `sessions ${action}`);
  if (action !== "list") refuseFlags(call.flags, ["ended", "limit"], `sessions ${action}`);
  const [id] = rest;
  if (action === "close")
    return close(call, rest.length > 0 ? rest : [needed(id, "ID…", "sessions close")]);
  if (rest.length > (action === "list" ? 0 : 1))
    throw new UsageError(`unexpected word "${rest.at(-1)}" after sessions ${action}`);
  if (action === "list") return list(call);
  if (action === "open") return open(call, id);
  return show(call, needed(id, "ID", "sessions show"));
}
