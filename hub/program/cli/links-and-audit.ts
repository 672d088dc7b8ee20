import type { Http } from "#shared/client/http.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import type { AuditEntry } from "#shared/protocol/schema/audit.ts";
import { LINK_KINDS } from "#shared/protocol/schema/signed-link.ts";
import { moment } from "./client-call.ts";
import { UsageError } from "./exit.ts";
import { asTyped, tell } from "./hub-client.ts";
import { type Terminal, tableFor } from "./print.ts";

export interface SharingDeps {
  client: Http;
  terminal: Terminal;
  env: EnvSource;
}

/** The administrator's password, if it is set here. */
const asAdmin = ({ SVC_ADMIN_PASSWORD }: EnvSource): Record<string, string> => {
  const password = SVC_ADMIN_PASSWORD?.trim();
  return password ? { "x-admin-password": password } : {};
};

/**
 * `flotilla link viewer ID`: a link that opens one thing for a limited time; `flotilla link end-all` ends every link.
 */
export async function runLinkCommand(
  deps: SharingDeps,
  words: string[],
  { mode, expires }: { mode: string | undefined; expires: string | undefined },
  json: boolean,
): Promise<number> {
  const { client, terminal, env } = deps;
  const [kind = "", id, name, ...more] = words;
  if (kind === "end-all" && id === undefined) {
    const ended = client.call("DELETE /links", { headers: asAdmin(env) });
    return tell(terminal, ended, () => "every signed link has ended");
  }
  if (!LINK_KINDS.some((known) => known === kind) || id === undefined || more.length > 0)
    throw new UsageError("link needs viewer ID, cdp ID, asset ID [NAME], or end-all");
  if (name !== undefined && kind !== "asset")
    throw new UsageError(`unexpected word "${name}" after link ${kind}`);
  const asked = {
    kind,
    id,
    mode,
    ...(name !== undefined && { name }),
    ...(expires !== undefined && { expires_in_s: Number(expires) }),
  };
  return tell(terminal, client.call("POST /links", { json: asTyped(asked) }), (made) =>
    json ? JSON.stringify(made, null, 2) : made.url,
  );
}

const callerText = ({ caller: { kind, name, role } }: AuditEntry): string =>
  [name ?? kind, role === null || role === name ? "" : `(${role})`].join(" ").trim();

/** `flotilla audit`: who changed what, newest first. */
export async function runAuditCommand(
  deps: SharingDeps,
  filter: Record<string, string | undefined>,
  json: boolean,
): Promise<number> {
  const { client, terminal, env } = deps;
  const query = asTyped({ ...filter, limit: filter.limit ?? "50" });
  const asked = client.call("GET /audit", { query, headers: asAdmin(env) });
  return tell(terminal, asked, (page) => {
    if (json) return JSON.stringify(page, null, 2);
    const { entries, dropped } = page;
    if (dropped > 0) terminal.err(`flotilla: this hub could not record ${dropped} calls\n`);
    return entries.length === 0 ? "no entries" : auditTable(entries, terminal);
  });
}

const auditTable = (entries: AuditEntry[], terminal: Terminal): string =>
  tableFor(
    terminal,
    [
      { title: "when" },
      { title: "who" },
      { title: "from" },
      { title: "what", shrink: 24 },
      { title: "status", right: true },
      { title: "times", right: true },
      { title: "error", shrink: 16 },
    ],
    entries.map((entry) => [
      moment(entry.at),
      callerText(entry),
      entry.address,
      `${entry.method} ${entry.path}`,
      String(entry.status),
      String(entry.times),
      entry.error ?? "",
    ]),
  );
