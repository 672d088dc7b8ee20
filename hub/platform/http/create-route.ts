import { type RouteConfig, createRoute as zodRoute } from "@hono/zod-openapi";
import { access, type RouteRules, type RulesFor } from "./access.ts";
import type { App } from "./new-app.ts";

type Config<P extends string> = Omit<RouteConfig, "path"> & {
  path: P;
  /** Its name in generated clients: a verb and its object, in camelCase, unique in the API. */
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

/** What the gate may answer before the route does; a route's own description of the same status replaces it. */
function answersOf({ access: who, proof }: RouteRules): Record<number, Answer> {
  const everywhere = { 421: answer("WrongHost") };
  switch (who) {
    case "public":
    case "capability":
      return everywhere;
    case "worker":
      if (proof === "registration") return everywhere;
      if (proof !== undefined) return { 401: answer("Unauthorized"), ...everywhere };
      return { 401: answer("Unauthorized"), 429: answer("TooMany"), ...everywhere };
    case "link":
      return { 403: answer("Forbidden"), ...everywhere };
    default:
      return {
        401: answer("Unauthorized"),
        403: answer("Forbidden"),
        429: answer("TooMany"),
        ...everywhere,
      };
  }
}

/** Describes a route: zod-openapi's description, with who may call it, which hub answers, and what it changes. */
export function createRoute<P extends string, R extends Config<P>>(
  config: R & RulesFor<R["method"]>,
): Described<R> {
  const { access: who, proof, until_password, admin_for, operator_for, ...others } = config;
  const { also, opens, owner, changes, by_visit, new_work, ...some } = others;
  const { takes_over, calls_others, of_client, ...more } = some;
  const { token_in_query, token_in_basic, origins, ...rest } = more;
  const rules: RouteRules = {
    access: who,
    proof,
    until_password,
    admin_for,
    operator_for,
    also,
    opens,
    owner,
    changes,
    by_visit,
    new_work,
    takes_over,
    calls_others,
    of_client,
    token_in_query,
    token_in_basic,
    origins,
  };
  const route = zodRoute({
    ...rest,
    security: securityOf(rules),
    responses: { ...answersOf(rules), ...config.responses },
    "x-access": who,
    ...(admin_for !== undefined && { "x-admin-for": admin_for }),
    ...(operator_for !== undefined && { "x-operator-for": operator_for }),
    middleware: [access(rules), ...[config.middleware ?? []].flat()],
  });
  // Not enumerable, because the document is made of the enumerable fields.
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
  Unauthorized: refusal("A token, a password or a secret is required, but missing or wrong"),
  Forbidden: refusal("A page of another origin sent it, or it needs another role"),
  TooMany: refusal("Too many wrong tokens, passwords or worker secrets; Retry-After says when"),
  WrongHost: refusal("Its Host header names another server"),
} as const;

/** For `addDocs`. */
export const SECURITY_SCHEMES = {
  token: {
    type: "http",
    scheme: "bearer",
    description: "A token with a role, or SVC_API_TOKEN. If neither exists, none is required.",
  },
  browser: {
    type: "apiKey",
    in: "cookie",
    name: "flotilla_session",
    description: "The login of a browser at the admin UI.",
  },
  password: {
    type: "apiKey",
    in: "header",
    name: "X-Admin-Password",
    description: "The administrator's password, in addition to a token without the role admin.",
  },
  administrator: {
    type: "http",
    scheme: "basic",
    description: "User admin with the administrator's password, if SVC_API_TOKEN is not set.",
  },
  worker_secret: {
    type: "apiKey",
    in: "header",
    name: "X-Worker-Secret",
    description: "WORKER_SECRET, or the secret derived from SVC_API_TOKEN if only that is set.",
  },
  upload_token: {
    type: "http",
    scheme: "bearer",
    description: "The token of the worker's link, received at registration.",
  },
} as const;
