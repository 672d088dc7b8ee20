import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Protocol } from "devtools-protocol";
import { ArchiveError } from "#shared/archive/archive-error.ts";
import { COOKIES_FILE } from "#shared/archive/profile-shape.ts";
import type { ProfileRef } from "#shared/protocol/schema/profile.ts";
import type { HubFiles } from "#worker/hub-files.ts";
import type { LaneBrowser } from "../lanes/lane-browser.ts";
import { type ProfileCache, ProfileError } from "./cache.ts";
import { cookieSchemes, whyUnusable } from "./cookie-db.ts";
import { readCookieFile, readCookies, writeCookies } from "./cookies.ts";
import { extractProfile } from "./extract.ts";
import { normaliseProfile } from "./normalise.ts";

/** Reports what became of a profile, in a job's log or the worker's. */
type Tell = (level: "info" | "warn", message: string, fields: Record<string, unknown>) => void;

/** A profile on its way into one run's browser (rules/profiles#profile-of-a-run). */
export interface SeededProfile {
  /** Copies it into a new user-data directory, before the browser starts. @throws ProfileError */
  seed(user_data: string): Promise<void>;
  /** Once the browser is up: adds the cookies Chromium's database cannot carry, and says how many are usable. */
  settle(browser: LaneBrowser, tell: Tell): Promise<void>;
}

/** Applies profile `ref` to a run, from the cache or the hub. */
export function applyProfile(
  cache: ProfileCache,
  ref: ProfileRef,
  hub: HubFiles,
  signal: AbortSignal,
): SeededProfile {
  return seeded(`profile ${ref.name}`, async (user_data) => {
    if (ref.size === 0) throw new ProfileError(`profile ${ref.name} no longer exists`);
    try {
      await cache.use(ref, hub, signal, (path) => extractProfile(path, user_data, signal));
    } catch (err) {
      if (!(err instanceof ArchiveError)) throw err;
      await cache.drop(ref);
      throw new ProfileError(`profile ${ref.name} cannot be unpacked: ${err.message}`);
    }
  });
}

/** A profile that `fill` copies into the user-data directory. */
export function seeded(what: string, fill: (user_data: string) => Promise<void>): SeededProfile {
  let extra: Protocol.Network.Cookie[] = [];
  let schemes: string[] | null = null;
  return {
    seed: async (user_data) => {
      await fill(user_data);
      await normaliseProfile(user_data);
      const file = join(user_data, "Default", COOKIES_FILE);
      extra = await readCookieFile(file);
      await rm(file, { force: true });
      schemes = await cookieSchemes(user_data);
    },
    settle: async (browser, tell) => {
      const refused = await writeCookies(browser, extra);
      const cookies = (await readCookies(browser)).length;
      const fields = { cookies, ...(refused > 0 ? { refused } : {}) };
      if (cookies === 0 && schemes !== null && schemes.length > 0)
        tell(
          "warn",
          `${what}: 0 usable cookies, although it has a cookie database: ${whyUnusable(schemes)}`,
          fields,
        );
      else tell("info", `${what}: ${cookies} cookies`, fields);
    },
  };
}
