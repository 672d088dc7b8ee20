import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { openLibvncViewer } from "#test/support/clients/libvnc-viewer.ts";
import { startTypePage, type TypePage } from "#test/support/clients/type-page.ts";
import { type SessionFleet, startSessionFleet } from "#test/support/rigs/session-fleet.ts";

/** A viewer that is none of ours and no noVNC: libvncclient, at the stream of a session (rules/viewer#viewer-stream). */

setDefaultTimeout(180_000);

let fleet: SessionFleet;
let site: TypePage;
beforeAll(async () => {
  site = startTypePage();
  fleet = await startSessionFleet({ headless: false });
});
afterAll(async () => {
  await fleet?.stop();
  await site?.stop();
});

test.each([
  ["with a display", false, 88],
  ["without a display", true, 0],
])(
  "libvncclient shows a lane %s, and its clicks and keys reach the page",
  async (_, headless, top) => {
    const session = await fleet.open({ url: site.url, headless });
    await site.events.next((event) => event === "loaded");
    const viewer = await openLibvncViewer(`${session.url.replace("http", "ws")}/novnc/websockify`);
    try {
      await viewer.next("size 1920 1080");
      // The page's own yellow, beside everything that is on it.
      viewer.watch(900, top + 500);
      await viewer.next("pixel 255 247 214");
      viewer.click(100, top + 150);
      viewer.type("libvnc");
      expect(await site.events.next((event) => event === "value libvnc")).toBe("value libvnc");
      viewer.click(150, top + 300);
      expect(await site.events.next((event) => event === "pressed")).toBe("pressed");
    } finally {
      await viewer.close();
      await session.end();
    }
  },
);
