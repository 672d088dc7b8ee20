import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { connectRfb } from "#test/support/clients/rfb-client.ts";
import { CHROMIUM_FLAGS, chromiumPath } from "#test/support/rigs/chromium.ts";
import { startViewerRig } from "#test/support/rigs/viewer-rig.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { startServer } from "#test/support/servers/site/server.ts";
import { CdpConnection } from "#worker/browser/cdp/connection.ts";
import { socketTransport } from "#worker/browser/cdp/transport.ts";
import { watchBrowser } from "#worker/browser/session/watch.ts";

/** Chromium's own windows: the drop-downs of the address bar are targets of the browser, and no tabs. */

const SLOW_MS = 180_000;

const dropDownsOf = async ({ root }: CdpConnection) => {
  const { targetInfos } = await root.send("Target.getTargets");
  return targetInfos.filter(({ url }) => url.includes("omnibox-popup"));
};

async function watched(connection: CdpConnection) {
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
  return { watch, sent_away };
}

test(
  "a person types an address into a lane's window, which loads no page of its own for that",
  async () => {
    const [rig, site] = await Promise.all([startViewerRig(), startServer("127.0.0.1")]);
    site.body("/typed", { mime: "text/html", bytes: Buffer.from("<title>Typed</title>") });
    try {
      const session = await rig.open();
      const { connection } = session.browser;
      const { watch, sent_away } = await watched(connection);
      const viewer = await connectRfb(`${session.url.replace(/^http/, "ws")}/novnc/websockify`);
      const ADDRESS_BAR = [500, 52] as const;
      viewer.click(...ADDRESS_BAR);
      viewer.click(...ADDRESS_BAR);
      viewer.click(...ADDRESS_BAR);
      viewer.type(`${site.origin}/typed`);
      viewer.press("Enter");
      await site.sent("/typed");
      await viewer.close();
      expect(await dropDownsOf(connection)).toEqual([]);
      expect(sent_away).toEqual([]);
      expect(watch.tabs()).toHaveLength(1);
      const listed = await fetch(`${session.url}/cdp/json/list`);
      expect(await listed.json()).toHaveLength(1);
    } finally {
      await rig.close();
      await site.stop();
    }
  },
  SLOW_MS,
);

test(
  "drop-downs that are pages, in a browser that somebody else runs, are no tabs and are left where they are",
  async () => {
    const [port, dir] = [freePort(), mkdtempSync(join(tmpdir(), "flotilla-browser-ui-"))];
    const other = await chromium.launchPersistentContext(dir, {
      executablePath: chromiumPath(),
      args: [...CHROMIUM_FLAGS, `--remote-debugging-port=${port}`],
    });
    try {
      const version = await fetch(`http://127.0.0.1:${port}/json/version`);
      const { webSocketDebuggerUrl: url } = (await version.json()) as Record<string, string>;
      const connection = new CdpConnection(await socketTransport(url ?? ""));
      const { watch, sent_away } = await watched(connection);
      const before = await dropDownsOf(connection);
      expect(before.length).toBeGreaterThan(0);

      // A client's windows come with drop-downs of their own, which Chromium calls pages in their last moment.
      const client = new CdpConnection(await socketTransport(url ?? ""));
      const { browserContextId } = await client.root.send("Target.createBrowserContext", {});
      const destroyed = Promise.withResolvers<void>();
      let gone = 0;
      connection.root.on("Target.targetDestroyed", () => {
        gone += 1;
        if (gone === 1 + before.length) destroyed.resolve();
      });
      await client.root.send("Target.createTarget", { url: "about:blank", browserContextId });
      for (const { targetId } of await dropDownsOf(connection)) {
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

      const urls = (targets: { url: string }[]) => targets.map((target) => target.url).sort();
      expect(urls(await dropDownsOf(connection))).toEqual(urls(before));
      expect(sent_away).toEqual([]);
      expect(watch.tabs()).toHaveLength(1);
      connection.close();
    } finally {
      await other.close();
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    }
  },
  SLOW_MS,
);
