import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { type CdpAnswer, dialCdp, type RawCdp } from "#test/support/clients/cdp-client.ts";
import { attempting } from "#test/support/rigs/attempts.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type RigSession, startViewerRig, type ViewerRig } from "#test/support/rigs/viewer-rig.ts";
import {
  CDP,
  CDP_COMMANDS,
  CDP_DOMAINS,
  type CDP_STORIES,
  HARMLESS_PLACES,
  NAMES_A_PLACE,
} from "./lists/cdp.ts";

/** A client that speaks CDP to a lane's browser, through hub and worker, and wants more than the lane. */

setDefaultTimeout(180_000);

let rig: ViewerRig;
let session: RigSession;
let client: RawCdp;
/** Nobody's, but the lanes may not open it. */
let denied: ReturnType<typeof Bun.serve>;
let reached = 0;
const ELSEWHERE = "/tmp/attack-downloads";
const tried = attempting(CDP);
const refused = (story: (typeof CDP_STORIES)[number]) => tried.refused(story);

beforeAll(async () => {
  denied = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => {
      reached += 1;
      return new Response("reached");
    },
  });
  rig = await startViewerRig({
    SVC_HEADLESS_LANES: "1",
    SVC_EGRESS_DENY: `127.0.0.0/8:${denied.port}`,
  });
  session = await rig.open({ headless: true });
  client = await dialCdp(`${session.url.replace(/^http/, "ws")}/cdp`);
}, 180_000);
afterAll(async () => {
  client?.close();
  await rig?.close();
  await denied?.stop(true);
}, 180_000);

const expectRefused = (answer: CdpAnswer | null) => {
  expect(answer?.result).toBeUndefined();
  expect(String(answer?.error?.message)).toMatch(/refused|Cannot navigate to invalid URL/);
};

/** Whether somebody answers there; the hub may tell its refusal by a socket that it closes. */
async function answersAt(path: string): Promise<boolean> {
  const other = await dialCdp(`${session.url.replace(/^http/, "ws")}/cdp${path}`).catch(() => null);
  const answer = await other?.send("Target.getTargets");
  other?.close();
  return answer?.result !== undefined;
}

/** A page of the client's own; its session. */
async function openPage(more: object = {}): Promise<string> {
  const { result } = await client.send("Target.createTarget", { url: "about:blank", ...more });
  const attached = await client.send("Target.attachToTarget", {
    targetId: result.targetId,
    flatten: true,
  });
  return attached?.result.sessionId;
}

interface ProtocolCommand {
  name: string;
  parameters?: { name: string }[];
}
const protocolOf = async (): Promise<{ domain: string; commands?: ProtocolCommand[] }[]> => {
  const answer = await fetch(`http://127.0.0.1:${session.browser.cdp_port}/json/protocol`);
  return ((await answer.json()) as { domains: [] }).domains;
};

test("every domain of this Chromium, and every command that names a place, has been looked at", async () => {
  const domains = await protocolOf();
  expect(domains.length).toBeGreaterThan(40);
  expect(domains.map(({ domain }) => domain).filter((name) => !(name in CDP_DOMAINS))).toEqual([]);
  const of_places = domains.flatMap(({ domain, commands = [] }) =>
    commands
      .filter(({ parameters = [] }) => parameters.some(({ name }) => NAMES_A_PLACE.test(name)))
      .map(({ name }) => `${domain}.${name}`),
  );
  expect(of_places.length).toBeGreaterThan(20);
  const judged = new Set(Object.values(CDP_COMMANDS).map(({ method }) => method));
  const told_elsewhere = ["Browser.setDownloadBehavior", "Page.setDownloadBehavior"];
  const unseen = of_places.filter(
    (command) =>
      CDP_DOMAINS[command.replace(/\..*/, "")] !== "nothing" &&
      ![...judged, ...told_elsewhere, "Fetch.continueRequest"].includes(command) &&
      !(command in HARMLESS_PLACES),
  );
  expect(unseen).toEqual([]);
});

test("of a domain that reaches beyond the lane no command is let through", async () => {
  const domains = await protocolOf();
  const names = Object.keys(CDP_DOMAINS).filter((domain) => CDP_DOMAINS[domain] === "nothing");
  const commands = domains
    .filter(({ domain }) => names.includes(domain))
    .flatMap(({ domain, commands = [] }) => commands.map(({ name }) => `${domain}.${name}`));
  expect(commands.length).toBeGreaterThan(15);
  for (const method of commands) expectRefused(await client.send(method));
});

test.each(Object.keys(CDP_COMMANDS))("refused: %s", async (name) => {
  const { method, params } = CDP_COMMANDS[name] ?? { method: "" };
  expectRefused(await client.send(method, params));
  tried.refused(name);
});

test("no spelling of a command hides it", async () => {
  const hidden = [
    ["a name with an escape in it", String.raw`{"id":9001,"method":"Browser.c\u0072ash"}`],
    ["a member's name with an escape in it", String.raw`{"id":9001,"m\u0065thod":"Browser.crash"}`],
    [
      "two methods in one command",
      '{"id":9001,"method":"Target.getTargets","method":"Browser.crash"}',
    ],
  ] as const;
  for (const [story, text] of hidden) {
    expectRefused(await client.raw(text, 9_001));
    refused(story);
  }
  expectRefused(await client.raw('/**/{"id":9001,"method":"Browser.crash"}'));
  refused("bytes that are no JSON");
  expectRefused(await client.raw('[{"id":9001,"method":"Browser.crash"}]'));
  refused("a list of commands");
  const within = (message: object) => ({ message: JSON.stringify(message), sessionId: "x" });
  const crash = { id: 1, method: "Page.navigate", params: { url: "file:///etc/passwd" } };
  expectRefused(await client.send("Target.sendMessageToTarget", within(crash)));
  refused("a command within a command");
  const twice = { id: 1, method: "Target.sendMessageToTarget", params: within(crash) };
  expectRefused(await client.send("Target.sendMessageToTarget", within(twice)));
  refused("a command within a command within a command");
});

test("downloads lie in the run's directory, wherever the client wants them", async () => {
  const params = { behavior: "allow", downloadPath: ELSEWHERE };
  for (const [story, method, of_page] of [
    ["downloads of the browser into another directory", "Browser.setDownloadBehavior", false],
    ["downloads of a page into another directory", "Page.setDownloadBehavior", true],
  ] as const) {
    const page = await openPage();
    const before = readdirSync(session.browser.dirs.downloads).length;
    const sent = await client.send(method, params, of_page ? page : undefined);
    expect(sent?.error).toBeUndefined();
    const download = `Object.assign(document.createElement("a"), { href: "data:text/plain,x", download: "${method}.txt" }).click()`;
    await client.send("Runtime.evaluate", { expression: download, userGesture: true }, page);
    await until(
      "the download",
      60_000,
      () => readdirSync(session.browser.dirs.downloads).length > before,
    );
    expect(() => readdirSync(ELSEWHERE)).toThrow("ENOENT");
    refused(story);
  }
});

test("another context goes out through the lane's gate as well", async () => {
  const { result } = await client.send("Target.createBrowserContext");
  const page = await openPage({ browserContextId: result.browserContextId });
  const from = reached;
  for (const host of ["127.0.0.1", "localhost", "[::1]", "127.1"]) {
    const url = `http://${host}:${denied.port}/`;
    await client.send("Page.navigate", { url }, page);
    const expression = `fetch(${JSON.stringify(url)}, { mode: "no-cors" }).then(() => "open", () => "shut")`;
    const asked = await client.send("Runtime.evaluate", { expression, awaitPromise: true }, page);
    expect(asked?.result.result.value).toBe("shut");
  }
  expect(reached).toBe(from);
  refused("another context of the browser, and the hub from there");
});

test("Chromium's own pages take no command of a client, in whatever way it holds them", async () => {
  // As a person opens them by the address bar.
  const { root } = session.browser.connection;
  for (const page of ["version", "settings"])
    await root.send("Target.createTarget", { url: `chrome://${page}/` });
  const ui = await until("Chromium's own pages", 60_000, async () => {
    const { result } = await client.send("Target.getTargets", { filter: [{}] });
    const targets: { url: string; targetId: string }[] = result.targetInfos;
    const own = targets.filter(({ url }) => url.startsWith("chrome:"));
    return own.length >= 2 && own;
  });
  const expression = "typeof chrome.send";
  for (const { targetId } of ui) {
    const flat = await client.send("Target.attachToTarget", { targetId, flatten: true });
    const { sessionId } = flat?.result ?? {};
    expectRefused(await client.send("Runtime.evaluate", { expression }, sessionId));
    expectRefused(await client.send("Page.navigate", { url: "http://a.test/" }, sessionId));
    // Clients that attach to everything let go of it.
    expect((await client.send("Target.detachFromTarget", { sessionId }))?.error).toBeUndefined();
    const old = await client.send("Target.attachToTarget", { targetId, flatten: false });
    const message = JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression } });
    for (const to of [{ sessionId: old?.result?.sessionId }, { targetId }])
      expectRefused(await client.send("Target.sendMessageToTarget", { message, ...to }));
    expect(await answersAt(`/devtools/page/${targetId}`)).toBeFalse();
  }
  refused("a page of Chromium's own UI, by its session");
  refused("a page of Chromium's own UI, without a flat session");
  refused("a page of Chromium's own UI, by its address");
});

test("handles and pages that are not the client's give nothing", async () => {
  for (const handle of ["1", "file:///etc/passwd", "blob:x"])
    expect((await client.send("IO.read", { handle }))?.result).toBeUndefined();
  refused("a handle of a stream that is none");
  expect(await answersAt("")).toBeTrue();
  for (const id of ["0".repeat(32), "..%2f..%2fjson", "x%2f..%2fbrowser"])
    expect(await answersAt(`/devtools/page/${id}`)).toBeFalse();
  refused("another lane's page");
});

test("the end of a client is not the end of the browser, and every attempt was made", async () => {
  const other = await dialCdp(`${session.url.replace(/^http/, "ws")}/cdp`);
  expect((await other.send("Browser.close"))?.result).toEqual({});
  await other.closed;
  expect((await client.send("Browser.getVersion"))?.result.product).toContain("Chrome");
  refused("Browser.close ends its client alone");
  expect(tried.left()).toEqual([]);
});
