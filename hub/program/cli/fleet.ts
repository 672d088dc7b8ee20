import type { EnvSource } from "#shared/kit/env.ts";
import type { FleetUpdates } from "#shared/protocol/schema/updates.ts";
import { EXIT, UsageError } from "./exit.ts";
import { describeError, type HubAnswer, type HubClient } from "./hub-client.ts";
import { formatTable, printable, type Terminal } from "./print.ts";

export interface FleetDeps {
  client: HubClient;
  terminal: Terminal;
  env: EnvSource;
}

const PATH = "/api/v1/updates";
const FORMS =
  "fleet needs status, pause-updates, resume-updates, approve [VERSION], pin VERSION|WORKER=VERSION|off, drain [WORKER…], or activate [WORKER…]";

/** What to send; null reads. @throws UsageError for words that mean nothing */
function readWords([what, word, ...more]: string[]): { path: string; body: unknown } | null {
  const pinned = what === "pin" && word !== undefined;
  const takes_word = what === "approve" || what === "pin";
  if (more.length > 0 || (word !== undefined && !takes_word))
    throw new UsageError(`unexpected word "${more[0] ?? word}" after fleet ${what}`);
  if (what === "status") return null;
  if (what === "pause-updates") return { path: `${PATH}/pause`, body: undefined };
  if (what === "resume-updates") return { path: `${PATH}/resume`, body: undefined };
  if (what === "approve")
    return { path: `${PATH}/approve`, body: word === undefined ? {} : { version: word } };
  if (!pinned) throw new UsageError(FORMS);
  const [left = "", right] = word.split("=", 2);
  const version = right ?? left;
  if (version === "" || left === "") throw new UsageError(FORMS);
  return {
    path: `${PATH}/pin`,
    body: {
      version: version === "off" ? null : version,
      ...(right !== undefined && { worker_id: left }),
    },
  };
}

/** What an operator may do now. */
const NEXT: Partial<Record<FleetUpdates["state"], string>> = {
  stopped: "flotilla fleet approve lets the others go on all the same",
  waiting_for_approval: "flotilla fleet approve lets them go",
  paused: "flotilla fleet resume-updates lets them go",
};

function statusText(found: FleetUpdates, width: number | null): string {
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
      formatTable(
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
          (update.since ?? "").replace("T", " ").slice(0, 19),
          update.error ?? "",
        ]),
        width,
      ),
    );
  return lines.map((line) => (line.includes("\n") ? line : printable(line))).join("\n");
}

/** `flotilla fleet …`: which version the workers should have, and the operator's orders about it. */
export async function runFleetCommand(
  { client, terminal, env }: FleetDeps,
  words: string[],
  json: boolean,
): Promise<number> {
  const change = readWords(words);
  const password = env.SVC_ADMIN_PASSWORD?.trim();
  // A token with a role may be an administrator's; the hub says so when it is not.
  const has_role = client.headers.authorization?.startsWith("Bearer flt_") === true;
  if (change && !password && !has_role)
    throw new UsageError(
      `fleet ${words[0]} is the administrator's: set SVC_ADMIN_PASSWORD to the hub's`,
    );
  const answer: HubAnswer = change
    ? await client.call("POST", change.path, change.body, undefined, {
        "x-admin-password": password ?? "",
      })
    : await client.call("GET", PATH);
  if (answer.status !== 200) {
    terminal.err(`flotilla: ${printable(describeError(answer))}\n`);
    return answer.status === 400 || answer.status === 422 ? EXIT.usage : EXIT.failed;
  }
  const found = answer.body as FleetUpdates;
  terminal.out(`${json ? JSON.stringify(found, null, 2) : statusText(found, terminal.width)}\n`);
  return EXIT.ok;
}
