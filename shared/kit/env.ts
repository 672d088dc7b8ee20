import { z } from "zod";
import { faultOf } from "#shared/kit/issue-words.ts";

/** zod parts for environment variables: blank means unset, units are converted once, here. */

export type EnvSource = Record<string, string | undefined>;

export const blankIsUnset = (env: EnvSource): EnvSource =>
  Object.fromEntries(Object.entries(env).filter(([, v]) => v !== undefined && v.trim() !== ""));

const number = z.string().transform((raw, ctx) => {
  const value = Number(raw.trim());
  if (Number.isFinite(value)) return value;
  ctx.addIssue({ code: "custom", message: `"${raw}" is not a number` });
  return z.NEVER;
});

const whole = (min: number, max: number) => number.pipe(z.number().int().min(min).max(max));

/** A whole number within [min, max]. */
export const integer = (fallback: number, min = 0, max = Number.MAX_SAFE_INTEGER) =>
  whole(min, max).default(fallback);

/** The same if the default depends on other variables. */
export const optionalInteger = (min = 0, max = Number.MAX_SAFE_INTEGER) =>
  whole(min, max).optional();

/** Seconds in the variable (fractions allowed), milliseconds in the code. */
export const seconds = (fallbackSeconds: number, minSeconds = 0, maxSeconds = 86_400_000) =>
  number
    .pipe(z.number().min(minSeconds).max(maxSeconds))
    .transform((s) => Math.round(s * 1000))
    .default(Math.round(fallbackSeconds * 1000));

/** 1/0, true/false, yes/no, on/off. */
export const flag = (fallback: boolean) =>
  z
    .string()
    .transform((raw, ctx) => {
      const value = raw.trim().toLowerCase();
      if (["1", "true", "yes", "on"].includes(value)) return true;
      if (["0", "false", "no", "off"].includes(value)) return false;
      ctx.addIssue({ code: "custom", message: `"${raw}" is not 0 or 1` });
      return z.NEVER;
    })
    .default(fallback);

export const text = (fallback: string) => z.string().default(fallback);
export const optionalText = () => z.string().optional();

/** Marks a variable whose new value takes effect while the program runs (SIGHUP): its readers keep no copy of it. */
export const RELOADED = { reload: true } as const;

/** A secret: never shown, and it may come from a file that NAME_FILE names. */
export const secretText = () => optionalText().meta({ secret: "whole" });
/** A URL that may hold a password: shown without it, and it may come from a file that NAME_FILE names. */
export const secretUrl = () => optionalText().meta({ secret: "in_url" });

/** @param schemes of what URLs may have, such as /^https?:$/, and how people say them */
export const urlText = (schemes: RegExp, named: string) =>
  z.string().refine((raw) => schemes.test(URL.parse(raw)?.protocol ?? ""), `must be ${named} URL`);

/** Comma-separated words. */
export const list = () =>
  z
    .string()
    .transform((raw) =>
      raw
        .split(",")
        .map((s) => s.trim())
        .filter((s) => s !== ""),
    )
    .default([]);

/** HOST:PORT, [V6]:PORT, or :PORT for every interface. */
const ADDRESS = /^(?<host>\[[\da-f:.]+\]|[\w.-]*):(?<port>\d{1,5})$/i;

/** An address to listen at; unset: none. */
export const listenAddress = () =>
  optionalText().transform((raw, ctx) => {
    if (raw === undefined) return undefined;
    const { host = "", port = "0" } = ADDRESS.exec(raw)?.groups ?? {};
    if (Number(port) >= 1 && Number(port) <= 65_535)
      return {
        hostname: host === "" ? "0.0.0.0" : host.replace(/^\[|\]$/g, ""),
        port: Number(port),
      };
    ctx.addIssue({
      code: "custom",
      message: "must be a host and a port, as 127.0.0.1:9464, or :9464 for every interface",
    });
    return z.NEVER;
  });

export class ConfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ConfigError";
  }
}

/** What a variable names is unavailable now, although the value may be right: a later start may succeed. */
export class UnavailableError extends ConfigError {}

/**
 * Parses `env` with `schema`.
 * @throws ConfigError naming every bad variable, e.g. `LANE_POOL: "two" is not a number`.
 */
export function parseEnv<T extends z.ZodType>(schema: T, env: EnvSource): z.output<T> {
  const result = schema.safeParse(blankIsUnset(env), { error: faultOf });
  if (result.success) return result.data;
  // Reporting the first wrong word of a list is enough.
  const lines = new Map(result.error.issues.map(({ path: [name], message }) => [name, message]));
  throw new ConfigError([...lines].map(([name, fault]) => `${String(name)}: ${fault}`).join("\n"));
}
