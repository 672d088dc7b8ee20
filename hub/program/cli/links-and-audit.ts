import type { EnvSource } from "#shared/kit/env.ts";
import type { AuditEntry, AuditPage } from "#shared/protocol/schema/audit.ts";
import { LINK_KINDS, type SignedLink } from "#shared/protocol/schema/signed-link.ts";
import { EXIT, UsageError } from "./exit.ts";
import { describeError, type HubAnswer, type HubClient } from "./hub-client.ts";
import { formatTable, printable, type Terminal } from "./print.ts";

export interface SharingDeps {
  client: HubClient;
  terminal: Terminal;
  env: EnvSource;
}

/** The administrator's password, where there is one here. */
const asAdmin = ({ SVC_ADMIN_PASSWORD }: EnvSource): Record<string, string> => {
  const password = SVC_ADMIN_PASSWORD?.trim();
  return password ? { "x-admin-password": password } : {};
};

function refused({ terminal }: SharingDeps, answer: HubAnswer): number {
  terminal.err(`flotilla: ${printable(describeError(answer))}\n`);
  return answer.status === 400 || answer.status === 422 ? EXIT.usage : EXIT.failed;
}

/** `flotilla link viewer ID`: a link that opens one thing for a time; `flotilla link end-all` ends every link. */
export async function runLinkCommand(
  deps: SharingDeps,
  words: string[],
  { mode, expires }: { mode: string | undefined; expires: string | undefined },
  json: boolean,
): Promise<number> {
  const { client, terminal, env } = deps;
  const [kind = "", id, name, ...more] = words;
  if (kind === "end-all" && id === undefined) {
    const ended = await client.call("DELETE", "/links", undefined, undefined, asAdmin(env));
    if (ended.status !== 204) return refused(deps, ended);
    terminal.out("every signed link has ended\n");
    return EXIT.ok;
  }
  if (!LINK_KINDS.some((known) => known === kind) || id === undefined || more.length > 0)
    throw new UsageError("link needs viewer ID, cdp ID, asset ID [NAME], or end-all");
  if (name !== undefined && kind !== "asset")
    throw new UsageError(`unexpected word "${name}" after link ${kind}`);
  const answer = await client.call("POST", "/links", {
    ...{ kind, id, mode },
    ...(name !== undefined && { name }),
    ...(expires !== undefined && { expires_in_s: Number(expires) }),
  });
  if (answer.status !== 201) return refused(deps, answer);
  const made = answer.body as SignedLink;
  terminal.out(`${json ? JSON.stringify(made, null, 2) : made.url}\n`);
  return EXIT.ok;
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
  const query = new URLSearchParams({ limit: "50" });
  for (const [key, value] of Object.entries(filter)) if (value !== undefined) query.set(key, value);
  const answer = await client.call("GET", `/audit?${query}`, undefined, undefined, asAdmin(env));
  if (answer.status !== 200) return refused(deps, answer);
  const { entries, dropped } = answer.body as AuditPage;
  if (json) {
    terminal.out(`${JSON.stringify(answer.body, null, 2)}\n`);
    return EXIT.ok;
  }
  const table = formatTable(
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
      entry.at.replace("T", " ").slice(0, 19),
      callerText(entry),
      entry.address,
      `${entry.method} ${entry.path}`,
      String(entry.status),
      String(entry.times),
      entry.error ?? "",
    ]),
    terminal.width,
  );
  terminal.out(`${entries.length === 0 ? "no entries" : table}\n`);
  if (dropped > 0) terminal.err(`flotilla: this hub could not record ${dropped} calls\n`);
  return EXIT.ok;
}
