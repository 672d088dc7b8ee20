import { cdpRoutes } from "./cdp.ts";
import { cdpConnectionRoutes } from "./cdp-connection.ts";
import { webDriverRoutes } from "./webdriver.ts";

/** What programs steer a session's browser by that know nothing of Flotilla. */
export const browserClientRoutes = (ctx: Parameters<typeof cdpRoutes>[0]) => [
  cdpRoutes(ctx),
  cdpConnectionRoutes(ctx),
  webDriverRoutes(ctx),
];
