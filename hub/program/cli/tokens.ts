import type { Http } from "#shared/client/http.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import type { Role, Token } from "#shared/protocol/schema/token.ts";
import { EXIT, UsageError } from "./exit.ts";
import { tellRefusal } from "./hub-client.ts";
import { type Terminal, tableFor } from "./print.ts";

export interface TokensCommandDeps {
  client: Http;
  terminal: Terminal;
  env: EnvSource;
}

const FORMS = "tokens needs list, create NAME ROLE [--expires 90d], or revoke ID";
const ROLE_WORDS: readonly string[] = ["viewer", "submitter", "operator", "admin"] satisfies Role[];
const isRole = (word: string): word is Role => ROLE_WORDS.includes(word);
const UNIT_S: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Seconds. @throws UsageError */
function readDuration(text: string): number {
  const [, amount, unit = ""] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  if (amount === undefined || Number(amount) === 0)
    throw new UsageError(`--expires: "${text}" is not a duration such as 30m, 12h or 90d`);
  return Number(amount) * (UNIT_S[unit] ?? 1);
}

/** What was answered, and what is printed of it. */
interface Told {
  answer: object | null;
  text: string;
  warnings?: readonly string[];
}
type Wanted = (client: Http, headers: Record<string, string>, terminal: Terminal) => Promise<Told>;

/** @throws UsageError for words that mean nothing */
function readWords([what, word, role, ...more]: string[], expires: string | undefined): Wanted {
  if (expires !== undefined && what !== "create")
    throw new UsageError("--expires is only for tokens create");
  if (more.length > 0) throw new UsageError(FORMS);
  if (what === "list" && word === undefined)
    return async (client, headers, terminal) => {
      const answer = await client.call("GET /tokens", { headers });
      return { answer, text: listText(answer.tokens, terminal) };
    };
  if (what === "revoke" && word !== undefined && role === undefined)
    return async (client, headers) => {
      const answer = await client.call("DELETE /tokens/{id}", { headers, params: { id: word } });
      return { answer, text: `token ${word} revoked` };
    };
  if (what !== "create" || word === undefined || role === undefined) throw new UsageError(FORMS);
  if (!isRole(role)) throw new UsageError(`"${role}" is not a role: ${ROLE_WORDS.join(", ")}`);
  const expires_in_s = expires === undefined ? {} : { expires_in_s: readDuration(expires) };
  return async (client, headers) => {
    const json = { name: word, role, ...expires_in_s };
    const answer = await client.call("POST /tokens", { headers, json });
    return { answer, text: answer.token, warnings: answer.warnings };
  };
}

const when = (time: string | null): string =>
  time === null ? "never" : time.replace("T", " ").slice(0, 16);

function listText(tokens: Token[], terminal: Terminal): string {
  if (tokens.length === 0) return "no tokens";
  return tableFor(
    terminal,
    [
      { title: "id" },
      { title: "role" },
      { title: "made" },
      { title: "last used" },
      { title: "expires" },
      { title: "name", shrink: 12 },
    ],
    tokens.map(({ token_id, role, created_at, last_used_at, expires_at, expired, name }) => [
      token_id,
      role,
      when(created_at),
      when(last_used_at),
      expired ? "expired" : when(expires_at),
      name,
    ]),
  );
}

/** `flotilla tokens`: only the token itself goes to standard output, so that a shell can keep it. */
export async function runTokensCommand(
  { client, terminal, env }: TokensCommandDeps,
  words: string[],
  expires: string | undefined,
  json: boolean,
): Promise<number> {
  const wanted = readWords(words, expires);
  const password = env.SVC_ADMIN_PASSWORD?.trim();
  const headers: Record<string, string> = password ? { "x-admin-password": password } : {};
  try {
    const { answer, text, warnings = [] } = await wanted(client, headers, terminal);
    terminal.out(`${json && answer !== null ? JSON.stringify(answer, null, 2) : text}\n`);
    for (const warning of warnings) terminal.err(`flotilla: warning: ${warning}\n`);
    return EXIT.ok;
  } catch (err) {
    return tellRefusal(terminal, err);
  }
}
