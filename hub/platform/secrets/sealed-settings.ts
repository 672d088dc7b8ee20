import { AppError } from "#shared/kit/errors.ts";
import type { Db } from "../db/storage.ts";
import type { Keyring } from "./keyring.ts";
import { keyIdOf, openValue, type Place, sealValue, Unopened } from "./values.ts";

/** Settings whose whole value is a secret text: encrypted where they are stored, and never given out. */
export const SECRET_SETTINGS = ["link_secret"] as const;

const placeOf = (name: string): Place => ["setting", name];

/** Only for secret settings, which are in clear only here. */
export interface SecretSettings {
  /** Null when it was never set. @throws AppError unavailable when no key opens it */
  get(name: string): Promise<unknown>;
  add(name: string, value: unknown, now: number): Promise<boolean>;
  set(name: string, value: unknown, now: number): Promise<void>;
}

export function sealedSettings(
  settings: Pick<Db["settings"], "get" | "add" | "set">,
  keys: Keyring,
): SecretSettings {
  const seal = (name: string, value: unknown) => sealValue(keys, String(value), placeOf(name));
  return {
    get: async (name) => {
      const stored = await settings.get(name);
      if (typeof stored !== "string") return stored;
      try {
        return openValue(keys, stored, placeOf(name));
      } catch (cause) {
        throw new AppError("unavailable", `the setting ${name} cannot be decrypted`, { cause });
      }
    },
    add: (name, value, now) => settings.add(name, seal(name, value), now),
    set: (name, value, now) => settings.set(name, seal(name, value), now),
  };
}

/** Converts one of `SECRET_SETTINGS`: encrypted with the first key, in clear, or deleted where no key opens it. */
export async function convertSetting(
  settings: Pick<Db["settings"], "get" | "set" | "delete">,
  keys: Keyring,
  { name, to, now }: { name: string; to: "seal" | "open" | "forget"; now: number },
): Promise<void> {
  const stored = await settings.get(name);
  if (typeof stored !== "string") return;
  const id = keyIdOf(stored);
  if (to === "seal" ? id === keys.first.id : id === null) return;
  try {
    const text = openValue(keys, stored, placeOf(name));
    if (to === "forget") return;
    const value = to === "seal" ? sealValue(keys, text, placeOf(name)) : text;
    await settings.set(name, value, now);
  } catch (err) {
    if (!(err instanceof Unopened)) throw err;
    if (to === "forget") await settings.delete(name);
  }
}
