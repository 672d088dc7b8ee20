import { TAGS } from "./api-tags.ts";
import { ANSWERS, SECURITY_SCHEMES } from "./create-route.ts";
import type { App } from "./new-app.ts";

export interface ApiInfo {
  readonly title: string;
  readonly version: string;
  readonly description: string;
}

type Document = ReturnType<App["getOpenAPI31Document"]>;
type Paths = NonNullable<Document["paths"]>;
type Components = Record<string, Record<string, unknown>>;

const LICENSE = { name: "MIT", identifier: "MIT" };
/** Relative, so it is the address that the document was read from. */
const SERVERS = [{ url: "/", description: "The server that this description comes from" }];

/** The names that the routes' descriptions refer to; before the first document is made. */
export function registerShared({ openAPIRegistry }: App): void {
  for (const [name, scheme] of Object.entries(SECURITY_SCHEMES))
    openAPIRegistry.registerComponent("securitySchemes", name, scheme);
  for (const [name, answer] of Object.entries(ANSWERS))
    openAPIRegistry.registerComponent("responses", name, answer);
}

/** The app's routes as OpenAPI 3.1, with the components and tags that a path refers to. */
export function documentOf(app: App, info: ApiInfo): Document {
  const contact = { name: info.title };
  return trimmed(
    app.getOpenAPI31Document({
      openapi: "3.1.0",
      info: { ...info, contact, license: LICENSE },
      servers: SERVERS,
    }),
  );
}

/** The part of a document whose paths begin with `prefix`, as a separate document. */
export function partOf(document: Document, prefix: string, title: string): Document {
  const paths = Object.entries(document.paths ?? {}).filter(([path]) => path.startsWith(prefix));
  const info = { ...document.info, title, contact: { name: title } };
  return trimmed({ ...document, info, paths: Object.fromEntries(paths) });
}

function trimmed(document: Document): Document {
  const paths = document.paths ?? {};
  return {
    ...document,
    tags: tagsOf(paths),
    components: componentsOf(paths, (document.components ?? {}) as Components),
  };
}

const operationsOf = (paths: Paths) =>
  Object.values(paths).flatMap((path) => Object.values(path as object)) as {
    tags?: string[];
    security?: Record<string, unknown>[];
  }[];

function tagsOf(paths: Paths) {
  const used = new Set(operationsOf(paths).flatMap(({ tags = [] }) => tags));
  return Object.entries<string>(TAGS)
    .filter(([name]) => used.has(name))
    .map(([name, description]) => ({ name, description }));
}

/** Components that the paths refer to, and those that they refer to in turn. */
function componentsOf(paths: Paths, all: Components): Document["components"] {
  const found = new Set<string>();
  const schemes = operationsOf(paths).flatMap(({ security = [] }) => security.flatMap(Object.keys));
  for (const name of schemes) found.add(`securitySchemes/${name}`);
  for (let texts = [JSON.stringify(paths)]; texts.length > 0; ) {
    const next: string[] = [];
    for (const [, ref = ""] of texts.join().matchAll(/"#\/components\/([^"]+)"/g)) {
      if (found.has(ref)) continue;
      found.add(ref);
      const [kind = "", name = ""] = ref.split("/");
      next.push(JSON.stringify(all[kind]?.[name] ?? null));
    }
    texts = next;
  }
  const kept = Object.entries(all).map(([kind, of]) => [
    kind,
    Object.fromEntries(Object.entries(of).filter(([name]) => found.has(`${kind}/${name}`))),
  ]);
  return Object.fromEntries(kept);
}
