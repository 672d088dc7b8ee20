import type { AttackList } from "#test/support/rigs/attempts.ts";

/** Addresses that are no page of the web. */
export const SCHEMES = [
  ...[
    "file:///etc/passwd",
    "file://localhost/etc/passwd",
    "FILE:/etc/passwd",
    "file:///proc/self/environ",
  ],
  ...[
    "chrome://settings",
    "chrome://inspect",
    "chrome://version",
    "chrome-untrusted://print/",
    "about:settings",
  ],
  ...["devtools://devtools/bundled/inspector.html", "view-source:file:///etc/passwd"],
  ...["view-source:http://127.0.0.1/", "filesystem:http://127.0.0.1/temporary/x"],
  ...["blob:http://127.0.0.1/x", "chrome-extension://abcdefghijklmnopabcdefghijklmnop/x.html"],
  ...["mailto:a@b.test", "ssh://127.0.0.1/", "tel:110", "magnet:?xt=x", "vscode://file/etc/passwd"],
  ...["x-attack:open", "web+attack:open", "steam://run/1", "ms-msdt:/id"],
] as const;

/** How a page goes there: the text of `(url) => …`. */
export const OPENERS: Record<string, string> = {
  "the page itself": "(url) => { location.href = url; }",
  "a window": "(url) => { open(url); }",
  "a click": `(url) => { const a = Object.assign(document.createElement("a"), { href: url, target: "_blank" }); document.body.append(a); a.click(); }`,
  "a frame": `(url) => { document.body.append(Object.assign(document.createElement("iframe"), { src: url })); }`,
  "a form": `(url) => { const form = Object.assign(document.createElement("form"), { action: url, target: "_blank" }); document.body.append(form); form.submit(); }`,
  fetch: "(url) => fetch(url).catch(() => {})",
  "a redirect": `(url) => fetch("/redirect?to=" + encodeURIComponent(url)).catch(() => {})`,
};

/** What a page may ask a person for; a lane has none who answers, unless its session's owner does. */
export const ASKS: Record<string, string> = {
  notifications: "Notification.requestPermission()",
  "the place": `new Promise((done, fail) => navigator.geolocation.getCurrentPosition(() => done("granted"), fail))`,
  camera: "navigator.mediaDevices.getUserMedia({ video: true })",
  microphone: "navigator.mediaDevices.getUserMedia({ audio: true })",
  screen: "navigator.mediaDevices.getDisplayMedia()",
  clipboard: "navigator.clipboard.readText()",
  MIDI: "navigator.requestMIDIAccess({ sysex: true })",
  USB: "navigator.usb.requestDevice({ filters: [] })",
  "a serial port": "navigator.serial.requestPort()",
  HID: "navigator.hid.requestDevice({ filters: [] })",
  Bluetooth: "navigator.bluetooth.requestDevice({ acceptAllDevices: true })",
  fonts: "queryLocalFonts()",
  windows: "getScreenDetails()",
  idleness: "IdleDetector.requestPermission()",
};

/** Names that a site gives to a download. */
export const DOWNLOAD_NAMES = [
  ...[
    "../../../evil-1.txt",
    "..\\..\\evil-2.txt",
    "/tmp/evil-3.txt",
    "C:\\evil-4.txt",
    "~/evil-5.txt",
  ],
  ...[
    "%2e%2e%2fevil-6.txt",
    "evil-7.txt/../../x",
    ".bashrc-evil-8",
    "evil-9.desktop",
    "CON.evil-10",
  ],
  ...["evil-11\u202etxt.exe", `evil-12-${"x".repeat(300)}.txt`],
] as const;

/** A page that does nothing else is lost; its lane is not. */
export const ENDLESS = "alerts, questions and prompts without end";
/** What keeps a browser from going on. */
export const NUISANCES = [
  ENDLESS,
  "a page that will not be left",
  "a print dialog",
  "full screen, and a lock of pointer and keys",
  "a protocol handler of its own",
] as const;

export const PAGE_SCHEMES: AttackList = {
  what: "A page of a lane: files, Chromium's own pages and programs of the machine, by every way to open them",
  file: "lane-page.test.ts",
  attempts: Object.keys(OPENERS).flatMap((opener) => SCHEMES.map((url) => `${opener}: ${url}`)),
};
export const PAGE_ASKS: AttackList = {
  what: "A page of a lane: permissions, devices, downloads with names that lead elsewhere, and what keeps a browser busy",
  file: "lane-page.test.ts",
  attempts: [
    ...Object.keys(ASKS),
    ...DOWNLOAD_NAMES.map((name) => `download: ${name}`),
    ...NUISANCES,
  ],
};
