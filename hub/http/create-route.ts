import { type RouteConfig, createRoute as zodRoute } from "@hono/zod-openapi";
import { access, type RouteRules, type RulesFor } from "./access.ts";
import type { App } from "./new-app.ts";

type Config<P extends string> = Omit<RouteConfig, "path"> & { path: P } & RouteRules;
type Described<R extends Config<string>> = ReturnType<typeof zodRoute<R["path"], R>> & {
  readonly rules: RouteRules;
};

type Requirement = Record<string, string[]>;
const TOKEN: Requirement[] = [{ token: [] }, { browser: [] }];

/** What OpenAPI calls the security requirements of a route; they are alternatives. */
function securityOf({ access: who, proof }: RouteRules): Requirement[] {
  switch (who) {
    case "view":
    case "operate":
      return TOKEN;
    case "admin":
      return [...TOKEN.map((token) => ({ ...token, password: [] })), { administrator: [] }];
    case "worker":
      if (proof === "upload token") return [{ upload_token: [] }];
      return proof === undefined ? [{ worker_secret: [] }] : [];
    default:
      return [];
  }
}

/** Describes a route: zod-openapi's own, with who may call it, which hub answers, and what it changes. */
export function createRoute<P extends string, R extends Config<P>>(
  config: R & RulesFor<R["method"]>,
): Described<R> {
  const { access: who, proof, until_password, opens, owner, changes, ...more } = config;
  const { by_visit, origins, ...rest } = more;
  const rules = { access: who, proof, until_password, opens, owner, changes, by_visit, origins };
  const route = zodRoute({
    ...rest,
    security: securityOf(rules),
    "x-access": who,
    middleware: [access(rules), ...[config.middleware ?? []].flat()],
  });
  // Not enumerable: the document is made of what is.
  return Object.defineProperty(route, "rules", { value: rules }) as never;
}

/** Describes a route whose handler is mounted by hand, with `access(route.rules)` before it. */
export function describeRoute(app: App, { middleware: _, ...route }: RouteConfig): void {
  app.openAPIRegistry.registerPath(route);
}

/** For `addDocs`. */
export const SECURITY_SCHEMES = {
  token: {
    type: "http",
    scheme: "bearer",
    description: "SVC_API_TOKEN. Where it is not set, nothing is asked for.",
  },
  browser: {
    type: "apiKey",
    in: "cookie",
    name: "flotilla_token",
    description: "What the admin UI keeps after the token was given there.",
  },
  password: {
    type: "apiKey",
    in: "header",
    name: "X-Admin-Password",
    description: "The administrator's password, beside the token.",
  },
  administrator: {
    type: "http",
    scheme: "basic",
    description: "User admin with the administrator's password, where there is no token.",
  },
  worker_secret: {
    type: "apiKey",
    in: "header",
    name: "X-Worker-Secret",
    description: "WORKER_SECRET, or the secret made of SVC_API_TOKEN where only that is set.",
  },
  upload_token: {
    type: "http",
    scheme: "bearer",
    description: "That of the worker's link, told with its registration.",
  },
} as const;
