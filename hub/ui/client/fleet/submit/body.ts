import { readLabels } from "../../forms/labels.ts";
import { addressOf } from "../../lib/address.ts";
import type { Options } from "../options/fields.ts";
import { optionsBody } from "../options/values.ts";
import { proxyOf, shownProxy } from "../options/way-out.ts";

/** What a person filled in. */
export interface Draft {
  url: string;
  preset: string | null;
  given: Options;
  /** `key:value` each. */
  labels: string[];
}

function labelsBody(written: readonly string[]): { labels?: Record<string, string> } {
  return written.length === 0 ? {} : { labels: readLabels(written).value };
}

/** Body of POST /jobs: only what was set, so that presets and defaults apply to the rest. */
export const bodyOf = ({ url, preset, given, labels }: Draft) => ({
  url: addressOf(url),
  ...(preset !== null && { preset }),
  ...(Object.keys(given).length > 0 && { options: optionsBody(given) }),
  ...labelsBody(labels),
});

/** With no login in it, for all to read. */
function withoutLogin(given: Options): Options {
  const proxy = proxyOf(given.proxy);
  return proxy ? { ...given, proxy: shownProxy(proxy) } : given;
}

/** Text as one word of a POSIX shell. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** The same submission for a shell, without the login of a proxy. */
export const curlOf = (draft: Draft, origin: string): string =>
  [
    `curl -sS ${origin}/jobs`,
    `-H 'content-type: application/json'`,
    `-d ${quoted(JSON.stringify(bodyOf({ ...draft, given: withoutLogin(draft.given) }), null, 2))}`,
  ].join(" \\\n  ");

const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** An Idempotency-Key; `crypto.randomUUID` is missing on pages that came over plain HTTP. */
export const newKey = (): string => hex(crypto.getRandomValues(new Uint8Array(16)));
