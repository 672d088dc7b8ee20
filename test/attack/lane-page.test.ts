import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { attempting } from "#test/support/rigs/attempts.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import {
  type HttpSession,
  type SessionFleet,
  startSessionFleet,
} from "#test/support/rigs/session-fleet.ts";
import { type SiteServer, startServer } from "#test/support/servers/site/server.ts";
import {
  ASKS,
  DOWNLOAD_NAMES,
  ENDLESS,
  type NUISANCES,
  OPENERS,
  PAGE_ASKS,
  PAGE_SCHEMES,
  SCHEMES,
} from "./lists/lane-page.ts";

/** A page in a lane of a real fleet: it opens no file and no page of Chromium's, starts no program, and does not end its session. */

setDefaultTimeout(240_000);

let fleet: SessionFleet;
let site: SiteServer;
let session: HttpSession;
/** Holds an `xdg-open` that writes down what it was started with. */
let programs: string;
let fleet_dir = "";
const asks = attempting(PAGE_ASKS);

beforeAll(async () => {
  programs = mkdtempSync(join(tmpdir(), "flotilla-programs-"));
  chmodSync(programs, 0o777);
  for (const name of ["xdg-open", "gio", "xdg-settings"]) {
    writeFileSync(join(programs, name), `#!/bin/sh\necho "$0 $*" >> ${programs}/started\n`);
    chmodSync(join(programs, name), 0o755);
  }
  site = await startServer("127.0.0.1");
  site.on("/", (_req, res) => {
    res.writeHead(200, { "content-type": "text/html" });
    res.end("<!doctype html><title>Page</title><body>page");
  });
  site.on("/redirect", (_req, res, url) => {
    res.writeHead(302, { location: url.searchParams.get("to") ?? "/" });
    res.end();
  });
  site.on("/download", (_req, res, url) => {
    const name = url.searchParams.get("name") ?? "";
    res.writeHead(200, {
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(name)}`,
    });
    res.end("evil");
  });
  fleet = await startSessionFleet({
    env: { PATH: `${programs}:${process.env.PATH}` },
    inDirectory: (dir) => {
      fleet_dir = dir;
      return {};
    },
  });
  session = await fleet.open({ url: `${site.origin}/`, dialog_policy: "dismiss" });
}, 180_000);
afterAll(async () => {
  await fleet?.stop();
  await site?.stop();
  rmSync(programs, { recursive: true, force: true });
}, 180_000);

const programsStarted = (): string[] => {
  const file = join(programs, "started");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
};
const evaluate = async (code: string, timeout_s = 60) => {
  const { status, body } = await session.act("evaluate", { code, timeout_s });
  return status === 200 ? body.result : body;
};
/** A navigation that the page itself has under way may come between. */
const home = () =>
  until("the site's page", 60_000, async () => {
    const { status } = await session.act("navigate", { url: `${site.origin}/` });
    return status === 200;
  });
const pagesOpen = async (): Promise<string[]> =>
  (await session.act("tabs")).body.result.map(({ url }: { url: string }) => url);

test.each(Object.keys(OPENERS))(
  "no file, no page of Chromium's and no program is opened by %s",
  async (opener) => {
    const tried = attempting(PAGE_SCHEMES);
    await home();
    await evaluate(`(async () => {
    const open_it = ${OPENERS[opener]};
    for (const url of ${JSON.stringify(SCHEMES)}) {
      try { await open_it(url); } catch {}
      await new Promise((done) => setTimeout(done, 20));
    }
  })()`);
    const open = await pagesOpen();
    expect(
      open.filter((url) =>
        /^(file|chrome|chrome-untrusted|chrome-extension|devtools|view-source|filesystem):/i.test(
          url,
        ),
      ),
    ).toEqual([]);
    const frames = await evaluate(`[...document.querySelectorAll("iframe")].map((frame) => {
    try { return frame.contentDocument?.body?.innerText ?? ""; } catch { return ""; }
  }).join("")`);
    expect(String(frames)).not.toContain("root:");
    expect(programsStarted()).toEqual([]);
    for (const url of SCHEMES) tried.refused(`${opener}: ${url}`);
    // Windows of the next one begin from nothing.
    for (let i = open.length - 1; i > 0; i -= 1)
      await session.act("tab", { op: "close", index: i });
  },
);

test("nothing that a page asks a person for is given to it", async () => {
  await home();
  const asked = Object.entries(ASKS).map(([name, ask]) => `${JSON.stringify(name)}: () => ${ask}`);
  const found = await evaluate(`(async () => {
    const found = {};
    const asks = { ${asked.join(",\n")} };
    await Promise.all(Object.entries(asks).map(async ([name, ask]) => {
      const late = new Promise((done) => setTimeout(() => done("late"), 5_000));
      found[name] = await Promise.race([Promise.resolve().then(ask), late]).then((got) => String(got), (err) => "refused " + (err.name ?? err.code));
    }));
    return found;
  })()`);
  const given = Object.keys(ASKS).filter(
    // An empty list of devices or fonts is nothing.
    (name) => !/^(refused |denied|default|late|$)/.test(String(found[name])),
  );
  expect(given.map((name) => `${name}: ${found[name]}`)).toEqual([]);
  for (const name of Object.keys(ASKS)) asks.refused(name);
});

test("downloads lie in the session's directory, whatever a site calls them", async () => {
  await home();
  await evaluate(`(async () => {
    for (const name of ${JSON.stringify(DOWNLOAD_NAMES)}) {
      const a = document.createElement("a");
      a.href = "/download?name=" + encodeURIComponent(name);
      a.download = name;
      document.body.append(a);
      a.click();
      await new Promise((done) => setTimeout(done, 300));
    }
  })()`);
  const list = async () =>
    (await (await fetch(`${session.url}/files`)).json()) as { files: { name: string }[] };
  await until(
    "the downloads",
    60_000,
    async () => (await list()).files.length >= DOWNLOAD_NAMES.length,
  );
  const { files } = await list();
  for (const { name } of files) {
    expect(name).not.toMatch(/[/\\\0]|^\.\.?$/);
    const read = await fetch(`${session.url}/files/${encodeURIComponent(name)}`);
    expect([200, 404]).toContain(read.status);
    expect(read.headers.get("content-disposition") ?? "attachment").toStartWith("attachment");
    await read.body?.cancel();
  }
  const found = readdirSync(fleet_dir, { recursive: true, withFileTypes: true }).filter(
    ({ name }) => /evil-\d/.test(name),
  );
  expect(found.filter(({ parentPath }) => !/\/runs\/[^/]+\/downloads/.test(parentPath))).toEqual(
    [],
  );
  expect(
    ["/tmp", "/root", "/", process.cwd()].filter((dir) => existsSync(join(dir, "evil-3.txt"))),
  ).toEqual([]);
  for (const name of DOWNLOAD_NAMES) asks.refused(`download: ${name}`);
});

const NUISANCE: Record<Exclude<(typeof NUISANCES)[number], typeof ENDLESS>, string> = {
  "a page that will not be left": `addEventListener("beforeunload", (e) => { e.preventDefault(); e.returnValue = "stay"; })`,
  "a print dialog": "setTimeout(() => print())",
  "full screen, and a lock of pointer and keys": `document.documentElement.requestFullscreen().catch(() => {}); document.body.requestPointerLock(); navigator.keyboard?.lock?.().catch(() => {})`,
  "a protocol handler of its own": `try { navigator.registerProtocolHandler("web+attack", "/x?%s") } catch {}`,
};
test.each(Object.keys(NUISANCE) as (keyof typeof NUISANCE)[])(
  "a session goes on after %s",
  async (name) => {
    await home();
    await session.act("click", { selector: "body" });
    await session.act("evaluate", { code: `${NUISANCE[name]}; 1`, timeout_s: 30 });
    await session.act("navigate", { url: `${site.origin}/?after` });
    const { status, body } = await session.act("text", { selector: "body", timeout_s: 60 });
    expect({ status, text: body?.result }).toEqual({ status: 200, text: "page" });
    asks.refused(name);
  },
);

test("the lane is warm again after a page that never stops to ask, and every attempt was made", async () => {
  await home();
  await evaluate("setTimeout(() => { for (;;) { alert(1); confirm(2); prompt(3); } })");
  await session.end();
  asks.refused(ENDLESS);
  expect(attempting(PAGE_SCHEMES).left()).toEqual([]);
  expect(asks.left()).toEqual([]);
});
