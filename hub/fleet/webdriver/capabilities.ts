import { isObject } from "#shared/kit/is-object.ts";
import { readChromeOptions } from "./chrome-options.ts";
import { readProxy } from "./proxy-capability.ts";
import { type Json, NoMatch, notCreated, type Reading, wrong } from "./reading.ts";

/** What is negotiated, merged: each capability of one of `firstMatch` and of `alwaysMatch`, once. */
function mergesOf(body: unknown): Json[] {
  const { capabilities } = isObject(body) ? body : {};
  if (!isObject(capabilities)) {
    const legacy = isObject(body) && body.desiredCapabilities !== undefined;
    throw legacy
      ? notCreated(
          "desiredCapabilities alone is the protocol of Selenium 3: use a client that speaks W3C WebDriver",
        )
      : wrong("capabilities is required, an object");
  }
  const { alwaysMatch = {}, firstMatch = [{}] } = capabilities;
  if (!isObject(alwaysMatch)) throw wrong("capabilities.alwaysMatch must be an object");
  if (!Array.isArray(firstMatch) || firstMatch.length === 0 || !firstMatch.every(isObject))
    throw wrong("capabilities.firstMatch must be a list of objects that is not empty");
  return firstMatch.map((one) => {
    const twice = Object.keys(one).find((name) => withoutNulls(alwaysMatch)[name] !== undefined);
    if (twice !== undefined) throw wrong(`${twice} is in alwaysMatch and in firstMatch`);
    return withoutNulls({ ...alwaysMatch, ...one });
  });
}

const withoutNulls = (given: Json): Json =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));

type Reader = (value: unknown, to: Reading) => void;

const isOneOf = (value: unknown, ...words: string[]) =>
  typeof value === "string" && words.includes(value.toLowerCase());

const passed =
  (name: string, check: (value: unknown) => boolean, what: string): Reader =>
  (value, { driver }) => {
    if (!check(value)) throw wrong(`${name} must be ${what}`);
    driver[name] = value;
  };
const ignored =
  (name: string): Reader =>
  (_value, to) =>
    void to.ignored.push(name);

const isBoolean = (value: unknown) => typeof value === "boolean";
const PROMPT_ANSWERS = ["dismiss", "accept", "dismiss and notify", "accept and notify", "ignore"];
const isPromptBehavior = (value: unknown): boolean =>
  isOneOf(value, ...PROMPT_ANSWERS) ||
  (isObject(value) && Object.values(value).every((one) => isOneOf(one, ...PROMPT_ANSWERS)));
const isTimeouts = (value: unknown): boolean =>
  isObject(value) &&
  Object.entries(value).every(
    ([name, ms]) =>
      ["script", "pageLoad", "implicit"].includes(name) &&
      ((ms === null && name === "script") || (Number.isSafeInteger(ms) && (ms as number) >= 0)),
  );

const READERS: Record<string, Reader> = {
  browserName: (value) => {
    if (typeof value !== "string") throw wrong("browserName must be a text");
    if (!isOneOf(value, "chrome", "chromium"))
      throw new NoMatch(`every lane is Chromium: browserName ${JSON.stringify(value)} is not here`);
  },
  browserVersion: (value, { ignored }) => {
    if (typeof value !== "string") throw wrong("browserVersion must be a text");
    if (!isOneOf(value, "stable", "")) ignored.push("browserVersion");
  },
  platformName: (value) => {
    if (typeof value !== "string") throw wrong("platformName must be a text");
    if (!isOneOf(value, "linux", "any", ""))
      throw new NoMatch(`every lane runs Linux: platformName ${JSON.stringify(value)} is not here`);
  },
  acceptInsecureCerts: (value, { session, driver }) => {
    if (!isBoolean(value)) throw wrong("acceptInsecureCerts must be true or false");
    if (value === true) session.ignore_https_errors = true;
    driver.acceptInsecureCerts = value;
  },
  proxy: (value, { session }) => {
    const proxy = readProxy(value);
    if (proxy !== null) session.proxy = proxy;
  },
  pageLoadStrategy: passed(
    "pageLoadStrategy",
    (value) => isOneOf(value, "none", "eager", "normal"),
    "none, eager or normal",
  ),
  timeouts: passed("timeouts", isTimeouts, "script, pageLoad and implicit in whole milliseconds"),
  unhandledPromptBehavior: passed(
    "unhandledPromptBehavior",
    isPromptBehavior,
    `one of ${PROMPT_ANSWERS.join(", ")}`,
  ),
  strictFileInteractability: passed("strictFileInteractability", isBoolean, "true or false"),
  setWindowRect: (value) => {
    if (!isBoolean(value)) throw wrong("setWindowRect must be true or false");
  },
  webSocketUrl: (value) => {
    if (!isBoolean(value)) throw wrong("webSocketUrl must be true or false");
    if (value === true)
      throw new NoMatch(
        "WebDriver BiDi is not served here: leave webSocketUrl out, and use se:cdp, the session's address for CDP",
      );
  },
  "goog:chromeOptions": readChromeOptions,
  "goog:loggingPrefs": passed("goog:loggingPrefs", isObject, "an object"),
  "flotilla:options": (value, { session }) => {
    if (!isObject(value))
      throw wrong("flotilla:options must be an object: the body of POST /sessions");
    Object.assign(session, value);
  },
  "wdio:enforceWebDriverClassic": ignored("wdio:enforceWebDriverClassic"),
};
const OTHER_BROWSER = /^(moz|ms|safari|webkit|opera):/;

/** @throws NoMatch, WebDriverError */
function read(capabilities: Json): Reading {
  const to: Reading = { session: {}, driver: {}, ignored: [] };
  // Last, because what it names is said on purpose.
  const { "flotilla:options": own, ...rest } = capabilities;
  const entries = Object.entries(own === undefined ? rest : { ...rest, "flotilla:options": own });
  for (const [name, value] of entries) {
    const reader = Object.hasOwn(READERS, name) ? READERS[name] : undefined;
    if (reader) reader(value, to);
    else if (OTHER_BROWSER.test(name)) throw new NoMatch(`${name} is of another browser`);
    else if (name.includes(":")) to.ignored.push(name);
    else throw wrong(`there is no capability ${name}`);
  }
  return to;
}

/**
 * What the capabilities of `POST /session` come to (rules/webdriver#capabilities): the first of `firstMatch` that Chromium on Linux
 * can be.
 * @throws WebDriverError invalid argument; session not created when none can be
 */
export function negotiate(body: unknown): Reading {
  const reasons: string[] = [];
  for (const merged of mergesOf(body))
    try {
      return read(merged);
    } catch (err) {
      if (!(err instanceof NoMatch)) throw err;
      reasons.push(err.message);
    }
  throw notCreated(reasons.join("; "));
}
