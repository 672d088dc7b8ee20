import { createHmac } from "node:crypto";
import type { Clock } from "#shared/kit/clock.ts";
import { sameSecret } from "#shared/kit/secret.ts";
import type { BrowserSessionRow } from "../db/rows.ts";
import type { Db } from "../db/storage.ts";
import type { Caller } from "../http/caller.ts";
import type { Kv } from "../stores/kv.ts";
import { callerOfToken, hashOf, isOver, newSecret } from "./tokens.ts";

/** How long a lookup is reused, as for tokens. */
const FRESH_MS = 1_000;
const MAX_KEPT = 5_000;
/** A browser that was let in stays logged in for this long, and never longer than its token. */
const SESSION_MS = 30 * 86_400_000;
/** The link that dev mode prints. */
const CODE_MS = 15 * 60_000;
/**
 * Setting with the key that signs the cookies of browsers that have logged in before; it is not listed with the
 * settings.
 */
const KNOWN_KEY = "known_browsers_key";

/** Logins of browsers, for all hubs of one database (SECURITY.md). */
export interface Logins {
  /**
   * The caller who has that session.
   * @throws AppError unavailable when the database does not answer
   */
  callerOf(secret: string): Promise<Caller | null>;
  /**
   * Makes a session for `caller`, who has shown a token or the password.
   * @returns its secret, and when it ends
   */
  open(caller: Caller): Promise<{ secret: string; expires_at: number }>;
  end(secret: string): Promise<void>;
  /** A code that lets one browser in as the administrator, once. */
  newCode(): Promise<string>;
  takeCode(code: string): Promise<boolean>;
  /** Forgets cached lookups. */
  forget(): void;
  /** Makes a cookie for a browser that was let in; `of` says as whom. The nonce of an existing cookie stays. */
  knownCookie(of: string, nonce: string | null): Promise<string>;
  /** The nonce of such a cookie; null when it is not one, or of another kind. */
  readKnown(cookie: string | undefined, of: string): Promise<string | null>;
  prune(): Promise<void>;
}

export interface LoginsDeps {
  readonly db: Pick<Db, "access" | "settings">;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly kv: Pick<Kv, "set" | "deleteIf">;
  readonly config: { readonly api_token: string | null };
  /** A value that changes with the administrator's password; null: there is none. */
  readonly adminCredential: () => Promise<string | null>;
}

const callerOfKind = (kind: BrowserSessionRow["kind"]): Omit<Caller, "kind"> =>
  kind === "administrator"
    ? { name: "admin", role: "admin", token_id: null }
    : { name: null, role: null, token_id: null };

const codeKey = (code: string): string => `login-code:${hashOf(code)}`;
const CODE = { kind: "login" };

/** Signs with a key that every hub of the database shares; the first hub that needs it makes it. */
function createSigner({ db, clock }: Pick<LoginsDeps, "db" | "clock">) {
  let key: Promise<string> | null = null;
  const readKey = async (): Promise<string> => {
    const made = newSecret();
    const added = await db.settings.add(KNOWN_KEY, made, clock.now());
    return added ? made : String(await db.settings.get(KNOWN_KEY));
  };
  return async (of: string, nonce: string): Promise<string> => {
    key ??= readKey().catch((err) => {
      key = null;
      throw err;
    });
    return createHmac("sha256", await key)
      .update(`${of} ${nonce}`)
      .digest("base64url");
  };
}

export function createLogins({ db, clock, kv, config, adminCredential }: LoginsDeps): Logins {
  const found = new Map<string, { caller: Caller; expires_at: number; at: number }>();
  /**
   * Bound to the password or SVC_API_TOKEN by the session's own secret: the table reveals neither, and changing either
   * ends the session.
   */
  const proofOf = async (kind: BrowserSessionRow["kind"], secret: string) => {
    if (kind === "token") return null;
    const credential = kind === "api token" ? config.api_token : await adminCredential();
    return credential === null ? "" : createHmac("sha256", secret).update(credential).digest("hex");
  };
  const find = async (secret: string) => {
    const at = clock.monotonic();
    const there = await db.access.findSession(hashOf(secret));
    if (!there) return null;
    const { session, token } = there;
    if (token && isOver(token, clock.now())) return null;
    const proof = await proofOf(session.kind, secret);
    if (proof === "" || !sameSecret(proof ?? "", session.proof ?? "")) return null;
    const whose = token ? callerOfToken(token) : callerOfKind(session.kind);
    const expires_at = Math.min(session.expires_at, token?.expires_at ?? session.expires_at);
    return { caller: { ...whose, kind: "session" as const }, expires_at, at };
  };
  const sign = createSigner({ db, clock });
  const readKnown = async (cookie: string | undefined, of: string) => {
    const [nonce = "", signature = ""] = cookie?.split(".") ?? [];
    if (nonce === "" || signature === "") return null;
    return sameSecret(signature, await sign(of, nonce)) ? nonce : null;
  };
  return {
    callerOf: async (secret) => {
      const kept = found.get(secret);
      const fresh = kept && clock.monotonic() - kept.at < FRESH_MS ? kept : await find(secret);
      if (found.size >= MAX_KEPT) found.clear();
      if (fresh) found.set(secret, fresh);
      else found.delete(secret);
      return fresh && fresh.expires_at > clock.now() ? fresh.caller : null;
    },
    open: async ({ kind, role, token_id }) => {
      const secret = newSecret();
      const now = clock.now();
      const of = token_id !== null ? "token" : role === "admin" ? "administrator" : "api token";
      const session: BrowserSessionRow = {
        hash: hashOf(secret),
        kind: kind === "token" ? "token" : of,
        token_id,
        proof: await proofOf(of, secret),
        created_at: now,
        expires_at: now + SESSION_MS,
      };
      await db.access.addSession(session);
      return { secret, expires_at: session.expires_at };
    },
    end: async (secret) => {
      found.clear();
      await db.access.removeSession(hashOf(secret));
    },
    newCode: async () => {
      const code = newSecret();
      await kv.set(codeKey(code), CODE, CODE_MS);
      return code;
    },
    takeCode: (code) => kv.deleteIf(codeKey(code), CODE),
    forget: () => found.clear(),
    knownCookie: async (of, nonce) => {
      const name = nonce ?? newSecret();
      return `${name}.${await sign(of, name)}`;
    },
    readKnown,
    prune: () => db.access.removeExpiredSessions(clock.now()),
  };
}
