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
import type { Db } from "../db/storage.ts";
import type { Caller } from "../http/caller.ts";

/** How long a lookup is reused: a token that another hub revoked is refused here within a second. */
const FRESH_MS = 1_000;
/** How often the use of a token is recorded. */
const USED_EVERY_MS = 60_000;
/** How many found tokens are cached; with more, all are looked up again. */
const MAX_KEPT = 5_000;

/** Hash of 256 random bits, which cannot be guessed: nothing slower is needed. */
export const hashOf = (secret: string): string => createHash("sha256").update(secret).digest("hex");
export const newSecret = (): string => randomBytes(32).toString("base64url");

/** Tokens with roles, for all hubs of one database. */
export interface Tokens {
  /**
   * Whether the table has any tokens, expired ones too; if so, no one is let in without one. The answer is at most a
   * second old.
   */
  readonly exist: boolean;
  /** Reads it again; when the database does not answer, the last value stays. */
  look(): Promise<void>;
  /** @throws AppError unavailable when the database does not answer */
  callerOf(secret: string): Promise<Caller | null>;
  /**
   * Whether the token exists and has not expired.
   * @throws AppError as `callerOf`
   */
  counts(token_id: string): Promise<boolean>;
  list(): Promise<Token[]>;
  /** @throws AppError conflict if no one could make or revoke tokens afterwards */
  create(wanted: CreateToken): Promise<CreatedToken>;
  /** @throws AppError not_found, or conflict as `create` */
  revoke(token_id: string): Promise<void>;
  /** A token of this process for its own calls: it is never stored, and has the rights of SVC_API_TOKEN. */
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
  kind: "token",
  name,
  role,
  token_id,
});

const WORKERS_WARNING =
  "workers still join without a secret: set WORKER_SECRET on hubs and workers";
const LAST_ADMIN =
  "it is the last token with the role admin that never expires, and there is no administrator's password: create another or revoke the others first";
const LAST_REVOKED = "the last token was revoked: from now on no token is required";
const OWN_CALLER: Caller = { kind: "api token", name: "this server", role: null, token_id: null };

/** Rows by their lookup key, a hash or an id, as long as they are fresh. */
function createFound(clock: TokensDeps["clock"]) {
  const found = new Map<string, { row: AccessTokenRow; at: number }>();
  return {
    find: async (
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
    },
    forget: () => found.clear(),
  };
}

/** Records from time to time when a token was last used. */
function createUses({ db: { access }, clock, log }: Pick<TokensDeps, "db" | "clock" | "log">) {
  const used = new Map<string, number>();
  return ({ token_id, last_used_at }: AccessTokenRow): void => {
    const now = clock.now();
    const known = Math.max(last_used_at ?? 0, used.get(token_id) ?? 0);
    if (now - known < USED_EVERY_MS) return;
    used.set(token_id, now);
    void access
      .markUsed(token_id, now, now - USED_EVERY_MS)
      .catch((err) => log.debug({ err }, "could not record the use of a token"));
  };
}

const shownAt = ({ hash: _, ...row }: AccessTokenRow, now: number): Token => ({
  ...row,
  created_at: isoTime(row.created_at),
  expires_at: row.expires_at === null ? null : isoTime(row.expires_at),
  expired: isOver(row, now),
  last_used_at: row.last_used_at === null ? null : isoTime(row.last_used_at),
});

/** Whether somebody can create and revoke tokens without a token of the role admin. */
const isRuledWithoutTokens = async ({
  config,
  admin,
}: Pick<TokensDeps, "config" | "admin">): Promise<boolean> =>
  config.api_token !== null || (await admin.isSet());

const rulesForever = ({ role, expires_at }: AccessTokenRow): boolean =>
  role === "admin" && expires_at === null;

export function createTokens(deps: TokensDeps): Tokens {
  const { clock, log, config } = deps;
  const { access } = deps.db;
  const own = TOKEN_PREFIX + newSecret();
  let exist = false;
  const { find, forget } = createFound(clock);
  const touch = createUses(deps);
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
    list: async () => (await access.tokens()).map((row) => shownAt(row, clock.now())),
    create: async ({ name, role, expires_in_s }) => {
      const now = clock.now();
      const token = TOKEN_PREFIX + newSecret();
      const row: AccessTokenRow = {
        token_id: newJobId(),
        name,
        role,
        hash: hashOf(token),
        created_at: now,
        expires_at: expires_in_s === undefined ? null : now + expires_in_s * 1_000,
        last_used_at: null,
      };
      const ruled =
        rulesForever(row) ||
        (await access.tokens()).some(rulesForever) ||
        (await isRuledWithoutTokens(deps));
      if (!ruled)
        throw new AppError(
          "conflict",
          "the first token must have the role admin and never expire, or nobody could create another: there is no administrator's password",
        );
      await access.addToken(row);
      exist = true;
      log.info({ token_id: row.token_id, name, role }, "token created");
      const warnings = config.worker_secret === null ? [WORKERS_WARNING] : [];
      return { ...shownAt(row, now), token, warnings };
    },
    revoke: async (token_id) => {
      const outcome = await access.removeToken(token_id, !(await isRuledWithoutTokens(deps)));
      if (outcome === "not found") throw notFound("token");
      if (outcome === "needed") throw new AppError("conflict", LAST_ADMIN);
      forget();
      deps.onRevoked?.();
      // Another may have been created meanwhile.
      exist = await access.hasTokens();
      log.info({ token_id }, "token revoked");
      if (!exist && config.api_token === null) log.warn({}, LAST_REVOKED);
    },
  };
}
