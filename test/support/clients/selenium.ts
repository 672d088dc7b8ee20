import { Builder, By, type WebDriver, type WebElementPromise } from "selenium-webdriver";
import { Options } from "selenium-webdriver/chrome.js";

/** A browser of the fleet by Selenium's own client, as a program opens it. */
export async function openBySelenium(
  server: string,
  capabilities: Record<string, unknown> = {},
): Promise<WebDriver> {
  const options = new Options();
  options.addArguments("--headless=new", "--no-sandbox");
  for (const [name, value] of Object.entries(capabilities)) options.set(name, value);
  return new Builder()
    .usingServer(server)
    .forBrowser("chrome")
    .setChromeOptions(options as Parameters<Builder["setChromeOptions"]>[0])
    .build();
}

export const found = (driver: WebDriver, selector: string): WebElementPromise =>
  driver.findElement(By.css(selector));

/** What the work failed with; null when it did not. Promises of elements are no promises. */
export const failureOf = async (work: PromiseLike<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (err: unknown) => err,
  );

export const sessionIdOf = async (driver: WebDriver): Promise<string> =>
  (await driver.getSession()).getId();
