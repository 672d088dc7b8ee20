import { dirname, join, normalize } from "node:path";
import { Glob, Transpiler } from "bun";

/** The layer rule: who may import whom at run time. Type-only imports are free. */

interface Layer {
  name: string;
  /** Files of the layer; the first match in the list decides. */
  files: RegExp;
  /** Layers it may import besides itself. */
  may: readonly string[];
  /** Packages it may import besides `node:` and `bun`. */
  packages: readonly string[];
}

const ZOD = ["zod", "@hono/zod-openapi"];
const HONO = [...ZOD, "hono"];
const DOMAIN = ["shared", "fleet-pure"];

export const LAYERS: readonly Layer[] = [
  // Type declarations of text imports have no run time.
  { name: "types", files: /\.d\.ts$/, may: [], packages: [] },
  // What hub and worker both read and write: archives of profiles and plugins.
  { name: "archive", files: /^shared\/archive\//, may: ["shared"], packages: ["tar-stream"] },
  { name: "shared", files: /^shared\//, may: [], packages: [...ZOD, "nanoid"] },
  {
    name: "drizzle",
    files: /^drizzle\//,
    may: ["shared"],
    packages: ["drizzle-orm", "drizzle-kit"],
  },

  {
    name: "hub-db",
    files: /^hub\/db\//,
    may: ["drizzle", "shared"],
    packages: ["drizzle-orm", "better-sqlite3", "postgres"],
  },
  {
    name: "hub-stores",
    files: /^hub\/stores\//,
    may: ["shared"],
    // Signs requests to S3.
    packages: ["aws4fetch"],
  },
  // What is secret in them, encrypted.
  {
    name: "hub-secrets",
    files: /^hub\/secrets\//,
    may: ["shared", "archive", "hub-db"],
    packages: [],
  },
  {
    name: "fleet-pure",
    files: /^hub\/(fleet\/schedule|registries\/recipe-match)\.ts$/,
    may: ["shared"],
    packages: [],
  },
  {
    name: "hub-registries",
    files: /^hub\/registries\//,
    may: [...DOMAIN, "archive"],
    packages: ZOD,
  },
  // The other hubs: who they are, what is told to them, and calls passed on to them.
  { name: "hub-cluster", files: /^hub\/cluster\//, may: ["shared"], packages: ZOD },
  {
    name: "hub-fleet",
    files: /^hub\/fleet\//,
    may: [...DOMAIN, "hub-registries", "hub-cluster"],
    packages: ZOD,
  },
  {
    name: "hub-sessions",
    files: /^hub\/sessions\//,
    may: [...DOMAIN, "hub-registries", "hub-cluster", "hub-fleet"],
    packages: ZOD,
  },
  // The program as workers fetch it.
  { name: "hub-update", files: /^hub\/update\//, may: ["shared", "archive"], packages: [] },
  // Which worker takes which version when.
  {
    name: "hub-rollout",
    files: /^hub\/rollout\//,
    may: [...DOMAIN, "hub-cluster", "hub-fleet", "hub-sessions"],
    packages: ZOD,
  },
  // Relays between a person's or a program's socket and the bridge of a worker.
  { name: "hub-viewer", files: /^hub\/viewer\//, may: ["shared", "hub-sessions"], packages: [] },
  // Files for people's own browsers; nothing of it runs in the hub.
  { name: "hub-audit", files: /^hub\/audit\//, may: ["shared"], packages: [] },
  { name: "hub-links", files: /^hub\/links\//, may: ["shared"], packages: [] },
  { name: "hub-extension", files: /^hub\/extension\//, may: [], packages: ["client-zip"] },
  {
    name: "hub-jobs",
    files: /^hub\/jobs\//,
    may: [...DOMAIN, "hub-registries", "hub-cluster", "hub-fleet", "hub-sessions"],
    packages: [...ZOD, "client-zip"],
  },
  // A script in its sandbox, and the door it has.
  {
    name: "hub-runner",
    files: /^hub\/runner\//,
    may: ["shared"],
    packages: [...ZOD, "@babel/parser"],
  },
  // Plans scripts, has them run and judged (modes codegen-loop and rerun).
  {
    name: "hub-codegen",
    files: /^hub\/codegen\//,
    may: [
      ...DOMAIN,
      "hub-registries",
      "hub-cluster",
      "hub-fleet",
      "hub-sessions",
      "hub-jobs",
      "hub-runner",
    ],
    packages: ZOD,
  },
  {
    name: "hub-http",
    files: /^hub\/http\//,
    may: ["shared"],
    packages: [...HONO, "swagger-ui-dist", "@fastify/busboy"],
  },
  // What people read: it knows neither fleet nor pipeline.
  {
    name: "hub-guide",
    files: /^hub\/guide\//,
    may: ["shared", "hub-http"],
    packages: [...HONO, "github-slugger", "markdown-it", "minisearch"],
  },
  {
    name: "hub-routes",
    files: /^hub\/(control\/)?routes\//,
    may: [
      ...DOMAIN,
      "hub-http",
      "hub-cluster",
      "hub-jobs",
      "hub-codegen",
      "hub-sessions",
      "hub-viewer",
      "hub-audit",
      "hub-links",
      "hub-extension",
      "hub-update",
      "hub-rollout",
      "hub-ui",
      "hub-fleet",
      "hub-registries",
      "hub-control",
    ],
    packages: [...HONO, "mime"],
  },
  {
    name: "hub-assembly",
    files: /^hub\/(app|serve|context|control\/app)\.ts$/,
    may: [
      ...DOMAIN,
      "hub-db",
      "hub-stores",
      "hub-secrets",
      "hub-registries",
      "hub-cluster",
      "hub-fleet",
      "hub-sessions",
      "hub-audit",
      "hub-links",
      "hub-jobs",
      "hub-runner",
      "hub-codegen",
      "hub-rollout",
      "hub-http",
      "hub-guide",
      "hub-routes",
      "hub-control",
      "hub-config",
      "hub-changes",
      "hub-demo",
    ],
    packages: HONO,
  },
  {
    name: "hub-config",
    files: /^hub\/config\.ts$/,
    may: ["shared"],
    // A schedule is judged where it is read.
    packages: [...ZOD, "croner"],
  },
  // All that was given to the program, and where each value comes from.
  {
    name: "variables",
    files: /^hub\/variables\//,
    may: ["shared", "hub-cli", "hub-config", "worker-config"],
    packages: ZOD,
  },
  {
    name: "hub-control",
    files: /^hub\/control\//,
    may: [...DOMAIN, "drizzle", "archive"],
    packages: [...ZOD, "croner"],
  },
  // Which page an address is of, for the page's server as for the page.
  { name: "ui-paths", files: /^hub\/ui\/page-path\.ts$/, may: [], packages: [] },
  // The admin UI as browsers run it: it knows the API by its schemas alone.
  {
    name: "ui-client",
    files: /^hub\/ui\/client\//,
    may: ["shared", "ui-paths"],
    packages: [
      "react",
      "react-dom",
      "@mantine/core",
      "@mantine/hooks",
      "@mantine/notifications",
      "@mantine/spotlight",
      "@tabler/icons-react",
      "@tanstack/react-query",
      "@tanstack/react-virtual",
      "@xyflow/react",
      "diff",
      "uplot",
      "wouter",
      ...ZOD,
    ],
  },
  // Its files, and the page that loads them.
  { name: "hub-ui", files: /^hub\/ui\//, may: ["shared", "ui-paths"], packages: [] },
  { name: "hub-changes", files: /^hub\/changes\.ts$/, may: [], packages: [] },
  // The client starts in milliseconds: nothing of the hub, not even zod.
  { name: "hub-cli", files: /^hub\/cli\//, may: ["shared"], packages: [] },
  { name: "hub-demo", files: /^hub\/demo\//, may: [], packages: [] },
  {
    name: "dev-child",
    files: /^hub\/lane-ports\.ts$/,
    may: ["shared", "hub-cli"],
    packages: [],
  },
  {
    name: "dev",
    files: /^hub\/dev\.ts$/,
    may: ["shared", "hub-cli", "hub-config", "hub-assembly", "dev-child", "hub-demo"],
    packages: [],
  },
  // A command of the client's shape that opens the database itself.
  {
    name: "admin-command",
    files: /^hub\/admin-command\.ts$/,
    may: ["shared", "hub-cli", "hub-config", "variables", "hub-db", "hub-control"],
    packages: [],
  },
  // Commands of a machine's operator: they look at stores, files and units themselves.
  {
    name: "commands",
    files: /^hub\/commands\//,
    may: [
      "shared",
      "archive",
      "hub-cli",
      "hub-config",
      "variables",
      "hub-db",
      "hub-stores",
      "hub-secrets",
      "hub-registries",
      "hub-runner",
      // What a worker's updates came to stands in its data directory.
      "worker-update",
    ],
    packages: ZOD,
  },
  {
    name: "main",
    files: /^hub\/main\.ts$/,
    may: [
      "shared",
      "hub-cli",
      "hub-config",
      "variables",
      "hub-assembly",
      "dev",
      "admin-command",
      "commands",
      "worker-start",
      "worker-config",
      "worker-update",
    ],
    packages: [],
  },

  { name: "worker-config", files: /^worker\/config\.ts$/, may: ["shared"], packages: ZOD },
  // The way out of the lanes: names, what may be connected to, and the sockets.
  { name: "egress", files: /^worker\/egress\//, may: ["shared"], packages: [] },
  { name: "cdp", files: /^worker\/cdp\//, may: ["shared"], packages: ["devtools-protocol"] },
  { name: "browser", files: /^worker\/browser\//, may: ["shared", "cdp"], packages: [] },
  { name: "record", files: /^worker\/record\//, may: ["shared", "cdp"], packages: ["mime"] },
  {
    name: "lanes",
    files: /^worker\/lanes\//,
    may: ["shared", "egress", "cdp", "browser", "record"],
    packages: [],
  },
  // Engines as the worker asks the hub for them, and what they are told of pages.
  { name: "worker-llm", files: /^worker\/llm\//, may: ["shared"], packages: [] },
  // The one place that knows Playwright: recipes of a fetch job and the actions of a session.
  {
    name: "page-actions",
    files: /^worker\/actions\//,
    may: ["shared", "cdp", "browser", "lanes", "worker-llm"],
    packages: ["playwright-core", "turndown", "@joplin/turndown-plugin-gfm"],
  },
  {
    name: "video",
    files: /^worker\/video\//,
    may: ["shared", "egress", "cdp", "browser", "record", "lanes"],
    packages: ["mime"],
  },
  {
    name: "profile",
    files: /^worker\/profile\//,
    may: ["shared", "archive", "cdp", "browser", "lanes"],
    packages: [],
  },
  {
    name: "fetch",
    files: /^worker\/fetch\//,
    may: ["shared", "egress", "cdp", "browser", "record", "lanes", "page-actions", "video"],
    packages: [],
  },
  // Jobs whose page a script of the hub drives.
  {
    name: "scripted",
    files: /^worker\/scripted\//,
    may: ["shared", "record", "lanes", "fetch"],
    packages: [],
  },
  {
    name: "session",
    files: /^worker\/session\//,
    may: [
      "shared",
      "cdp",
      "browser",
      "record",
      "lanes",
      "fetch",
      "worker-llm",
      "page-actions",
      "profile",
    ],
    packages: ["mime"],
  },
  {
    name: "bridge",
    files: /^worker\/bridge\//,
    may: ["shared", "cdp", "browser", "lanes", "session"],
    packages: [],
  },
  { name: "upload", files: /^worker\/upload\//, may: ["shared"], packages: [] },
  { name: "link", files: /^worker\/link\//, may: ["shared"], packages: [] },
  { name: "pipeline", files: /^worker\/pipeline\//, may: ["shared", "archive"], packages: ZOD },
  // Supervises worker processes; it speaks to the control plane as they do.
  { name: "agent", files: /^worker\/agent\//, may: ["shared", "pipeline"], packages: ZOD },
  {
    name: "worker-parts",
    files: /^worker\/((host-load|process-cpu|gpus|gpu-sampler)\.ts$|update\/watchdog\.ts$)/,
    may: ["shared"],
    packages: [],
  },
  // Which version runs. It names every package of the worker, for versions that have none of their own.
  {
    name: "worker-update",
    files: /^worker\/update\//,
    may: ["shared", "archive"],
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
  {
    name: "worker-start",
    files:
      /^worker\/(own-dirs|services|start|start-pull|start-agent|start-update|finish-work|run-job|run-page|job-browser|late-uploads)\.ts$/,
    may: [
      "shared",
      "worker-config",
      "worker-parts",
      "worker-update",
      "egress",
      "link",
      "pipeline",
      "agent",
      "worker-llm",
      "upload",
      "page-actions",
      "video",
      "profile",
      "session",
      "bridge",
      "fetch",
      "scripted",
      "lanes",
      "record",
      "browser",
      "cdp",
    ],
    packages: [],
  },
];

export const layerOf = (file: string): Layer | null =>
  LAYERS.find((layer) => layer.files.test(file)) ?? null;

const ALIAS = /^#(shared|hub|worker|drizzle|test)\//;

/** The imported file relative to the root, or null for a package. */
function resolveSpecifier(file: string, specifier: string): string | null {
  if (ALIAS.test(specifier)) return specifier.slice(1);
  if (specifier.startsWith(".")) return normalize(join(dirname(file), specifier));
  return null;
}

const packageOf = (specifier: string): string =>
  specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");

/** A file's own words against the rule, given what it imports. */
export function judgeImports(file: string, specifiers: string[]): string[] {
  const from = layerOf(file);
  if (!from) return [`${file}: belongs to no layer`];
  const problems: string[] = [];
  for (const specifier of specifiers) {
    const target = resolveSpecifier(file, specifier);
    if (target === null) {
      if (/^(node:|bun(:|$))/.test(specifier)) continue;
      if (!from.packages.includes(packageOf(specifier)))
        problems.push(`${file} (${from.name}) must not import the package ${specifier}`);
      continue;
    }
    if (!/\.tsx?$/.test(target)) continue; // text and style imports carry no code
    const to = layerOf(target);
    if (!to) problems.push(`${file} (${from.name}) imports ${target}, which belongs to no layer`);
    else if (to !== from && !from.may.includes(to.name))
      problems.push(`${file} (${from.name}) must not import ${specifier} (${to.name})`);
  }
  return problems;
}

/** Every violation below `root`, one line each. */
export async function checkLayers(root: string): Promise<string[]> {
  const transpiler = {
    ts: new Transpiler({ loader: "ts" }),
    tsx: new Transpiler({ loader: "tsx" }),
  };
  const files = await Array.fromAsync(
    new Glob("{hub,worker,shared,drizzle}/**/*.{ts,tsx}").scan(root),
  );
  const problems: string[] = [];
  for (const file of files.filter((f) => !f.endsWith(".d.ts")).sort()) {
    const source = await Bun.file(join(root, file)).text();
    const imports = transpiler[file.endsWith("x") ? "tsx" : "ts"].scanImports(source);
    problems.push(
      ...judgeImports(
        file,
        imports.map((i) => i.path),
      ),
    );
  }
  return problems;
}

if (import.meta.main) {
  const problems = await checkLayers(join(import.meta.dir, ".."));
  for (const problem of problems) console.error(problem);
  process.exit(problems.length > 0 ? 1 : 0);
}
