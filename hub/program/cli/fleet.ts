import type { Http } from "#shared/client/http.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import type { FleetUpdates } from "#shared/protocol/schema/updates.ts";
import { moment } from "./client-call.ts";
import { UsageError } from "./exit.ts";
import { tell } from "./hub-client.ts";
import { printable, type Terminal, tableFor } from "./print.ts";

export interface FleetDeps {
  client: Http;
  terminal: Terminal;
  env: EnvSource;
}

const FORMS =
  "fleet needs status, pause-updates, resume-updates, approve [VERSION], pin VERSION|WORKER=VERSION|off, drain [WORKER…], or activate [WORKER…]";

type Change = (client: Http, headers: Record<string, string>) => Promise<FleetUpdates>;

/** What to send; null reads. @throws UsageError for words that mean nothing */
function readWords([what, word, ...more]: string[]): Change | null {
  const pinned = what === "pin" && word !== undefined;
  const takes_word = what === "approve" || what === "pin";
  if (more.length > 0 || (word !== undefined && !takes_word))
    throw new UsageError(`unexpected word "${more[0] ?? word}" after fleet ${what}`);
  if (what === "status") return null;
  if (what === "pause-updates")
    return (client, headers) => client.call("POST /api/v1/updates/pause", { headers });
  if (what === "resume-updates")
    return (client, headers) => client.call("POST /api/v1/updates/resume", { headers });
  if (what === "approve")
    return (client, headers) => {
      const json = word === undefined ? {} : { version: word };
      return client.call("POST /api/v1/updates/approve", { headers, json });
    };
  if (!pinned) throw new UsageError(FORMS);
  const [left = "", right] = word.split("=", 2);
  const version = right ?? left;
  if (version === "" || left === "") throw new UsageError(FORMS);
  return (client, headers) =>
    client.call("POST /api/v1/updates/pin", {
      headers,
      json: {
        version: version === "off" ? null : version,
        ...(right !== undefined && { worker_id: left }),
      },
    });
}

/** What an operator can do now. */
const NEXT: Partial<Record<FleetUpdates["state"], string>> = {
  stopped: "run flotilla fleet approve to update the others nevertheless",
  waiting_for_approval: "run flotilla fleet approve to start the update",
  paused: "run flotilla fleet resume-updates to continue",
};

function statusText(found: FleetUpdates, terminal: Terminal): string {
  const pins = Object.entries(found.worker_pins).map(([id, version]) => `${id} at ${version}`);
  const next = NEXT[found.state];
  const lines = [
    `${found.state.replaceAll("_", " ")}: ${found.detail}`,
    `wanted version ${found.target ?? "unknown"}${found.pin === null ? "" : " (pinned)"}; hubs have ${[...new Set(found.hub_versions)].join(", ") || "none"}`,
    ...(next === undefined ? [] : [next]),
    ...(pins.length > 0 ? [`pinned workers: ${pins.join(", ")}`] : []),
  ];
  if (found.workers.length > 0)
    lines.push(
      tableFor(
        terminal,
        [
          { title: "worker" },
          { title: "kind" },
          { title: "version" },
          { title: "update" },
          { title: "to" },
          { title: "since" },
          { title: "error", shrink: 20 },
        ],
        found.workers.map(({ worker_id, kind, version, canary, update }) => [
          worker_id,
          kind,
          version ?? "away",
          canary ? `${update.state} (canary)` : update.state,
          update.target,
          moment(update.since),
          update.error ?? "",
        ]),
      ),
    );
  return lines.map((line) => (line.includes("\n") ? line : printable(line))).join("\n");
}

/** `flotilla fleet …`: which version the workers should run, and the operator's orders about it. */
export async function runFleetCommand(
  { client, terminal, env }: FleetDeps,
  words: string[],
  json: boolean,
): Promise<number> {
  const change = readWords(words);
  const password = env.SVC_ADMIN_PASSWORD?.trim();
  // A token with a role may be an administrator's; the hub refuses it if it is not.
  const has_role = client.headers.authorization?.startsWith("Bearer flt_") === true;
  if (change && !password && !has_role)
    throw new UsageError(
      `fleet ${words[0]} needs the administrator: set SVC_ADMIN_PASSWORD to the hub's`,
    );
  const asked = change
    ? change(client, { "x-admin-password": password ?? "" })
    : client.call("GET /api/v1/updates");
  return tell(terminal, asked, (found) =>
    json ? JSON.stringify(found, null, 2) : statusText(found, terminal),
  );
}
