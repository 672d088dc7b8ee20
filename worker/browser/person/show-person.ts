import type { Log } from "#shared/kit/log.ts";
import type { BrowserOptions } from "#shared/protocol/schema/browser-options.ts";
import { isBrowserUi } from "../cdp/browser-ui.ts";
import type { CdpConnection, CdpSession } from "../cdp/connection.ts";
import { changeLateHeaders } from "../cdp/late-headers.ts";
import type { LaneBrowser } from "../lanes/lane-browser.ts";
import { describeUserAgent } from "./client-hints.ts";
import { isDocument, navigatorScript, runFirst } from "./own-scripts.ts";
import { grant } from "./permissions.ts";
import { createPlacing } from "./placing.ts";
import { createRefusals, tellRefusal } from "./refusals.ts";
import { type Shown, showScreen, unfold } from "./screen.ts";
import { languagesOf, sentAs } from "./sent-headers.ts";

/** An empty text leaves the browser's own, and its client hints. */
function nameBrowser(
  session: CdpSession,
  { options: { user_agent = "", locale }, onRefused }: Shown,
  product: string,
): void {
  if (user_agent === "" && locale === undefined) return;
  const described = user_agent === "" ? null : describeUserAgent(user_agent, product);
  const named = session.send("Emulation.setUserAgentOverride", {
    userAgent: user_agent,
    ...(locale !== undefined && { acceptLanguage: languagesOf(locale) }),
    ...(described && { platform: described.platform }),
    ...(described?.metadata && { userAgentMetadata: described.metadata }),
  });
  void tellRefusal(named, onRefused);
  if (described) runFirst(session, navigatorScript(user_agent, described.platform));
}

/**
 * @param is_new_window it was opened by another, and its first document may take over the global of the blank one; any
 * other document that is there already may have run the scripts for a session before this one
 */
function show(session: CdpSession, person: Shown, product: string, is_new_window: boolean): void {
  const { options, onRefused } = person;
  const { geolocation, extra_headers, init_scripts = [] } = options;
  nameBrowser(session, person, product);
  const tell = (answer: Promise<unknown>) => void tellRefusal(answer, onRefused);
  if (extra_headers) tell(session.send("Network.setExtraHTTPHeaders", { headers: extra_headers }));
  if (!isDocument(session)) return;
  for (const source of init_scripts)
    tell(
      session.send("Page.addScriptToEvaluateOnNewDocument", {
        source,
        runImmediately: is_new_window,
      }),
    );
  if (geolocation) tell(session.send("Emulation.setGeolocationOverride", geolocation));
  showScreen(session, person);
}

const shown = new WeakSet<CdpConnection>();

/**
 * Shows these options to everything that the browser opens from now on (rules/browser-options#where-they-hold). The
 * commands are the first of each session, so that a target that waits has them before it runs. They end with the
 * browser, which is a new one for whoever uses the lane next.
 */
export function showPerson(
  { connection, product }: Pick<LaneBrowser, "connection" | "product">,
  asked: BrowserOptions,
  log: Log,
): void {
  if (shown.has(connection)) return;
  shown.add(connection);
  const person = unfold(asked, product, createRefusals(log));
  const { options } = person;
  grant(connection.root, person);
  changeLateHeaders(connection.root, (sent) => sentAs(sent, options, product));
  /** One session of each target. */
  const owners = new Map<string, CdpSession>();
  /** Windows with an opener that have been attached to before. */
  const begun = new Set<string>();
  const placing = createPlacing(person);
  const own = (session: CdpSession, target_id: string, is_new_window: boolean) => {
    owners.set(target_id, session);
    show(session, person, product, is_new_window);
    placing.place(session);
    void session.closed.then(() => leave(session, target_id));
  };
  const leave = (session: CdpSession, target_id: string) => {
    if (owners.get(target_id) === session) {
      owners.delete(target_id);
      const heir = [...connection.sessions.values()].find(
        (one) => one.target?.targetId === target_id && !one.is_closed,
      );
      if (heir) own(heir, target_id, false);
    }
    placing.again(owners.values());
  };
  connection.onSession.add((session) => {
    const { target } = session;
    if (target === null || isBrowserUi(target)) return;
    const { targetId: target_id, openerId } = target;
    // One that was detached and attached in the same breath is not told of yet.
    if (owners.get(target_id)?.is_closed === false) return;
    const is_new_window = openerId !== undefined && !begun.has(target_id);
    if (openerId !== undefined) begun.add(target_id);
    own(session, target_id, is_new_window);
  });
}
