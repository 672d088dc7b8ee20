import { isObject } from "#shared/kit/is-object.ts";
import { notCreated, type Reading, wrong } from "./reading.ts";

/** A browser of a lane has been started already: what a switch of its command line would say, an option says. */

type Arg = (value: string, to: Reading) => void;

const set =
  (name: string, read: (value: string) => unknown): Arg =>
  (value, { session }) => {
    session[name] = read(value);
  };

function readSize(value: string): unknown {
  const [, width, height] = /^(\d{1,5})[,x](\d{1,5})$/.exec(value) ?? [];
  if (width === undefined) throw wrong(`--window-size=${value} is not WIDTH,HEIGHT`);
  return { width: Number(width), height: Number(height) };
}

/** Switches that an option of the session stands for. */
const TAKEN: Record<string, Arg> = {
  headless: set("headless", () => true),
  "window-size": set("viewport", readSize),
  "user-agent": set("user_agent", (value) => value),
  lang: set("locale", (value) => value.replace("_", "-")),
  "proxy-server": set("proxy", (value) => value),
  "ignore-certificate-errors": set("ignore_https_errors", () => true),
  "force-dark-mode": set("color_scheme", () => "dark"),
};

/** Switches without which a program would do something else, and what does it here. */
const REFUSED: Record<string, string> = {
  "user-data-dir": "name a stored profile: use_profile of flotilla:options",
  "profile-directory": "name a stored profile: use_profile of flotilla:options",
  "load-extension": "lanes have no extensions",
  "disable-web-security": "lanes keep the rules of the web",
  "remote-debugging-port": "se:cdp of the answer is the session's address for CDP",
  "remote-debugging-pipe": "se:cdp of the answer is the session's address for CDP",
  "proxy-pac-url": "name the proxy itself",
  "proxy-bypass-list": "bypass of the proxy option of flotilla:options",
  "host-resolver-rules": "lanes have one way out, and resolve names there",
  "host-rules": "lanes have one way out, and resolve names there",
  app: "lanes open no windows of applications",
  kiosk: "lanes have windows of their own",
};

function readArg(arg: unknown, to: Reading): void {
  if (typeof arg !== "string") throw wrong("goog:chromeOptions.args must be a list of texts");
  const [, name = "", value = ""] = /^(?:--)?([^=]*)=?(.*)$/s.exec(arg) ?? [];
  const taken = Object.hasOwn(TAKEN, name) ? TAKEN[name] : undefined;
  const why = Object.hasOwn(REFUSED, name) ? REFUSED[name] : undefined;
  if (taken) taken(value, to);
  else if (why !== undefined) throw notCreated(`--${name} cannot apply: ${why}`);
  else to.ignored.push(`goog:chromeOptions.args ${arg}`.slice(0, 200));
}

const nothing = (value: unknown): boolean =>
  value === false ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0);

/** What chromedriver does by itself on a browser that runs. */
const PASSED = new Set(["mobileEmulation", "perfLoggingPrefs"]);
const NEVER: Record<string, string> = {
  binary: "the worker's Chromium is the browser",
  debuggerAddress: "every session has a browser of its own",
  extensions: "lanes have no extensions",
  minidumpPath: "it would name a place on the worker",
  androidPackage: "lanes run Chromium on Linux",
};

/** `goog:chromeOptions` (rules/webdriver#chrome-options). @throws WebDriverError for what cannot apply */
export function readChromeOptions(given: unknown, to: Reading): void {
  if (!isObject(given)) throw wrong("goog:chromeOptions must be an object");
  const { args = [], w3c, ...rest } = given;
  if (!Array.isArray(args)) throw wrong("goog:chromeOptions.args must be a list of texts");
  if (w3c === false) throw notCreated("goog:chromeOptions.w3c: only W3C WebDriver is served");
  for (const arg of args) readArg(arg, to);
  for (const [name, value] of Object.entries(rest)) {
    if (nothing(value) || value === null || value === "") continue;
    const why = Object.hasOwn(NEVER, name) ? NEVER[name] : undefined;
    if (why !== undefined) throw notCreated(`goog:chromeOptions.${name} cannot apply: ${why}`);
    if (PASSED.has(name)) to.driver["goog:chromeOptions"] = { ...passedOf(to), [name]: value };
    else to.ignored.push(`goog:chromeOptions.${name}`.slice(0, 200));
  }
}

const passedOf = ({ driver }: Reading): Record<string, unknown> => {
  const options = driver["goog:chromeOptions"];
  return isObject(options) ? options : {};
};
