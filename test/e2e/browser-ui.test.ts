import { expect, test } from "bun:test";
import { connectRfb } from "#test/support/clients/rfb-client.ts";
import { startViewerRig } from "#test/support/rigs/viewer-rig.ts";
import { startServer } from "#test/support/servers/site/server.ts";
import { CdpConnection } from "#worker/browser/cdp/connection.ts";
import { socketTransport } from "#worker/browser/cdp/transport.ts";
import { watchBrowser } from "#worker/browser/session/watch.ts";

/** Chromium's own windows: the drop-down of the address bar is a target of the browser, and no tab. */

test("the drop-down of the address bar is no tab, is left where it is, and works for a person", async () => {
  const [rig, site] = await Promise.all([startViewerRig(), startServer("127.0.0.1")]);
  site.body("/typed", { mime: "text/html", bytes: Buffer.from("<title>Typed</title>") });
  try {
    const session = await rig.open();
    const { connection } = session.browser;
    const sent_away: string[] = [];
    const watch = await watchBrowser({
      connection,
      alone: true,
      only: null,
      dialogs: { follow: () => {} },
      refusal: () => null,
      refusalOfAddress: () => null,
      onRefused: (url) => sent_away.push(url),
      onFlood: () => {},
    });
    const dropDowns = async () => {
      const { targetInfos } = await connection.root.send("Target.getTargets");
      return targetInfos.filter(({ url }) => url.includes("omnibox-popup"));
    };
    const before = await dropDowns();
    expect(before.length).toBeGreaterThan(0);

    // A client's windows come with drop-downs of their own, which Chromium calls pages in their last moment.
    const client = new CdpConnection(await socketTransport(session.browser.cdp_url));
    const { browserContextId } = await client.root.send("Target.createBrowserContext", {});
    const destroyed = Promise.withResolvers<void>();
    let gone = 0;
    connection.root.on("Target.targetDestroyed", () => {
      gone += 1;
      if (gone === 1 + before.length) destroyed.resolve();
    });
    await client.root.send("Target.createTarget", { url: "about:blank", browserContextId });
    for (const { targetId } of await dropDowns()) {
      const { sessionId } = await client.root.send("Target.attachToTarget", {
        targetId,
        flatten: true,
      });
      const loaded = "new Promise((done) => document.body ? done() : (onload = () => done()))";
      const drop_down = client.session(sessionId);
      await drop_down?.send("Runtime.evaluate", { expression: loaded, awaitPromise: true });
    }
    await client.root.send("Target.disposeBrowserContext", { browserContextId });
    await destroyed.promise;
    client.close();

    const viewer = await connectRfb(`${session.url.replace(/^http/, "ws")}/novnc/websockify`);
    const ADDRESS_BAR = [500, 52] as const;
    viewer.click(...ADDRESS_BAR);
    viewer.click(...ADDRESS_BAR);
    viewer.click(...ADDRESS_BAR);
    viewer.type(`${site.origin}/typed`);
    viewer.press("Enter");
    await site.sent("/typed");
    await viewer.close();

    const urls = (targets: { url: string }[]) => targets.map(({ url }) => url).sort();
    expect(urls(await dropDowns())).toEqual(urls(before));
    expect(sent_away).toEqual([]);
    expect(watch.tabs()).toHaveLength(1);
    const listed = await fetch(`${session.url}/cdp/json/list`);
    expect(await listed.json()).toHaveLength(1);
  } finally {
    await rig.close();
    await site.stop();
  }
}, 180_000);
