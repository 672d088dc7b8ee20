import type { EnvSource } from "#shared/kit/env.ts";
import type { CreatedToken, Role, Token } from "#shared/protocol/schema/token.ts";
import { EXIT, UsageError } from "./exit.ts";
import { describeError, type HubAnswer, type HubClient } from "./hub-client.ts";
import { formatTable, printable, type Terminal } from "./print.ts";

export interface TokensCommandDeps {
  client: HubClient;
  terminal: Terminal;
  env: EnvSource;
}

const PATH = "/tokens";
const FORMS = "tokens needs list, create NAME ROLE [--expires 90d], or revoke ID";
const ROLE_WORDS: readonly string[] = ["viewer", "submitter", "operator", "admin"] satisfies Role[];
const UNIT_S: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Seconds. @throws UsageError */
function readDuration(text: string): number {
  const [, amount, unit = ""] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  if (amount === undefined || Number(amount) === 0)
    throw new UsageError(`--expires: "${text}" is no duration such as 30m, 12h or 90d`);
  return Number(amount) * (UNIT_S[unit] ?? 1);
}

interface Wanted {
  method: string;
  path: string;
  body?: unknown;
  /** Fields of the answer. */
  text: (body: unknown, width: number | null) => string;
}

/** @throws UsageError for words that mean nothing */
function readWords([what, word, role, ...more]: string[], expires: string | undefined): Wanted {
  if (expires !== undefined && what !== "create")
    throw new UsageError("--expires is of tokens create");
  if (more.length > 0) throw new UsageError(FORMS);
  if (what === "list" && word === undefined) return { method: "GET", path: PATH, text: listText };
  if (what === "revoke" && word !== undefined && role === undefined)
    return {
      ...{ method: "DELETE", path: `${PATH}/${encodeURIComponent(word)}` },
      text: () => `token ${word} revoked`,
    };
  if (what !== "create" || word === undefined || role === undefined) throw new UsageError(FORMS);
  if (!ROLE_WORDS.includes(role))
    throw new UsageError(`"${role}" is not a role: ${ROLE_WORDS.join(", ")}`);
  const expires_in_s = expires === undefined ? {} : { expires_in_s: readDuration(expires) };
  return {
    ...{ method: "POST", path: PATH, body: { name: word, role, ...expires_in_s } },
    text: (body) => (body as CreatedToken).token,
  };
}

const when = (time: string | null): string =>
  time === null ? "never" : time.replace("T", " ").slice(0, 16);

function listText(body: unknown, width: number | null): string {
  const { tokens } = body as { tokens: Token[] };
  if (tokens.length === 0) return "no tokens";
  return formatTable(
    [
      { title: "id" },
      { title: "role" },
      { title: "made" },
      { title: "last used" },
      { title: "expires" },
      { title: "name", shrink: 12 },
    ],
    tokens.map(({ token_id, role, created_at, last_used_at, expires_at, expired, name }) => [
      ...[token_id, role, when(created_at), when(last_used_at)],
      ...[expired ? "expired" : when(expires_at), name],
    ]),
    width,
  );
}

/** `flotilla tokens`: the token itself goes to standard output alone, so that a shell can keep it. */
export async function runTokensCommand(
  { client, terminal, env }: TokensCommandDeps,
  words: string[],
  expires: string | undefined,
  json: boolean,
): Promise<number> {
  const { method, path, body, text } = readWords(words, expires);
  const password = env.SVC_ADMIN_PASSWORD?.trim();
  const headers: Record<string, string> = password ? { "x-admin-password": password } : {};
  const answer: HubAnswer = await client.call(method, path, body, undefined, headers);
  if (answer.status >= 300) {
    terminal.err(`flotilla: ${printable(describeError(answer))}\n`);
    return answer.status === 400 || answer.status === 422 ? EXIT.usage : EXIT.failed;
  }
  terminal.out(
    `${json && answer.body !== null ? JSON.stringify(answer.body, null, 2) : text(answer.body, terminal.width)}\n`,
  );
  for (const warning of (answer.body as Partial<CreatedToken> | null)?.warnings ?? [])
    terminal.err(`flotilla: warning: ${warning}\n`);
  return EXIT.ok;
}
