import type { AttackList } from "#test/support/rigs/attempts.ts";

/** Every domain of the protocol: what of it a client of a lane has. A domain that is not here has been looked at by nobody. */
export const CDP_DOMAINS: Record<string, "all" | "judged" | "nothing"> = {
  ...Object.fromEntries(
    [
      ...["Accessibility", "Ads", "Animation", "Audits", "Autofill", "BackgroundService"],
      ...[
        "BluetoothEmulation",
        "CSS",
        "CacheStorage",
        "Console",
        "CrashReportContext",
        "DOMDebugger",
      ],
      ...["DOMSnapshot", "DOMStorage", "Debugger", "DeviceOrientation", "DigitalCredentials"],
      ...["Emulation", "EventBreakpoints", "FedCm", "FileSystem", "FindInPage"],
      ...[
        "HeadlessExperimental",
        "HeapProfiler",
        "IO",
        "IndexedDB",
        "Inspector",
        "LayerTree",
        "Log",
      ],
      ...[
        "Media",
        "Memory",
        "Overlay",
        "Performance",
        "PerformanceTimeline",
        "Preload",
        "Profiler",
      ],
      ...["Runtime", "Schema", "Security", "ServiceWorker", "SmartCardEmulation", "Storage"],
      ...["SystemInfo", "WebAudio", "WebAuthn", "WebMCP"],
    ].map((domain) => [domain, "all"] as const),
  ),
  Browser: "judged",
  DOM: "judged",
  Fetch: "judged",
  Input: "judged",
  Network: "judged",
  Page: "judged",
  Target: "judged",
  Tracing: "judged",
  Cast: "nothing",
  DeviceAccess: "nothing",
  Extensions: "nothing",
  PWA: "nothing",
  Tethering: "nothing",
};

/** A parameter that is called so may name a place outside of the page. */
export const NAMES_A_PLACE =
  /^(url|path|files?|port|host|argv|locations|directory)$|(Ur[lL]|URL|Path|Files?|Port|Host|Argv|Directory|Backend|Server|BypassList)$|^(perfettoConfig|commandId|manifestId|sinkName)$/;

/** Commands that have such a parameter and go through: what it is. */
export const HARMLESS_PLACES: Record<string, string> = {
  "Browser.addPrivacySandboxEnrollmentOverride": "a site that is taken for enrolled",
  "Browser.executeBrowserCommand": "one of a few windows of Chromium",
  "CacheStorage.requestCachedResponse": "a key of a page's cache",
  "DOM.pushNodeByPathToFrontend": "a path within the document",
  "DOMDebugger.removeXHRBreakpoint": "what to stop at",
  "DOMDebugger.setXHRBreakpoint": "what to stop at",
  "Debugger.setBreakpointByUrl": "what to stop at",
  "Network.deleteCookies": "whose cookies",
  "Network.setCookie": "whose cookie",
  "Page.addCompilationCache": "the script that it is for",
  "Page.deleteCookie": "whose cookie",
  "Page.getAppManifest": "an id to compare with",
  "Page.getResourceContent": "what the page has loaded",
  "Page.searchInResource": "what the page has loaded",
  "Runtime.compileScript": "what the script is called",
  "ServiceWorker.skipWaiting": "a scope that is registered",
  "ServiceWorker.startWorker": "a scope that is registered",
  "ServiceWorker.unregister": "a scope that is registered",
  "ServiceWorker.updateRegistration": "a scope that is registered",
};

export interface CdpAttempt {
  readonly method: string;
  readonly params?: Record<string, unknown>;
}
const to = (method: string, params: Record<string, unknown> = {}): CdpAttempt => ({
  method,
  params,
});
const URLS = [
  ...[
    "file:///etc/passwd",
    " \tFILE:///etc/passwd",
    "file://localhost/etc/passwd",
    "chrome://settings",
  ],
  ...[
    "chrome-untrusted://terminal/",
    "chrome://inspect/#devices",
    "CHROME://version",
    "about:settings",
    "about:Inspect",
  ],
  ...["devtools://devtools/bundled/inspector.html", "view-source:http://127.0.0.1/"],
  ...["view-source:file:///etc/passwd", "filesystem:http://a.test/temporary/x", "ftp://127.0.0.1/"],
  ...[
    "chrome-extension://abcdefghijklmnopabcdefghijklmnop/x.html",
    "mailto:a@b.test",
    "ssh://127.0.0.1/",
  ],
  ...["vscode://file/etc/passwd", "intent://x#Intent;end", "ws://127.0.0.1/", "isolated-app://x/"],
];
const OPENERS: Record<string, (url: string) => CdpAttempt> = {
  "Page.navigate": (url) => to("Page.navigate", { url }),
  "Target.createTarget": (url) => to("Target.createTarget", { url }),
  "Network.loadNetworkResource": (url) => to("Network.loadNetworkResource", { url, options: {} }),
};
const FILES = [
  ...["/etc/passwd", "/proc/self/environ", "../../../../etc/passwd", "C:\\Windows\\win.ini", ""],
  ...["/dev/zero", "//etc/passwd", "/tmp/../etc/passwd"],
];

/** What a client sends by itself; each is answered with an error that says why. */
export const CDP_COMMANDS: Record<string, CdpAttempt> = {
  ...Object.fromEntries(
    Object.entries(OPENERS).flatMap(([method, open]) =>
      URLS.map((url) => [`${method} ${url}`, open(url)]),
    ),
  ),
  ...Object.fromEntries(
    FILES.flatMap((file) => [
      [`DOM.setFileInputFiles ${file}`, to("DOM.setFileInputFiles", { files: [file], nodeId: 1 })],
      [
        `Input.dispatchDragEvent ${file}`,
        to("Input.dispatchDragEvent", {
          type: "drop",
          x: 1,
          y: 1,
          data: { items: [], files: [file], dragOperationsMask: 1 },
        }),
      ],
    ]),
  ),
  "Browser.crash": to("Browser.crash"),
  "Browser.crashGpuProcess": to("Browser.crashGpuProcess"),
  "Target.exposeDevToolsProtocol": to("Target.exposeDevToolsProtocol", { targetId: "x" }),
  "Target.openDevTools": to("Target.openDevTools", { targetId: "x" }),
  "Target.setRemoteLocations": to("Target.setRemoteLocations", {
    locations: [{ host: "127.0.0.1", port: 1 }],
  }),
  ...Object.fromEntries(
    ["direct://", "http://127.0.0.1:1", "socks5://127.0.0.1:1", "", "http=direct://;https=x:1"].map(
      (proxyServer) => [
        `Target.createBrowserContext with the proxy "${proxyServer}"`,
        to("Target.createBrowserContext", { proxyServer }),
      ],
    ),
  ),
  "Target.createBrowserContext with exceptions from the proxy": to("Target.createBrowserContext", {
    proxyBypassList: "*",
  }),
  "Tracing.start with a configuration of Perfetto": to("Tracing.start", { perfettoConfig: "AAAA" }),
  "Tracing.start at the machine's service": to("Tracing.start", { tracingBackend: "system" }),
  "Tethering.bind": to("Tethering.bind", { port: 9_999 }),
  "Cast.enable": to("Cast.enable"),
  "Cast.startDesktopMirroring": to("Cast.startDesktopMirroring", { sinkName: "x" }),
  "DeviceAccess.enable": to("DeviceAccess.enable"),
  "DeviceAccess.selectPrompt": to("DeviceAccess.selectPrompt", { id: "x", deviceId: "y" }),
  "Extensions.loadUnpacked": to("Extensions.loadUnpacked", { path: "/etc" }),
  "Extensions.getExtensions": to("Extensions.getExtensions"),
  "Extensions.setStorageItems": to("Extensions.setStorageItems", {
    id: "x",
    storageArea: "local",
    values: {},
  }),
  "PWA.install": to("PWA.install", { manifestId: "http://a.test/" }),
  "PWA.launchFilesInApp": to("PWA.launchFilesInApp", {
    manifestId: "http://a.test/",
    files: ["/etc/passwd"],
  }),
};

/** What takes more than one command, or other bytes. */
export const CDP_STORIES = [
  "Browser.close ends its client alone",
  "downloads of the browser into another directory",
  "downloads of a page into another directory",
  "a name with an escape in it",
  "a member's name with an escape in it",
  "two methods in one command",
  "bytes that are no JSON",
  "a list of commands",
  "a command within a command",
  "a command within a command within a command",
  "another context of the browser, and the hub from there",
  "a page of Chromium's own UI, by its session",
  "a page of Chromium's own UI, without a flat session",
  "a page of Chromium's own UI, by its address",
  "a handle of a stream that is none",
  "another lane's page",
] as const;

export const CDP: AttackList = {
  what: "A CDP client through the relay: files, schemes, proxies, devices, Chromium's own pages",
  file: "cdp.test.ts",
  attempts: [...Object.keys(CDP_COMMANDS), ...CDP_STORIES],
};
