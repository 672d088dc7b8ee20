import type { Log } from "#shared/kit/log.ts";
import type {
  SentBrowser,
  SentBrowserOptions,
} from "#shared/protocol/link/sent-browser-options.ts";
import {
  type BrowserOptions,
  readBrowserOptions,
} from "#shared/protocol/schema/browser-options.ts";
import type { HttpLogin } from "#shared/protocol/schema/http-credentials.ts";
import { type Blocking, createBlocking } from "../block/blocking.ts";
import type { TypicalSizes } from "../block/typical-sizes.ts";

/** What the pages of a session see of its browser, and what they get from it. */
export interface ShownBrowser {
  /** Null: the browser as it is. */
  options: BrowserOptions | null;
  ignore_https_errors: boolean;
  /** PEM of those that it trusts besides Chromium's own and its worker's. */
  certificate_authorities: string | null;
  /** For servers that ask for one; null: there is none. */
  http_login: HttpLogin | null;
  /** What is not requested; null: everything is. */
  blocking: Blocking | null;
}

export const AS_IT_IS: ShownBrowser = {
  options: null,
  ignore_https_errors: false,
  certificate_authorities: null,
  http_login: null,
  blocking: null,
};

/** What this worker can show of what a hub of a later version may say. */
function knownOptions(
  log: Log,
  given: SentBrowserOptions | null | undefined,
): BrowserOptions | null {
  if (!given) return null;
  const { options, left_out } = readBrowserOptions(given);
  if (left_out.length > 0)
    log.warn({ left_out }, "these options of a browser are of a later version: update this worker");
  return options;
}

export function shownBrowser(
  { log, sizes }: { log: Log; sizes: Pick<TypicalSizes, "of"> },
  { browser_options, ad_hosts, http_login }: SentBrowser,
): ShownBrowser {
  const options = knownOptions(log, browser_options);
  const block = options?.block;
  return {
    options,
    ignore_https_errors: options?.ignore_https_errors === true,
    certificate_authorities: options?.certificate_authorities ?? null,
    http_login: http_login ?? null,
    blocking: block ? createBlocking(block, ad_hosts ?? [], sizes) : null,
  };
}
