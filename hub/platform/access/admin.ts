import { createHash } from "node:crypto";
import { AppError, tooManyWrong } from "#shared/kit/errors.ts";
import { sameSecret } from "#shared/kit/secret.ts";
import { createTurns } from "#shared/kit/turns.ts";
import { newPassword } from "#shared/protocol/ids.ts";
import type { SettingsRepo } from "../db/library-types.ts";
import { browserCount, type Throttle } from "./throttle.ts";

/** Outside of the prefix under which settings are listed. */
const HASH_KEY = "admin_password_hash";
/** The first of OWASP's equal choices for argon2id: 19 MiB, two passes. */
const ARGON2 = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;

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
  // If several hubs start at the same time, one adds its password; those of the others are never shown.
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
   * Lets the administrator pass. `count` names the count of wrong answers that slows down the next ones
   * (`Throttle.take`).
   * @throws AppError unauthorized when the password is missing or wrong, too_many after wrong ones, forbidden when
   * there is no password at all, unavailable while the shared store does not answer.
   */
  check(given: string | null, count: string): Promise<void>;
  /** Whether it is the password now. Wrong ones are not counted: only for one that `check` let in before. */
  isPassword(given: string): Promise<boolean>;
  /** Whether a password is set. */
  isSet(): Promise<boolean>;
  /** A value that differs after every change of the password; null when there is none. */
  credential(): Promise<string | null>;
}

export interface AdminGateDeps {
  settings: Pick<SettingsRepo, "get">;
  /** SVC_ADMIN_PASSWORD, which stands in for the stored one. */
  /** The current value; null: the password whose hash is stored counts. */
  password: () => string | null;
  /** Counts wrong answers for every process that shares its store. */
  throttle: Throttle;
}

/** How many checks may queue: further callers must try again later, so no one waits longer than a few seconds. */
const MAX_WAITING = 50;
const BUSY_MS = 1_000;
/** What there were too many wrong ones of. */
const PASSWORDS = "passwords";

/** Guards what runs commands and what changes settings on the control plane (rules/access#administrator). */
export function createAdminGate({ settings, password, throttle }: AdminGateDeps): AdminGate {
  // One check at a time, so a crowd of guesses takes the memory of one. Browsers that were let in before do not queue.
  const hashing = createTurns<"known" | "unknown">();
  // Simultaneous calls by someone who knows the password are counted and forgiven one after the other.
  const counted = createTurns<string>();
  let waiting = 0;
  /** Hash and digest of the last correct password, so it is checked again without argon2. */
  let proven: { hash: string; digest: string } | null = null;

  const isRight = async (given: string, hash: string | null): Promise<boolean> => {
    if (hash === null) return sameSecret(given, password() ?? "");
    const digest = createHash("sha256").update(given).digest("hex");
    if (proven?.hash === hash && sameSecret(proven.digest, digest)) return true;
    const right = await Bun.password.verify(given, hash);
    if (right) proven = { hash, digest };
    return right;
  };
  /** Null: SVC_ADMIN_PASSWORD counts. */
  const hashThatCounts = async (): Promise<string | null> => {
    if (password() !== null) return null;
    const hash = await settings.get(HASH_KEY);
    if (typeof hash === "string") return hash;
    throw new AppError(
      "forbidden",
      "there is no administrator password: set SVC_ADMIN_PASSWORD, or run flotilla admin reset-password",
    );
  };
  const verify = async (given: string, hash: string | null, known: boolean): Promise<boolean> => {
    if (known) return hashing("known", () => isRight(given, hash));
    if (waiting >= MAX_WAITING) throw tooManyWrong(PASSWORDS, BUSY_MS);
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
    isPassword: async (given) => verify(given, await hashThatCounts(), true),
    check: (given, count) =>
      counted(count, async () => {
        const hash = await hashThatCounts();
        const refuse = (detail: string) =>
          new AppError("unauthorized", detail, { headers: CHALLENGE });
        if (given === null) throw refuse("the administrator password is required");
        const wait_ms = await throttle.take(count);
        if (wait_ms > 0) throw tooManyWrong(PASSWORDS, wait_ms);
        if (await verify(given, hash, count.startsWith(browserCount(""))))
          return throttle.passed(count);
        throw refuse("the administrator password is wrong");
      }),
  };
}
