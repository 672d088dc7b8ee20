import { randomBytes } from "node:crypto";
import type { Clock } from "#shared/kit/clock.ts";
import { AppError } from "#shared/kit/errors.ts";
import type { SettingsRepo } from "../../db/library-types.ts";
import type { Tokens } from "../tokens.ts";
import {
  type LinkGrant,
  type LinkKeys,
  linkKeys,
  looksSealed,
  openSealed,
  sealLink,
} from "./seal.ts";

/** Outside the prefixes under which settings are listed; its value is never given out. */
const SECRET_KEY = "link_secret";
const SECRET_BYTES = 32;
/** A key that another hub has replaced is used no longer than this. */
const FRESH_MS = 1_000;

/** Signed links of all hubs on one database: every link is made and judged with the same key. */
export interface SignedLinks {
  /** The link as text for a path. */
  make(grant: LinkGrant): Promise<string>;
  /**
   * @throws AppError forbidden for a link that was not made here, or that was ended by itself or with its token; gone
   * once it has expired
   */
  read(text: string): Promise<LinkGrant>;
  /** Replaces the key: within a second, no earlier link opens anything at any hub. */
  endAll(): Promise<void>;
}

export interface SignedLinksDeps {
  /** Encrypts the values that it stores. */
  settings: Pick<SettingsRepo, "get" | "add" | "set">;
  tokens: Pick<Tokens, "counts">;
  clock: Clock;
}

export function createSignedLinks({ settings, tokens, clock }: SignedLinksDeps): SignedLinks {
  let known: { keys: LinkKeys; read_at: number } | null = null;

  const remember = (secret: string): LinkKeys => {
    const keys = linkKeys(Buffer.from(secret, "base64url"));
    known = { keys, read_at: clock.monotonic() };
    return keys;
  };
  const newSecret = () => randomBytes(SECRET_BYTES).toString("base64url");
  const readKeys = async (): Promise<LinkKeys> => {
    // If several hubs need the first key at the same time, one of them adds it.
    if ((await settings.get(SECRET_KEY)) === null)
      await settings.add(SECRET_KEY, newSecret(), clock.now());
    const stored = await settings.get(SECRET_KEY);
    if (typeof stored !== "string")
      throw new AppError("unavailable", "the key of signed links cannot be read");
    return remember(stored);
  };
  const freshKeys = async (): Promise<LinkKeys> =>
    known && clock.monotonic() - known.read_at < FRESH_MS ? known.keys : readKeys();

  return {
    make: async (grant) => sealLink(await freshKeys(), grant),
    read: async (text) => {
      const is_link = looksSealed(text);
      // A link that another hub has just signed with a newer key is not refused because of an older read.
      const grant = is_link
        ? (openSealed(await freshKeys(), text) ?? openSealed(await readKeys(), text))
        : null;
      if (grant === null)
        throw new AppError(
          "forbidden",
          "this link was not made here, or the administrator has ended it: ask for a new one",
        );
      if (grant.expires_at <= clock.now())
        throw new AppError("gone", "this link has expired: ask for a new one");
      if (grant.token_id !== null && !(await tokens.counts(grant.token_id)))
        throw new AppError(
          "forbidden",
          "the token with which this link was created was revoked or has expired: ask for a new link",
        );
      return grant;
    },
    endAll: async () => {
      const secret = newSecret();
      await settings.set(SECRET_KEY, secret, clock.now());
      remember(secret);
    },
  };
}
