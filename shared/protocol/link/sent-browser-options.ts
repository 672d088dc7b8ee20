import { z } from "zod";

/**
 * What pages see of a browser: `BrowserOptions` of a hub of any version, sent only to workers that report each of them in
 * `browser_options`. A value that a worker does not know it leaves out (`readBrowserOptions`).
 */
export const SentBrowserOptions = z.record(z.string().max(64), z.unknown());
export type SentBrowserOptions = z.infer<typeof SentBrowserOptions>;
