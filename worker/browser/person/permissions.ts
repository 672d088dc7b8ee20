import type { BrowserOptions } from "#shared/protocol/schema/browser-options.ts";
import type { CdpSession, Protocol } from "../cdp/connection.ts";
import { tellRefusal } from "./refusals.ts";
import type { Shown } from "./screen.ts";

/** As Chromium calls them, where that is not Playwright's name. */
const DESCRIPTORS: Record<string, Protocol.Browser.PermissionDescriptor> = {
  "midi-sysex": { name: "midi", sysex: true },
};

/** A place is for pages that may ask for it. */
const namesOf = ({ permissions = [], geolocation }: BrowserOptions): Set<string> =>
  new Set(geolocation ? [...permissions, "geolocation"] : permissions);

/** Grants them to every page of the browser, and leaves all others as they are. `root`: the browser itself. */
export function grant(root: CdpSession, { options, onRefused }: Shown): void {
  for (const name of namesOf(options))
    void tellRefusal(
      root.send("Browser.setPermission", {
        permission: DESCRIPTORS[name] ?? { name },
        setting: "granted",
      }),
      onRefused,
    );
}
