import { buildConformance } from "./conformance.ts";
import { makeMedia } from "./media.ts";
import { type ExpectedBody, startServer } from "./server.ts";

export interface Site {
  url: string;
  origins: { main: string; cross: string; third: string };
  expected: ExpectedBody[];
  /** How many connections were made to any of them so far. */
  connections(): number;
  stop(): Promise<void>;
}

/** The conformance page on three sites. */
export async function startSite(): Promise<Site> {
  const media = await makeMedia();
  const main = await startServer("main.localhost");
  const cross = await startServer("cross.localhost");
  const third = await startServer("127.0.0.1");
  buildConformance({ main, cross, third }, media);
  return {
    url: `${main.origin}/`,
    origins: { main: main.origin, cross: cross.origin, third: third.origin },
    expected: [...main.expected, ...cross.expected, ...third.expected],
    connections: () => main.connections() + cross.connections() + third.connections(),
    stop: async () => {
      await Promise.all([main.stop(), cross.stop(), third.stop()]);
    },
  };
}
