import { join } from "node:path";
import { z } from "zod";
import { API_TOOLS } from "../rigs/api-tools.ts";

/** What public detectors of automation see of a browser. */
const Seen = z.object({
  /** The signs of automation that BotD and FPScanner find, such as `botd detectWebDriver`, in order. */
  signs: z.array(z.string()).transform((signs) => signs.sort()),
  /** What FingerprintJS tells browsers apart by, as JSON. */
  features: z.record(z.string(), z.string()),
});
export type Seen = z.output<typeof Seen>;

export interface DetectorSite {
  readonly url: string;
  /** What its page finds in the browser that `visit` makes open it. One visit at a time. */
  seenBy(visit: () => Promise<unknown>): Promise<Seen>;
  stop(): Promise<void>;
}

const TOOLS = join(API_TOOLS, "node_modules");
const SCRIPTS: Record<string, string> = {
  "/botd.js": "@fingerprintjs/botd/dist/botd.esm.js",
  "/fingerprint.js": "@fingerprintjs/fingerprintjs/dist/fp.esm.js",
  "/fpscanner.js": "fpscanner/dist/fpScanner.es.js",
};
const PAGE = `<!doctype html><title>looks</title><script type="module">
import { load } from "/botd.js";
import { load as loadFingerprint } from "/fingerprint.js";
import Scanner from "/fpscanner.js";
// A job ends when the network is silent, however long detectors look: this keeps it from silence.
fetch("/until-found").catch(() => {});
const botd = await load({ monitoring: false });
botd.detect();
const signs = Object.entries(botd.getDetections()).filter(([, { bot }]) => bot).map(([name]) => "botd " + name);
const { fastBotDetectionDetails } = await new Scanner().collectFingerprint({ encrypt: false });
for (const [name, { detected }] of Object.entries(fastBotDetectionDetails))
  if (detected) signs.push("fpscanner " + name);
const { components } = await (await loadFingerprint({ monitoring: false })).get();
const features = {};
for (const [name, { value, error }] of Object.entries(components))
  features[name] = JSON.stringify(value) ?? String(error);
await fetch("/found", { method: "POST", body: JSON.stringify({ signs, features }) });
document.title = "looked";
</script>`;

/** A page that has three detectors look at the browser that opens it. The packages are those of `installApiTools`. */
export function startDetectorSite(): DetectorSite {
  let found = Promise.withResolvers<Seen>();
  const site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    routes: {
      "/found": async (request) => {
        found.resolve(Seen.parse(await request.json()));
        return new Response();
      },
      "/until-found": async () => {
        await found.promise;
        return new Response();
      },
    },
    fetch: (request) => {
      const script = SCRIPTS[new URL(request.url).pathname];
      return script
        ? new Response(Bun.file(join(TOOLS, script)), {
            headers: { "content-type": "text/javascript" },
          })
        : new Response(PAGE, { headers: { "content-type": "text/html" } });
    },
  });
  return {
    url: site.url.href,
    seenBy: async (visit) => {
      found = Promise.withResolvers();
      const [seen] = await Promise.all([found.promise, visit()]);
      return seen;
    },
    stop: () => site.stop(true),
  };
}
