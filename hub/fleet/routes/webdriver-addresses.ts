/** Where Selenium Grid and the clients of its first versions have WebDriver. */
const GRID = /^\/wd\/hub(\/(?:session(?:\/.*)?|status))\/?$/s;

/**
 * The path by which a call is routed: `/wd/hub/session/…` is `/session/…` (rules/webdriver#addresses), so that access, the
 * owner among several hubs and what is logged of a call are decided by one path.
 */
export const webDriverPath = (path: string): string => GRID.exec(path)?.[1] ?? path;
