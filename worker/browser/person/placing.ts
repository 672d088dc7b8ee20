import type { CdpSession } from "../cdp/connection.ts";
import { isDocument } from "./own-scripts.ts";
import { tellRefusal } from "./refusals.ts";
import type { Shown } from "./screen.ts";

/** What a page and its process have once, whoever sets it. */
export interface Placing {
  place(session: CdpSession): void;
  /** One of its sessions has ended, and may have taken it away from the others. */
  again(sessions: Iterable<CdpSession>): void;
}

/**
 * Chromium has language, time zone, colours and whether scripts run once for each page or process: they belong to the
 * session that comes first, go with it, and for every other one that asks for the same they are there already. A page
 * may end a thousand workers a second, so a session that has not answered is asked once more when it has.
 */
export function createPlacing({ options, onRefused }: Shown): Placing {
  const { locale, timezone, color_scheme, javascript } = options;
  const is_shared = [locale, timezone, color_scheme].some((one) => one !== undefined);
  if (!is_shared && javascript !== false) return { place: () => {}, again: () => {} };
  /** Sessions that have not answered, and whether they are to be asked again. */
  const asked = new Map<CdpSession, boolean>();

  const told = (answer: Promise<unknown>) => tellRefusal(answer, onRefused);
  const send = (session: CdpSession): Promise<unknown>[] => {
    const sent: Promise<unknown>[] = [];
    if (locale !== undefined) sent.push(session.send("Emulation.setLocaleOverride", { locale }));
    if (timezone !== undefined)
      sent.push(session.send("Emulation.setTimezoneOverride", { timezoneId: timezone }));
    if (!isDocument(session)) return sent;
    if (color_scheme !== undefined) {
      const features = [{ name: "prefers-color-scheme", value: color_scheme }];
      sent.push(session.send("Emulation.setEmulatedMedia", { features }));
    }
    if (javascript !== false) return sent;
    // Chromium does nothing about a value that the session has already.
    for (const value of [false, true])
      sent.push(session.send("Emulation.setScriptExecutionDisabled", { value }));
    return sent;
  };
  const place = (session: CdpSession) => {
    asked.set(session, false);
    void Promise.all(send(session).map(told)).then(() => {
      const again = asked.get(session);
      asked.delete(session);
      if (again && !session.is_closed) place(session);
    });
  };
  return {
    place,
    again: (sessions) => {
      for (const session of sessions)
        if (asked.has(session)) asked.set(session, true);
        else place(session);
    },
  };
}
