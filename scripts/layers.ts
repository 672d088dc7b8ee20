import { type Layer, ZOD } from "./layer.ts";
import { WORKER_LAYERS } from "./worker-layers.ts";

/** Who may run whom within a room; types are free there. Between rooms, `rooms.ts` decides. */

const HONO = [...ZOD, "hono"];
const MCP = [...HONO, "@modelcontextprotocol/sdk"];

export const LAYERS: readonly Layer[] = [
  { name: "archive", files: /^shared\/archive\//, packages: ["mime", "tar-stream"] },
  { name: "shared", files: /^shared\//, packages: [...ZOD, "nanoid"] },
  { name: "drizzle", files: /^drizzle\//, packages: ["drizzle-orm", "drizzle-kit"] },

  // Not shared: a worker of an earlier version refuses an update with a package that it does not have.
  {
    name: "platform/metrics",
    files: /^hub\/platform\/metrics\//,
    may: [],
    packages: ["prom-client"],
  },
  // Spans of calls, and what they are within.
  { name: "platform/tracing", files: /^hub\/platform\/tracing\//, packages: HONO },
  // What failures are grouped by.
  { name: "platform/failures", files: /^hub\/platform\/failures\//, may: [], packages: [] },
  {
    name: "platform/db",
    files: /^hub\/platform\/db\//,
    may: ["platform/failures"],
    packages: ["drizzle-orm", "better-sqlite3", "postgres"],
  },
  // Signs requests to S3.
  {
    name: "platform/stores",
    files: /^hub\/platform\/stores\//,
    may: ["platform"],
    packages: ["aws4fetch"],
  },
  // What is secret in them, encrypted.
  {
    name: "platform/secrets",
    files: /^hub\/platform\/secrets\//,
    may: ["platform/db"],
    packages: [],
  },
  {
    name: "platform/http",
    files: /^hub\/platform\/http\//,
    may: ["platform", "platform/failures"],
    packages: [
      ...HONO,
      "swagger-ui-dist",
      "@fastify/busboy",
      "content-disposition",
      "range-parser",
    ],
  },
  // The other hubs: who they are, what is told to them, and calls passed on to them.
  {
    name: "platform/cluster",
    files: /^hub\/platform\/cluster\//,
    may: ["platform", "platform/http"],
    packages: ZOD,
  },
  // Who calls: the administrator, tokens, browsers that were let in, signed links, and what all of them did.
  {
    name: "platform/access",
    files: /^hub\/platform\/access\//,
    may: ["platform", "platform/http"],
    packages: HONO,
  },
  // What both services find with: the order of hits, and lists that are kept under a name.
  {
    name: "platform/search",
    files: /^hub\/platform\/(search|saved-lists)\//,
    may: ["platform", "platform/http"],
    packages: HONO,
  },
  {
    name: "platform/idempotency",
    files: /^hub\/platform\/idempotency\//,
    may: ["platform/http"],
    packages: HONO,
  },
  // Which worker takes which version when.
  {
    name: "platform/rollout",
    files: /^hub\/platform\/rollout\//,
    may: ["platform"],
    packages: ZOD,
  },
  // A schedule is judged where it is read.
  {
    name: "platform",
    files: /^hub\/platform\/[\w-]+\.ts$/,
    may: [],
    packages: [...ZOD, "croner"],
  },

  {
    name: "fleet/pure",
    files: /^hub\/fleet\/(links\/schedule|registries\/recipe-match)\.ts$/,
    may: [],
    packages: [],
  },
  {
    name: "fleet/registries",
    files: /^hub\/fleet\/registries\//,
    may: ["fleet/pure", "fleet/archive"],
    packages: [...ZOD, "third-party-web"],
  },
  { name: "fleet/links", files: /^hub\/fleet\/links\//, may: ["fleet/pure"], packages: ZOD },
  {
    name: "fleet/sessions",
    files: /^hub\/fleet\/sessions\//,
    may: ["fleet/pure", "fleet/registries", "fleet/links", "fleet/retention"],
    packages: ZOD,
  },
  // How what is old is deleted, and what is told of what could not be.
  { name: "fleet/retention", files: /^hub\/fleet\/retention\//, may: [], packages: [] },
  // What the fleet counts, for those who watch it from outside.
  { name: "fleet/metrics", files: /^hub\/fleet\/metrics\//, may: ["fleet/links"], packages: [] },
  // What workers record of jobs and sessions.
  {
    name: "fleet/recordings",
    files: /^hub\/fleet\/recordings\//,
    may: ["fleet/registries", "fleet/retention"],
    packages: [],
  },
  // Web archives and recordings of requests, as they are read and written.
  { name: "fleet/archive", files: /^hub\/fleet\/archive\//, may: [], packages: [] },
  // What a saved page says, as lines.
  { name: "fleet/page-text", files: /^hub\/fleet\/page-text\//, may: [], packages: ["entities"] },
  {
    name: "fleet/jobs",
    files: /^hub\/fleet\/jobs\//,
    may: [
      "fleet/pure",
      "fleet/registries",
      "fleet/links",
      "fleet/sessions",
      "fleet/archive",
      "fleet/recordings",
      "fleet/page-text",
      "fleet/metrics",
      "fleet/retention",
    ],
    packages: [...ZOD, "client-zip"],
  },
  // Failed jobs in groups, and what is done to many jobs.
  { name: "fleet/failures", files: /^hub\/fleet\/failures\//, may: ["fleet/jobs"], packages: ZOD },
  {
    name: "fleet/imports",
    files: /^hub\/fleet\/imports\//,
    may: ["fleet/archive", "fleet/jobs"],
    packages: ZOD,
  },
  // What two jobs captured, compared; pages that are captured and compared again and again.
  {
    name: "fleet/compare",
    files: /^hub\/fleet\/(compare|watches|search)\//,
    may: ["fleet/jobs", "fleet/page-text"],
    packages: ["diff"],
  },
  // What the fleet does and what goes wrong, counted.
  {
    name: "fleet/figures",
    files: /^hub\/fleet\/figures\//,
    may: ["fleet/registries", "fleet/links", "fleet/retention"],
    packages: [],
  },
  // A script in its sandbox, and the door it has.
  {
    name: "fleet/runner",
    files: /^hub\/fleet\/runner\//,
    may: [],
    packages: [...ZOD, "@babel/parser"],
  },
  // Plans scripts, has them run and judged (modes codegen-loop and rerun).
  {
    name: "fleet/codegen",
    files: /^hub\/fleet\/codegen\//,
    may: [
      "fleet/pure",
      "fleet/registries",
      "fleet/links",
      "fleet/sessions",
      "fleet/jobs",
      "fleet/runner",
    ],
    packages: ZOD,
  },
  // Workers with lanes, as the roll-out sees and checks them.
  {
    name: "fleet/updates",
    files: /^hub\/fleet\/updates\//,
    may: ["fleet/links", "fleet/sessions"],
    packages: [],
  },
  // The program as workers fetch it.
  { name: "fleet/update", files: /^hub\/fleet\/update\//, may: [], packages: [] },
  // Relays between a person's or a program's socket and the bridge of a worker.
  { name: "fleet/viewer", files: /^hub\/fleet\/viewer\//, may: ["fleet/sessions"], packages: [] },
  // Sessions of clients that speak WebDriver.
  {
    name: "fleet/webdriver",
    files: /^hub\/fleet\/webdriver\//,
    may: ["fleet/sessions", "fleet/jobs"],
    packages: HONO,
  },
  // Files for people's own browsers; nothing of it runs in the hub.
  { name: "fleet/extension", files: /^hub\/fleet\/extension\//, may: [], packages: ["client-zip"] },
  { name: "fleet/routes", files: /^hub\/fleet\/routes\//, packages: HONO },
  { name: "fleet", files: /^hub\/fleet\/context\.ts$/, may: [], packages: [] },

  {
    name: "pipeline/routes",
    files: /^hub\/pipeline\/(routes\/|app\.ts$)/,
    packages: [...HONO, "mime"],
  },
  {
    name: "pipeline",
    files: /^hub\/pipeline\//,
    may: [],
    packages: [...ZOD, "cronstrue", "csv-parse"],
  },

  // What people read.
  { name: "plugins/crawl", files: /^hub\/plugins\/crawl\//, packages: ["robots-parser", "saxes"] },
  { name: "plugins", files: /^hub\/plugins\//, packages: [] },
  {
    name: "guide",
    files: /^hub\/guide\//,
    packages: [...HONO, "github-slugger", "markdown-it", "minisearch"],
  },

  // Which page an address is of, for the page's server as for the page.
  {
    name: "ui-paths",
    files: /^hub\/ui\/(chosen-colors|moved|page-path)\.ts$/,
    may: [],
    packages: [],
  },
  // The admin UI as browsers run it: it knows the API by its schemas and the client.
  {
    name: "ui-client",
    files: /^hub\/ui\/client\//,
    may: ["ui-paths"],
    packages: [
      "react",
      "react-dom",
      "@mantine/core",
      "@mantine/form",
      "@mantine/hooks",
      "@mantine/notifications",
      "@mantine/spotlight",
      "@novnc/novnc",
      "@tabler/icons-react",
      "@tanstack/react-query",
      "@tanstack/react-virtual",
      "@xyflow/react",
      "diff",
      "uplot",
      "codemirror",
      "@codemirror/lang-javascript",
      "@codemirror/lang-python",
      "@codemirror/language",
      "@codemirror/state",
      "@codemirror/view",
      "@lezer/highlight",
      "wouter",
      ...ZOD,
    ],
  },
  // Its files, and the page that loads them.
  { name: "ui", files: /^hub\/ui\//, may: ["ui-paths"], packages: HONO },

  // The client starts in milliseconds: it knows no service, not even zod.
  {
    name: "program/cli",
    files: /^hub\/program\/(cli\/|(log-format|live-config)\.ts$)/,
    // `bench` serves the demo page to the lanes that it measures.
    may: ["program/demo"],
    packages: [],
  },
  // All that was given to the program, and where each value comes from.
  {
    name: "program/variables",
    files: /^hub\/program\/variables\//,
    may: ["program/cli"],
    packages: ZOD,
  },
  { name: "program/demo", files: /^hub\/program\/demo\//, may: [], packages: [] },
  { name: "program/backups", files: /^hub\/program\/backups\//, may: [], packages: [] },
  // Commands of a machine's operator: they look at stores, files and units themselves.
  {
    name: "program/commands",
    files: /^hub\/program\/(commands\/|admin-command\.ts$)/,
    may: ["program/cli", "program/variables"],
    packages: ZOD,
  },
  // What agents of other makers use, over standard input and over HTTP: thin calls of the API.
  { name: "program/mcp", files: /^hub\/program\/mcp\//, may: ["program/cli"], packages: MCP },
  { name: "program", files: /^hub\/program\//, packages: HONO },
  { name: "main", files: /^hub\/main\.ts$/, packages: [] },

  ...WORKER_LAYERS,
];
