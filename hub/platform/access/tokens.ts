import { createHash, randomBytes } from "node:crypto";
import { type Clock, isoTime } from "#shared/kit/clock.ts";
import { AppError, notFound } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { sameSecret, TOKEN_PREFIX } from "#shared/kit/secret.ts";
import { newJobId } from "#shared/protocol/ids.ts";
import {
  type CreatedToken,
  type CreateToken,
  TOKEN_SECRET,
  type Token,
} from "#shared/protocol/schema/token.ts";
import type { AccessTokenRow } from "../db/rows.ts";
import type { Db } from "../db/types.ts";
import type { Caller } from "../http/caller.ts";

/** How long a lookup is reused: a token that another hub revoked is refused here a second later. */
const FRESH_MS = 1_000;
/** How often a use is written. */
const USED_EVERY_MS = 60_000;
/** Found tokens that are kept; all are looked up again when there are more. */
const MAX_KEPT = 5_000;

/** Of a secret of 256 random bits, which nobody guesses: nothing slower is needed. */
export const hashOf = (secret: string): string => createHash("sha256").update(secret).digest("hex");
export const newSecret = (): string => randomBytes(32).toString("base64url");

/** Tokens with roles: who holds which, for all hubs of one database. */
export interface Tokens {
  /** Whether the table has any, expired ones too: then nobody is let in without one. As known here, a second old at most. */
  readonly exist: boolean;
  /** Reads that again; what was known stays when the database does not answer. */
  look(): Promise<void>;
  /** @throws AppError unavailable when the database does not answer */
  callerOf(secret: string): Promise<Caller | null>;
  /** Whether the token is there and has not expired. @throws AppError as `callerOf` */
  counts(token_id: string): Promise<boolean>;
  list(): Promise<Token[]>;
  /** @throws AppError conflict for one after which nobody could make or revoke another */
  create(wanted: CreateToken): Promise<CreatedToken>;
  /** @throws AppError not_found, or conflict as `create` */
  revoke(token_id: string): Promise<void>;
  /** A token of this process, for its own calls: never stored, and as good as SVC_API_TOKEN. */
  readonly own: string;
}

export interface TokensDeps {
  readonly db: { readonly access: Db["access"] };
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly log: Log;
  readonly config: { readonly api_token: string | null; readonly worker_secret: string | null };
  readonly admin: { isSet(): Promise<boolean> };
  /** Called when earlier lookups may be wrong. */
  readonly onRevoked?: () => void;
}

export const isOver = (row: Pick<AccessTokenRow, "expires_at">, now: number): boolean =>
  row.expires_at !== null && row.expires_at <= now;

export const callerOfToken = ({ name, role, token_id }: AccessTokenRow): Caller => ({
  ...{ kind: "token", name, role, token_id },
});

const WORKERS_WARNING =
  "workers still join without a secret: set WORKER_SECRET at the hubs and the workers";
const OWN_CALLER: Caller = { kind: "api token", name: "this server", role: null, token_id: null };

export function createTokens({ db: { access }, ...deps }: TokensDeps): Tokens {
  const { clock, log, config, admin } = deps;
  const own = TOKEN_PREFIX + newSecret();
  let exist = false;
  const found = new Map<string, { row: AccessTokenRow; at: number }>();
  const used = new Map<string, number>();

  const touch = ({ token_id, last_used_at }: AccessTokenRow) => {
    const now = clock.now();
    const known = Math.max(last_used_at ?? 0, used.get(token_id) ?? 0);
    if (now - known < USED_EVERY_MS) return;
    used.set(token_id, now);
    void access
      .markUsed(token_id, now, now - USED_EVERY_MS)
      .catch((err) => log.debug({ err }, "the use of a token was not written"));
  };
  /** `key`: a hash, or an id. */
  const find = async (
    key: string,
    read: (key: string) => Promise<AccessTokenRow | null>,
  ): Promise<AccessTokenRow | null> => {
    const kept = found.get(key);
    if (kept && clock.monotonic() - kept.at < FRESH_MS) return kept.row;
    const at = clock.monotonic();
    const row = await read(key);
    if (found.size >= MAX_KEPT) found.clear();
    if (row) found.set(key, { row, at });
    else found.delete(key);
    return row;
  };
  const shown = ({ hash: _, ...row }: AccessTokenRow): Token => ({
    ...row,
    created_at: isoTime(row.created_at),
    expires_at: row.expires_at === null ? null : isoTime(row.expires_at),
    expired: isOver(row, clock.now()),
    last_used_at: row.last_used_at === null ? null : isoTime(row.last_used_at),
  });
  /** Whether somebody could still make and revoke tokens with these. */
  const isRuled = async (rows: readonly AccessTokenRow[]): Promise<boolean> =>
    rows.some(({ role, expires_at }) => role === "admin" && expires_at === null) ||
    config.api_token !== null ||
    (await admin.isSet());
  return {
    own,
    get exist() {
      return exist;
    },
    look: async () => {
      exist = await access.hasTokens();
    },
    callerOf: async (secret) => {
      if (!TOKEN_SECRET.test(secret)) return null;
      if (sameSecret(secret, own)) return OWN_CALLER;
      const row = await find(hashOf(secret), access.findToken);
      if (row === null || isOver(row, clock.now())) return null;
      touch(row);
      return callerOfToken(row);
    },
    counts: async (token_id) => {
      const row = await find(token_id, access.tokenById);
      return row !== null && !isOver(row, clock.now());
    },
    list: async () => (await access.tokens()).map(shown),
    create: async ({ name, role, expires_in_s }) => {
      const now = clock.now();
      const token = TOKEN_PREFIX + newSecret();
      const row: AccessTokenRow = {
        ...{ token_id: newJobId(), name, role, hash: hashOf(token), created_at: now },
        expires_at: expires_in_s === undefined ? null : now + expires_in_s * 1_000,
        last_used_at: null,
      };
      if (!(await isRuled([...(await access.tokens()), row])))
        throw new AppError(
          "conflict",
          "the first token must be of the role admin and never expire, or nobody could make another: there is no administrator's password",
        );
      await access.addToken(row);
      exist = true;
      log.info({ token_id: row.token_id, name, role }, "token made");
      const warnings = config.worker_secret === null ? [WORKERS_WARNING] : [];
      return { ...shown(row), token, warnings };
    },
    revoke: async (token_id) => {
      const rows = await access.tokens();
      const left = rows.filter((row) => row.token_id !== token_id);
      if (left.length === rows.length) throw notFound("token");
      if (left.length > 0 && !(await isRuled(left)))
        throw new AppError(
          "conflict",
          "it is the last token of the role admin that never expires, and there is no administrator's password: make another or revoke the others first",
        );
      if (!(await access.removeToken(token_id))) throw notFound("token");
      found.clear();
      deps.onRevoked?.();
      exist = left.length > 0;
      log.info({ token_id }, "token revoked");
      if (!exist && config.api_token === null)
        log.warn({}, "the last token was revoked: nobody is asked for one from now on");
    },
  };
}
