import { createHash } from "node:crypto";
import { AppError } from "#shared/kit/errors.ts";
import { sameSecret } from "#shared/kit/secret.ts";
import { createTurns } from "#shared/kit/turns.ts";
import { newPassword } from "#shared/protocol/ids.ts";
import type { SettingsRepo } from "../db/library-types.ts";
import { browserCount, type Throttle } from "./throttle.ts";

/** Outside of the prefix under which settings are listed. */
const HASH_KEY = "admin_password_hash";
/** The first of OWASP's equal choices for argon2id: 19 MiB, two passes. */
const ARGON2 = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;

const tooMany = (wait_s: number): AppError =>
  new AppError("too_many", `too many wrong passwords; wait ${wait_s} s`, {
    headers: { "Retry-After": String(wait_s) },
  });

const CHALLENGE = { "WWW-Authenticate": 'Basic realm="administrator", charset="UTF-8"' };

/**
 * Makes the administrator's password when there is none yet (rules/access#administrator).
 * @returns the password, to be shown once; null when there was one. Only its hash is kept.
 */
export async function ensureAdminPassword(
  settings: Pick<SettingsRepo, "get" | "add">,
  now: number,
): Promise<string | null> {
  if ((await settings.get(HASH_KEY)) !== null) return null;
  const password = newPassword();
  // Of several that start at once one adds it; the others' passwords are never shown.
  return (await settings.add(HASH_KEY, await Bun.password.hash(password, ARGON2), now))
    ? password
    : null;
}

/** Replaces it. @returns the new password; the old one opens nothing from now on. */
export async function resetAdminPassword(
  settings: Pick<SettingsRepo, "set">,
  now: number,
): Promise<string> {
  const password = newPassword();
  await settings.set(HASH_KEY, await Bun.password.hash(password, ARGON2), now);
  return password;
}

export interface AdminGate {
  /**
   * Lets the administrator pass. `count`: whose wrong answers slow down whose next ones (`Throttle.take`).
   * @throws AppError unauthorized when the password is missing or wrong, too_many after wrong ones, forbidden when there
   * is no password at all, unavailable while the shared store does not answer.
   */
  check(given: string | null, count: string): Promise<void>;
  /** Whether there is a password. */
  isSet(): Promise<boolean>;
  /** A value that differs after every change of the password; null when there is none. */
  credential(): Promise<string | null>;
}

export interface AdminGateDeps {
  settings: Pick<SettingsRepo, "get">;
  /** SVC_ADMIN_PASSWORD, which stands in for the stored one. */
  /** Of the moment; null: the one whose hash is stored. */
  password: () => string | null;
  /** Counts wrong answers for every process that shares its store. */
  throttle: Throttle;
}

/** Checks that may queue: further callers are told to come back, so that nobody waits for more than seconds. */
const MAX_WAITING = 50;

/** Guards what runs commands and what changes settings on the control plane (rules/access#administrator). */
export function createAdminGate({ settings, password, throttle }: AdminGateDeps): AdminGate {
  // One at a time: a crowd of guesses takes the memory of one. Browsers that were let in before do not stand behind it.
  const hashing = createTurns<"known" | "unknown">();
  // Simultaneous calls by someone who knows the password are counted and forgiven one after the other.
  const counted = createTurns<string>();
  let waiting = 0;
  /** Hash and digest of the password that was last found right: a second look takes no argon2. */
  let proven: { hash: string; digest: string } | null = null;

  const isRight = async (given: string, hash: string | null): Promise<boolean> => {
    if (hash === null) return sameSecret(given, password() ?? "");
    const digest = createHash("sha256").update(given).digest("hex");
    if (proven?.hash === hash && sameSecret(proven.digest, digest)) return true;
    const right = await Bun.password.verify(given, hash);
    if (right) proven = { hash, digest };
    return right;
  };
  const storedHash = async (): Promise<string> => {
    const hash = await settings.get(HASH_KEY);
    if (typeof hash === "string") return hash;
    throw new AppError(
      "forbidden",
      "there is no administrator password: set SVC_ADMIN_PASSWORD, or run flotilla admin reset-password",
    );
  };
  const verify = async (given: string, hash: string | null, known: boolean): Promise<boolean> => {
    if (known) return hashing("known", () => isRight(given, hash));
    if (waiting >= MAX_WAITING) throw tooMany(1);
    waiting += 1;
    return hashing("unknown", () => isRight(given, hash)).finally(() => {
      waiting -= 1;
    });
  };
  return {
    isSet: async () => password() !== null || (await settings.get(HASH_KEY)) !== null,
    credential: async () => {
      const hash = password() ?? (await settings.get(HASH_KEY));
      return typeof hash === "string" ? hash : null;
    },
    check: (given, count) =>
      counted(count, async () => {
        const hash = password() === null ? await storedHash() : null;
        const refuse = (detail: string) =>
          new AppError("unauthorized", detail, { headers: CHALLENGE });
        if (given === null) throw refuse("the administrator password is required");
        const wait_s = Math.ceil((await throttle.take(count)) / 1_000);
        if (wait_s > 0) throw tooMany(wait_s);
        if (await verify(given, hash, count.startsWith(browserCount(""))))
          return throttle.passed(count);
        throw refuse("the administrator password is wrong");
      }),
  };
}
