import type { CdpSession } from "../cdp/connection.ts";

/**
 * Makes getters of `owner` answer with these values. Each is replaced by a proxy of itself, which refuses what the
 * browser's own refuses. One that answers so already is left as it is, unless the browser may `forget` its answer.
 */
const SAY = `(owner, self, values, forgets) => {
  const { apply, defineProperty, getOwnPropertyDescriptor } = Reflect;
  for (const name of owner ? Object.keys(values) : []) {
    const had = getOwnPropertyDescriptor(owner, name);
    if (!had?.configurable || typeof had.get !== "function") continue;
    if (!forgets.includes(name) && apply(had.get, self, []) === values[name]) continue;
    const get = new Proxy(had.get, {
      apply: (real, self, given) => {
        apply(real, self, given);
        return values[name];
      },
    });
    defineProperty(owner, name, { ...had, get });
  }
}`;

const say = (owner: string, self: string, values: object, forgets: string[] = []): string =>
  `(${SAY})(${owner}, ${self}, ${JSON.stringify(values)}, ${JSON.stringify(forgets)});`;

/**
 * After it `navigator` says what a browser of this name does. Chromium forgets `platform` when a page with a second
 * session changes its process, now and then after the document's first scripts, and shows shared and service workers its
 * own `userAgent` (measured with Chromium 156).
 */
export const navigatorScript = (user_agent: string, platform: string): string =>
  say(
    "(globalThis.Navigator ?? globalThis.WorkerNavigator)?.prototype",
    "navigator",
    { userAgent: user_agent, appVersion: user_agent.replace(/^Mozilla\//, ""), platform },
    ["platform"],
  );

export const pixelsScript = (scale: number): string =>
  say("globalThis", "globalThis", { devicePixelRatio: scale });

/** Runs it in every document or worker of the target, before scripts of its own. */
export function runFirst(session: CdpSession, source: string): void {
  if (isDocument(session))
    session.post("Page.addScriptToEvaluateOnNewDocument", { source, runImmediately: true });
  else session.post("Runtime.evaluate", { expression: source });
}

export const isDocument = ({ target }: CdpSession): boolean =>
  target?.type === "page" || target?.type === "iframe";
