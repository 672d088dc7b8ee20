import { afterEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { error, until, type WebDriver } from "selenium-webdriver";
import { FileDetector } from "selenium-webdriver/remote/index.js";
import { failureOf, found, openBySelenium, sessionIdOf } from "#test/support/clients/selenium.ts";
import { processesOf, until as untilThere } from "#test/support/rigs/fleet-process.ts";
import { shareSessionFleet } from "#test/support/rigs/session-fleet.ts";
import { CdpConnection } from "#worker/browser/cdp/connection.ts";
import { socketTransport } from "#worker/browser/cdp/transport.ts";

/** Selenium's own client for JavaScript, as it comes from npm, at `POST /session`. */

const drivers: WebDriver[] = [];

const rig = shareSessionFleet(
  (site) => {
    const page = (path: string, html: string) =>
      site.body(path, { mime: "text/html", bytes: Buffer.from(`<!doctype html>${html}`) });
    page(
      "/form",
      `<title>A form</title><h1>Hello</h1><input id=text><button id=go
       onclick="document.querySelector('h1').textContent = document.querySelector('#text').value">Go</button>
       <input type=file id=file><a id=open href="/second" target=_blank>open</a>
       <button id=late onclick="setTimeout(() => document.body.append(Object.assign(document.createElement('i'), { id: 'there' })), 300)">Late</button>
       <iframe id=frame src="/framed"></iframe>`,
    );
    // Nobody answers it.
    site.on("/hang", () => {});
    page("/framed", "<title>Framed</title><p id=inside>within</p>");
    page("/second", "<title>The second</title>");
    page(
      "/alerts",
      "<title>Alerts</title><button onclick=\"this.textContent = prompt('Your name?')\">Ask</button>",
    );
  },
  { lanes: 2 },
);

async function open(capabilities: Record<string, unknown> = {}): Promise<WebDriver> {
  const driver = await openBySelenium(`${rig.fleet.url}/wd/hub`, capabilities);
  drivers.push(driver);
  return driver;
}

afterEach(async () => {
  for (const driver of drivers.splice(0)) await driver.quit().catch(() => {});
  rig.site.forget();
}, 180_000);

test("a page is opened, found, typed into, clicked and read", async () => {
  const driver = await open();
  await driver.get(`${rig.site.origin}/form`);
  expect(await driver.getTitle()).toBe("A form");
  await found(driver, "#text").sendKeys("typed");
  await found(driver, "#go").click();
  expect(await found(driver, "h1").getText()).toBe("typed");
}, 180_000);

test("the client is among those who drive the session (rules/viewer#who-is-watching)", async () => {
  const driver = await open();
  await driver.get(`${rig.site.origin}/second`);
  const state = await fetch(`${rig.fleet.url}/sessions/${await sessionIdOf(driver)}/state`);
  expect(await state.json()).toMatchObject({
    watchers: [{ kind: "webdriver", name: null, mode: "control", drives: true }],
  });
}, 180_000);

test("alerts are read, answered and dismissed", async () => {
  const driver = await open();
  await driver.get(`${rig.site.origin}/alerts`);
  await found(driver, "button").click();
  const alert = await driver.switchTo().alert();
  expect(await alert.getText()).toBe("Your name?");
  await alert.sendKeys("Ada");
  await alert.accept();
  expect(await found(driver, "button").getText()).toBe("Ada");
  expect(await failureOf(driver.switchTo().alert())).toBeInstanceOf(error.NoSuchAlertError);
}, 180_000);

test("windows that the client and its pages open are found, entered and closed", async () => {
  const driver = await open();
  await driver.get(`${rig.site.origin}/form`);
  const first = await driver.getWindowHandle();
  await driver.switchTo().newWindow("tab");
  await driver.get(`${rig.site.origin}/second`);
  expect(await driver.getTitle()).toBe("The second");
  await driver.close();
  await driver.switchTo().window(first);
  await found(driver, "#open").click();
  await driver.wait(async () => (await driver.getAllWindowHandles()).length === 2, 60_000);
  const [opened = ""] = (await driver.getAllWindowHandles()).filter((one) => one !== first);
  await driver.switchTo().window(opened);
  await driver.wait(until.titleIs("The second"), 60_000);
}, 180_000);

test("frames, cookies, screenshots and scripts are the page's", async () => {
  const driver = await open();
  await driver.get(`${rig.site.origin}/form`);
  await driver.switchTo().frame(found(driver, "#frame"));
  expect(await found(driver, "#inside").getText()).toBe("within");
  await driver.switchTo().defaultContent();
  await driver.manage().addCookie({ name: "kept", value: "1" });
  expect(await driver.manage().getCookie("kept")).toMatchObject({ value: "1" });
  await driver.manage().deleteAllCookies();
  expect(await driver.manage().getCookies()).toEqual([]);
  const png = Buffer.from(await driver.takeScreenshot(), "base64");
  expect(png.subarray(1, 4).toString()).toBe("PNG");
  expect(await driver.executeScript<number>("return arguments[0] + 1", 41)).toBe(42);
  expect(
    await driver.executeAsyncScript<string>(
      "setTimeout(arguments[arguments.length - 1], 0, 'later')",
    ),
  ).toBe("later");
  expect(await failureOf(driver.executeScript("throw new TypeError('no')"))).toBeInstanceOf(
    error.JavascriptError,
  );
}, 180_000);

test("implicit waits and page load timeouts are the client's", async () => {
  const driver = await open();
  await driver.get(`${rig.site.origin}/form`);
  expect(await failureOf(found(driver, "#there"))).toBeInstanceOf(error.NoSuchElementError);
  await driver.manage().setTimeouts({ implicit: 30_000, pageLoad: 1_000 });
  await found(driver, "#late").click();
  await found(driver, "#there");
  expect(await failureOf(driver.get(`${rig.site.origin}/hang`))).toBeInstanceOf(error.TimeoutError);
}, 180_000);

test("a file of the client is given to a page", async () => {
  const driver = await open();
  driver.setFileDetector(new FileDetector());
  await driver.get(`${rig.site.origin}/form`);
  await found(driver, "#file").sendKeys(import.meta.path);
  const [name, text] = await driver.executeAsyncScript<[string, string]>(
    "const [file] = document.querySelector('#file').files; file.text().then((text) => arguments[0]([file.name, text]))",
  );
  expect(name).toBe("webdriver.test.ts");
  expect(text).toBe(await Bun.file(import.meta.path).text());
}, 180_000);

const listed = async (status: string): Promise<Record<string, unknown>[]> => {
  const answer = await fetch(`${rig.fleet.url}/sessions?status=${status}`);
  return ((await answer.json()) as { sessions: Record<string, unknown>[] }).sessions;
};
const endOf = (session_id: string) =>
  untilThere("the record of the session", 60_000, async () =>
    (await listed("ended")).find((one) => one.session_id === session_id),
  );

test("two clients have a session each, which others see; quit ends it, and it is recorded", async () => {
  const [one, other] = await Promise.all([open(), open({ "flotilla:options": { ttl_s: 600 } })]);
  const ids = await Promise.all([one, other].map(sessionIdOf));
  expect((await listed("active")).map((session) => session.session_id).sort()).toEqual(ids.sort());
  await Promise.all([one, other].map((driver) => driver.get(`${rig.site.origin}/second`)));
  const id = await sessionIdOf(one);
  await one.quit();
  const ended = await endOf(id);
  expect(ended).toMatchObject({ end_reason: "its WebDriver client quit" });
  expect(Number(ended.actions)).toBeGreaterThan(0);
  expect(ended.recording).toMatchObject({ mode: "screen" });
  expect(await other.getTitle()).toBe("The second");
  expect(await failureOf(one.getTitle())).toBeInstanceOf(error.NoSuchSessionError);
}, 180_000);

test("the last window that is closed ends the session", async () => {
  const driver = await open();
  const id = await sessionIdOf(driver);
  await driver.close();
  expect(await endOf(id)).toMatchObject({
    end_reason: "its WebDriver client closed the last window",
  });
}, 180_000);

test("a chromedriver that is killed ends its session, and the client is told", async () => {
  const driver = await open();
  const id = await sessionIdOf(driver);
  const running = processesOf(rig.fleet.dir).filter(({ command }) =>
    command.includes("--url-base="),
  );
  const waiting = failureOf(driver.get(`${rig.site.origin}/hang`));
  await rig.site.asked("/hang");
  for (const { pid } of running) process.kill(pid, "SIGKILL");
  expect(await waiting).toBeInstanceOf(error.WebDriverError);
  expect(String(await waiting)).toContain("chromedriver ended (SIGKILL)");
  expect(await endOf(id)).toMatchObject({ end_reason: "chromedriver ended (SIGKILL)" });
  expect(await failureOf(driver.getTitle())).toBeInstanceOf(error.NoSuchSessionError);
}, 180_000);

test("a client is held to what a CDP client may do, and learns nothing of the worker", async () => {
  const driver = await open();
  const words = async (work: PromiseLike<unknown>) => String(await failureOf(work));
  expect(await words(driver.get("file:///etc/passwd"))).toContain("file: URLs cannot be opened");
  await driver.get(`${rig.site.origin}/form`);
  const not_own = await words(found(driver, "#file").sendKeys("/etc/passwd"));
  expect(not_own).toContain("is not a file of this session");
  expect(not_own).not.toMatch(/0x[0-9a-f]{8}/);
  const capabilities = JSON.stringify([...(await driver.getCapabilities()).keys()]);
  expect(capabilities).not.toContain("debuggerAddress");
  const id = await sessionIdOf(driver);
  const crash = await fetch(`${rig.fleet.url}/session/${id}/goog/cdp/execute`, {
    method: "POST",
    body: JSON.stringify({ cmd: "Browser.crash", params: {} }),
  });
  expect(await crash.text()).toContain("it would end the browser");
}, 180_000);

test("the answer leads to the same browser over CDP", async () => {
  const driver = await open();
  const address = (await driver.getCapabilities()).get("se:cdp") as string;
  await driver.get(`${rig.site.origin}/second`);
  const client = new CdpConnection(await socketTransport(address));
  const { targetInfos } = await client.root.send("Target.getTargets");
  client.close();
  expect(targetInfos.map(({ title }) => title)).toContain("The second");
}, 180_000);

/** Ports of this machine that are closed to lanes one by one. */
const closedPorts = (): string[] => {
  const names = readFileSync("/proc/net/unix", "utf8");
  const marks = [...names.matchAll(/@flotilla-lane-ports:(\d+)-(\d+):/g)];
  return marks.flatMap(([, from = "", to]) => (from === to ? [from] : []));
};

test("no page of a lane reaches chromedriver, or its way to the browser", async () => {
  const before = new Set(closedPorts());
  const driver = await open();
  await driver.get(`${rig.site.origin}/form`);
  const own = closedPorts().filter((port) => !before.has(port));
  const asked = own.map((port) => fetch(`http://127.0.0.1:${port}/json/version`).catch(() => null));
  const answers = (await Promise.all(asked)).filter((answer) => answer !== null);
  expect(answers.length).toBeGreaterThanOrEqual(2);
  const reaches = (port: string | number) =>
    driver.executeAsyncScript<string>(
      `const done = arguments[1];
       fetch("http://127.0.0.1:" + arguments[0] + "/json/version", { mode: "no-cors" })
         .then(() => done("reached"), (err) => done(err.name));`,
      port,
    );
  expect(await reaches(rig.site.port)).toBe("reached");
  for (const port of own) expect(await reaches(port)).toBe("TypeError");
}, 180_000);
