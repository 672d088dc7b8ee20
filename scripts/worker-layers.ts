import { type Layer, ZOD } from "./layer.ts";

/** The layers of the worker, for `layers.ts`. */
export const WORKER_LAYERS: readonly Layer[] = [
  { name: "worker-config", files: /^worker\/config\.ts$/, packages: ZOD },
  { name: "worker-hub-files", files: /^worker\/hub-files\.ts$/, packages: [] },
  // The way out of the lanes: names, what may be connected to, and the sockets.
  { name: "egress", files: /^worker\/egress\//, packages: [] },
  // What answers a lane in place of the web.
  { name: "replay", files: /^worker\/replay\//, packages: [] },
  { name: "link", files: /^worker\/link\//, packages: [] },
  // Not prom-client: a worker of an earlier version refuses an update with a package that it does not have.
  { name: "worker-metrics", files: /^worker\/metrics\//, packages: [] },
  { name: "upload", files: /^worker\/upload\//, packages: [] },
  { name: "tasks/agent", files: /^worker\/tasks\/agent\//, may: ["tasks"], packages: ZOD },
  { name: "tasks", files: /^worker\/tasks\//, may: [], packages: ZOD },

  { name: "cdp", files: /^worker\/browser\/cdp\//, may: [], packages: ["devtools-protocol"] },
  { name: "process", files: /^worker\/browser\/process\//, may: ["cdp"], packages: [] },
  { name: "record", files: /^worker\/browser\/record\//, may: ["cdp"], packages: [] },
  {
    name: "lanes",
    files: /^worker\/browser\/lanes\//,
    may: ["cdp", "process", "record"],
    packages: [],
  },
  // What a browser says it is.
  { name: "person", files: /^worker\/browser\/person\//, may: ["cdp", "lanes"], packages: [] },
  // What pages do not request.
  { name: "block", files: /^worker\/browser\/block\//, may: ["cdp", "record"], packages: [] },
  // Engines as the worker asks the hub for them, and what they are told of pages.
  { name: "browser-llm", files: /^worker\/browser\/llm\//, may: [], packages: [] },
  // The one place that knows Playwright: recipes of a fetch job and the actions of a session.
  {
    name: "page-actions",
    files: /^worker\/browser\/actions\//,
    may: ["cdp", "process", "lanes", "browser-llm"],
    packages: ["playwright-core", "turndown", "@joplin/turndown-plugin-gfm"],
  },
  // A page in one call: opened, waited for, and answered.
  {
    name: "one-shot",
    files: /^worker\/browser\/one-shot\//,
    may: ["page-actions"],
    packages: [],
  },
  {
    name: "video",
    files: /^worker\/browser\/video\//,
    may: ["cdp", "process", "record", "lanes"],
    packages: ["mime"],
  },
  {
    name: "profile",
    files: /^worker\/browser\/profile\//,
    may: ["cdp", "process", "lanes"],
    packages: [],
  },
  {
    name: "fetch",
    files: /^worker\/browser\/fetch\//,
    may: ["cdp", "process", "record", "lanes", "page-actions", "video"],
    packages: [],
  },
  // Jobs whose page a script of the hub drives.
  {
    name: "scripted",
    files: /^worker\/browser\/scripted\//,
    may: ["record", "lanes", "fetch"],
    packages: [],
  },
  // What is at a place of a page, and how it is called.
  { name: "picker", files: /^worker\/browser\/picker\//, may: ["cdp"], packages: ZOD },
  // What people do in a browser, as steps.
  { name: "clicks", files: /^worker\/browser\/clicks\//, may: ["cdp", "picker"], packages: ZOD },
  {
    name: "session",
    files: /^worker\/browser\/session\//,
    may: [
      "cdp",
      "process",
      "record",
      "lanes",
      "fetch",
      "browser-llm",
      "page-actions",
      "one-shot",
      "profile",
      "person",
      "block",
      "picker",
      "clicks",
    ],
    packages: ["mime", "playwright-core"],
  },
  {
    name: "bridge",
    files: /^worker\/browser\/bridge\//,
    may: ["cdp", "process", "lanes", "session"],
    packages: [],
  },
  // A session's chromedriver, and its way to the browser.
  {
    name: "webdriver",
    files: /^worker\/browser\/webdriver\//,
    may: ["process", "session", "bridge", "video"],
    packages: [],
  },
  // What happens in a session, its screen, and what its pages request.
  {
    name: "recording",
    files: /^worker\/browser\/recording\//,
    may: ["cdp", "record", "bridge"],
    packages: [],
  },
  // What Playwright traces of a run, without the secrets in it.
  {
    name: "trace",
    files: /^worker\/browser\/trace\//,
    may: [],
    packages: ["playwright-core"],
  },
  { name: "browser/jobs", files: /^worker\/browser\/jobs\//, packages: [] },

  // Which version runs. It names every package of the worker, for versions that have none of their own.
  {
    name: "update",
    files: /^worker\/program\/update\//,
    may: [],
    packages: [
      ...ZOD,
      "@joplin/turndown-plugin-gfm",
      "mime",
      "nanoid",
      "playwright-core",
      "tar-stream",
      "turndown",
    ],
  },
  { name: "worker-program", files: /^worker\/program\//, packages: [] },
];
