import { type RouteConfig, createRoute as zodRoute } from "@hono/zod-openapi";
import { access, type RouteRules, type RulesFor } from "./access.ts";
import type { App } from "./new-app.ts";

type Config<P extends string> = Omit<RouteConfig, "path"> & {
  path: P;
  /** What clients that are generated call it: a verb and what it is done to, in camelCase, once in the whole API. */
  operationId: string;
} & RouteRules;
type Described<R extends Config<string>> = ReturnType<typeof zodRoute<R["path"], R>> & {
  readonly rules: RouteRules;
};

type Requirement = Record<string, string[]>;
const TOKEN: Requirement[] = [{ token: [] }, { browser: [] }];

/** What OpenAPI calls the security requirements of a route; they are alternatives. */
function securityOf({ access: who, proof, also }: RouteRules): Requirement[] {
  switch (who) {
    case "view":
    case "submit":
    case "operate":
      return also === undefined ? TOKEN : [...TOKEN, { worker_secret: [] }];
    case "admin":
      return [
        ...TOKEN,
        ...TOKEN.map((token) => ({ ...token, password: [] })),
        { administrator: [] },
      ];
    case "worker":
      if (proof === "upload token") return [{ upload_token: [] }];
      return proof === undefined ? [{ worker_secret: [] }] : [];
    default:
      return [];
  }
}

type Answer = { $ref: string };
const answer = (name: keyof typeof ANSWERS): Answer => ({ $ref: `#/components/responses/${name}` });

/** What the gate may answer before the route does; what a route says of the same status counts instead. */
function answersOf({ access: who, proof }: RouteRules): Record<number, Answer> {
  const everywhere = { 421: answer("WrongHost") };
  switch (who) {
    case "public":
    case "capability":
      return everywhere;
    case "worker":
      return proof === "registration" ? everywhere : { 401: answer("Unauthorized"), ...everywhere };
    case "link":
      return { 403: answer("Forbidden"), ...everywhere };
    default:
      return {
        ...{ 401: answer("Unauthorized"), 403: answer("Forbidden"), 429: answer("TooMany") },
        ...everywhere,
      };
  }
}

/** Describes a route: zod-openapi's own, with who may call it, which hub answers, and what it changes. */
export function createRoute<P extends string, R extends Config<P>>(
  config: R & RulesFor<R["method"]>,
): Described<R> {
  const { access: who, proof, until_password, admin_for, also, opens, ...others } = config;
  const { owner, changes, by_visit, takes_over, origins, ...rest } = others;
  const rules: RouteRules = {
    ...{ access: who, proof, until_password, admin_for, also, opens },
    ...{ owner, changes, by_visit, takes_over, origins },
  };
  const route = zodRoute({
    ...rest,
    security: securityOf(rules),
    responses: { ...answersOf(rules), ...config.responses },
    "x-access": who,
    ...(admin_for !== undefined && { "x-admin-for": admin_for }),
    middleware: [access(rules), ...[config.middleware ?? []].flat()],
  });
  // Not enumerable: the document is made of what is.
  return Object.defineProperty(route, "rules", { value: rules }) as never;
}

/** Describes a route whose handler is mounted by hand, with `access(route.rules)` before it. */
export function describeRoute(app: App, { middleware: _, ...route }: RouteConfig): void {
  app.openAPIRegistry.registerPath(route);
}

const refusal = (description: string) => ({
  description,
  content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
});

/** For `addDocs`: components that routes refer to. */
export const ANSWERS = {
  Unauthorized: refusal("A token, a password or a secret is asked for, and is missing or wrong"),
  Forbidden: refusal("A page of another origin sent it, or it needs another role"),
  TooMany: refusal("Too many wrong tokens or passwords; Retry-After says when"),
  WrongHost: refusal("Its Host header names another server"),
} as const;

/** For `addDocs`. */
export const SECURITY_SCHEMES = {
  token: {
    type: "http",
    scheme: "bearer",
    description:
      "A token with a role, or SVC_API_TOKEN. Where there is neither, nothing is asked for.",
  },
  browser: {
    type: "apiKey",
    in: "cookie",
    name: "flotilla_session",
    description: "The session of a browser that was let in at the admin UI.",
  },
  password: {
    type: "apiKey",
    in: "header",
    name: "X-Admin-Password",
    description: "The administrator's password, beside a token that is not of the role admin.",
  },
  administrator: {
    type: "http",
    scheme: "basic",
    description: "User admin with the administrator's password, where SVC_API_TOKEN is not set.",
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
