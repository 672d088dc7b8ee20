import type { AttackList } from "#test/support/rigs/attempts.ts";

/** A command of a WebDriver client below its session. */
interface Attempt {
  method: "GET" | "POST" | "DELETE";
  path: string;
  body?: object;
}

const post = (path: string, body: object): Attempt => ({ method: "POST", path, body });
const opens = (url: string): Attempt => post("url", { url });
const cdp = (cmd: string, params: object = {}): Attempt =>
  post("goog/cdp/execute", { cmd, params });

/** Each would reach the machine, Chromium's own pages or another session. */
export const COMMANDS: Record<string, Attempt> = {
  "a file": opens("file:///etc/passwd"),
  "the source of a file": opens("view-source:file:///etc/passwd"),
  "Chromium's settings": opens("chrome://settings"),
  "Chromium's settings, as about:": opens("about:settings"),
  "the inspector": opens("devtools://devtools/bundled/inspector.html"),
  "a window of a file over CDP": cdp("Target.createTarget", { url: "file:///etc/passwd" }),
  "a file over CDP": cdp("Page.navigate", { url: "file:///etc/passwd" }),
  "a file by Chromium's own command": post("chromium/send_command", {
    cmd: "Page.navigate",
    params: { url: "file:///etc/passwd" },
  }),
  "the same, with its result": post("chromium/send_command_and_get_result", {
    cmd: "Page.navigate",
    params: { url: "file:///etc/passwd" },
  }),
  "a file to a page": cdp("DOM.setFileInputFiles", { files: ["/etc/passwd"], nodeId: 1 }),
  "a crash of the browser": cdp("Browser.crash"),
  "a crash of its GPU process": cdp("Browser.crashGpuProcess"),
  "the protocol for a page": cdp("Target.exposeDevToolsProtocol", { targetId: "x" }),
  "a context with another way out": cdp("Target.createBrowserContext", {
    proxyServer: "direct://",
  }),
  "an extension": cdp("Extensions.loadUnpacked", { path: "/tmp" }),
  "an application": cdp("PWA.install", { manifestId: "http://a.test/" }),
  "a port of the machine": cdp("Tethering.bind", { port: 8_080 }),
  "a device of the machine": cdp("DeviceAccess.enable"),
  "a screen of the network": cdp("Cast.enable"),
  "a trace into a file": cdp("Tracing.start", { perfettoConfig: "" }),
  "an application by chromedriver": post("chromium/launch_app", { id: "x" }),
  "a cast by chromedriver": { method: "GET", path: "goog/cast/get_sinks" },
  "chromedriver's own sessions": { method: "GET", path: "element/%2e%2e/text" },
  "chromedriver's status": { method: "GET", path: "status" },
  "a file that is no zip": post("se/file", { file: "AAAA" }),
};

const chrome = (options: object) => ({ "goog:chromeOptions": options });
const args = (arg: string) => chrome({ args: [arg] });

/** Each would have another browser, or another start of it, than a lane's. */
export const CAPABILITIES: Record<string, object> = {
  "a program": chrome({ binary: "/bin/sh" }),
  "another browser": chrome({ debuggerAddress: "127.0.0.1:9223" }),
  "an extension of the client's": chrome({ extensions: ["UEsFBg=="] }),
  "a place for dumps": chrome({ minidumpPath: "/tmp" }),
  "a telephone": chrome({ androidPackage: "com.android.chrome" }),
  "a profile on the disk": args("--user-data-dir=/root"),
  "an extension on the disk": args("--load-extension=/tmp"),
  "a debugging port": args("--remote-debugging-port=9999"),
  "names of its own": args("--host-resolver-rules=MAP * 127.0.0.1"),
  "a proxy's script": { proxy: { proxyType: "pac", proxyAutoconfigUrl: "http://a.test/" } },
  "no proxy": { proxy: { proxyType: "direct" } },
  "an option that nobody knows": { "flotilla:options": { binary: "/bin/sh" } },
};

export const WEBDRIVER: AttackList = {
  what: "A WebDriver client at a real chromedriver: what it asks of a session, and of a new one",
  file: "webdriver.test.ts",
  attempts: [...Object.keys(COMMANDS), ...Object.keys(CAPABILITIES)],
};
