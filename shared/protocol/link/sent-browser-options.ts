import { z } from "zod";
import { HttpLogin } from "../schema/http-credentials.ts";

/**
 * What pages see of a browser: `BrowserOptions` of a hub of any version, sent only to workers that report each of them in
 * `browser_options`. A value that a worker does not know it leaves out (`readBrowserOptions`).
 */
const SentBrowserOptions = z.record(z.string().max(64), z.unknown());
export type SentBrowserOptions = z.infer<typeof SentBrowserOptions>;

/** The browser of a job or session, with what the hub knows about its options. */
export const sentBrowser = {
  browser_options: SentBrowserOptions.nullish(),
  /** Hosts that `block.ads` means; sent where it is true. */
  ad_hosts: z.array(z.string().max(253)).max(20_000).nullish(),
  /** The login of `http_credentials`. */
  http_login: HttpLogin.nullish(),
};
const SentBrowser = z.object(sentBrowser);
export type SentBrowser = z.infer<typeof SentBrowser>;
