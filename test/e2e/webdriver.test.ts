import { afterEach, expect, test } from "bun:test";
import { Builder, By, error, until, type WebDriver } from "selenium-webdriver";
import { Options } from "selenium-webdriver/chrome.js";
import { FileDetector } from "selenium-webdriver/remote/index.js";
import { shareSessionFleet } from "#test/support/rigs/session-fleet.ts";

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
    page("/alerts", "<title>Alerts</title><button onclick=\"this.textContent = prompt('Your name?')\">Ask</button>");
  },
  { lanes: 2 },
);

async function open(more: Record<string, unknown> = {}): Promise<WebDriver> {
  const options = new Options().addArguments("--headless=new", "--no-sandbox");
  for (const [name, value] of Object.entries(more)) options.set(name, value);
  const driver = await new Builder()
    .usingServer(`${rig.fleet.url}/wd/hub`)
    .forBrowser("chrome")
    .setChromeOptions(options)
    .build();
  drivers.push(driver);
  return driver;
}

afterEach(async () => {
  for (const driver of drivers.splice(0)) await driver.quit().catch(() => {});
  rig.site.forget();
}, 180_000);

const found = (driver: WebDriver, selector: string) => driver.findElement(By.css(selector));

const failed = async (work: PromiseLike<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (err: unknown) => err,
  );

test("a page is opened, found, typed into, clicked and read", async () => {
  const driver = await open();
  await driver.get(`${rig.site.origin}/form`);
  expect(await driver.getTitle()).toBe("A form");
  await driver.findElement(By.css("#text")).sendKeys("typed");
  await driver.findElement(By.css("#go")).click();
  expect(await driver.findElement(By.css("h1")).getText()).toBe("typed");
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
  expect(await failed(driver.switchTo().alert())).toBeInstanceOf(error.NoSuchAlertError);
}, 180_000);

test("a window that the client opens is there at once, and one that a page opens is found", async () => {
  const driver = await open();
  await driver.get(`${rig.site.origin}/form`);
  const first = await driver.getWindowHandle();
  const began = performance.now();
  await driver.switchTo().newWindow("tab");
  await driver.get(`${rig.site.origin}/second`);
  console.log("new window", performance.now() - began);
  expect(await driver.getTitle()).toBe("The second");
  await driver.close();
  await driver.switchTo().window(first);
  const at = performance.now();
  await found(driver, "#open").click();
  await driver.wait(async () => (await driver.getAllWindowHandles()).length === 2, 60_000);
  const [opened = ""] = (await driver.getAllWindowHandles()).filter((one) => one !== first);
  await driver.switchTo().window(opened);
  await driver.wait(until.titleIs("The second"), 60_000);
  console.log("popup", performance.now() - at);
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
    await driver.executeAsyncScript<string>("setTimeout(arguments[arguments.length - 1], 0, 'later')"),
  ).toBe("later");
  expect(await failed(driver.executeScript("throw new TypeError('no')"))).toBeInstanceOf(
    error.JavascriptError,
  );
}, 180_000);

test("implicit waits and page load timeouts are the client's", async () => {
  const driver = await open();
  await driver.get(`${rig.site.origin}/form`);
  expect(await failed(found(driver, "#there"))).toBeInstanceOf(error.NoSuchElementError);
  await driver.manage().setTimeouts({ implicit: 30_000, pageLoad: 1_000 });
  await found(driver, "#late").click();
  await found(driver, "#there");
  expect(await failed(driver.get(`${rig.site.origin}/hang`))).toBeInstanceOf(error.TimeoutError);
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
