import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readGuide } from "#hub/guide/guide-files.ts";
import { parsePage } from "#hub/guide/markdown.ts";
import { run } from "#test/support/rigs/api-tools.ts";
import { type SessionFleet, startSessionFleet } from "#test/support/rigs/session-fleet.ts";
import { ROOT } from "../../scripts/build.ts";

/** Programs that steer a session by Selenium's clients: Debian's for Python, and the guide's in JavaScript. */

setDefaultTimeout(300_000);

let fleet: SessionFleet;
let site: ReturnType<typeof Bun.serve>;
let dir: string;
beforeAll(async () => {
  const html = `<!doctype html><title>Demo</title><h1>Hello</h1><input id=text><div id=said></div>
<button onclick="said.textContent = text.value">Say</button><button id=ask onclick="said.textContent = confirm('Sure?')">Ask</button>
<a href="/other" target=_blank>other</a><iframe srcdoc="<p id=in>inside</p>"></iframe>`;
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(html, { headers: { "content-type": "text/html" } }),
  });
  fleet = await startSessionFleet();
  dir = mkdtempSync(join(tmpdir(), "flotilla-selenium-"));
  mkdirSync(join(dir, "node_modules"));
  const name = "selenium-webdriver";
  symlinkSync(join(ROOT, "node_modules", name), join(dir, "node_modules", name));
}, 300_000);
afterAll(async () => {
  await fleet?.stop();
  await site?.stop(true);
  if (dir) rmSync(dir, { recursive: true, force: true });
}, 180_000);

const PYTHON = `
import sys
from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, InvalidSessionIdException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

hub, page = sys.argv[1:]
options = webdriver.ChromeOptions()
options.add_argument("--headless=new")
options.add_argument("--window-size=900,700")
options.set_capability("flotilla:options", {"idle_ttl_s": 600})
driver = webdriver.Remote(hub, options=options)
driver.get(page)
print(driver.title, driver.execute_script("return innerWidth"))
driver.find_element(By.ID, "text").send_keys("said in Python")
driver.find_element(By.TAG_NAME, "button").click()
print(driver.find_element(By.ID, "said").text)
driver.find_element(By.ID, "ask").click()
alert = driver.switch_to.alert
print(alert.text)
alert.accept()
print(driver.find_element(By.ID, "said").text)
driver.switch_to.frame(driver.find_element(By.TAG_NAME, "iframe"))
print(driver.find_element(By.ID, "in").text)
driver.switch_to.default_content()
driver.add_cookie({"name": "kept", "value": "1"})
print(driver.get_cookie("kept")["value"], driver.get_screenshot_as_png()[1:4])
print(driver.execute_async_script("arguments[0](6 * 7)"))
driver.find_element(By.LINK_TEXT, "other").click()
WebDriverWait(driver, 60).until(lambda d: len(d.window_handles) == 2)
driver.switch_to.window(driver.window_handles[1])
print(driver.current_url)
try:
    driver.find_element(By.ID, "nothing")
except NoSuchElementException:
    print("no such element")
print(driver.capabilities["flotilla:session"] == driver.session_id)
driver.quit()
`;

test("Debian's client for Python drives a session", async () => {
  const path = join(dir, "program.py");
  writeFileSync(path, PYTHON);
  const page = `${site.url.origin}/`;
  const printed = await run(["/usr/bin/python3", path, `${fleet.url}/wd/hub`, page], dir);
  expect(printed.trim().split("\n")).toEqual([
    "Demo 900",
    "said in Python",
    "Sure?",
    "true",
    "inside",
    "1 b'PNG'",
    "42",
    `${site.url.origin}/other`,
    "no such element",
    "True",
  ]);
});

test("the guide's program in JavaScript does what its page says", async () => {
  const page = parsePage(readGuide().get("how-to/selenium.md") ?? "");
  const program = page.find(({ type, info }) => type === "fence" && info === "ts")?.content ?? "";
  const path = join(dir, "program.ts");
  writeFileSync(
    path,
    program
      .replaceAll("//localhost:8000", `//${new URL(fleet.url).host}`)
      .replaceAll("//localhost:8001", `//${site.url.host}`),
  );
  const printed = await run([process.execPath, path], dir);
  expect(printed.trim()).toBe("Hello");
});
