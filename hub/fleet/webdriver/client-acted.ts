import type { HubSession } from "../sessions/hub-session.ts";

/**
 * Lists the session's WebDriver client among its watchers, as one that drives now (rules/viewer#who-is-watching). Its
 * calls are all that a hub sees of it, so one that has taken the session over lists it from its next command on; it is
 * there until the session ends.
 */
export function clientActed(session: HubSession, name: string | null): void {
  session.webdriver ??= session.watchers.join({ kind: "webdriver", name, mode: "control" });
  session.webdriver.acted();
}
