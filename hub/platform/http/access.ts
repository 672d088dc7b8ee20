import type { Context, MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import type { LinkKind } from "#shared/protocol/schema/signed-link.ts";
import type { Topic } from "../changes.ts";
import type { HttpEnv } from "./env.ts";

/**
 * Who may call a route. Without SVC_API_TOKEN and without tokens, `view`, `submit` and `operate` are open to everybody
 * (rules/access#open-lan). SVC_API_TOKEN opens these three.
 */
const ACCESS = {
  public: "Anybody.",
  view: "Read access: if there is a token, any role.",
  submit: "Submit work: if there is a token, the role submitter or above.",
  operate: "Operate the fleet: if there is a token, the role operator or above.",
  admin: "The administrator, with the password or a token with the role admin.",
  worker: "A worker or an agent, with its secret; never a page.",
  capability: "Anybody who knows the id in the path.",
  link: "Anybody who has a signed link to it, while the link is valid.",
} as const;
export type Access = keyof typeof ACCESS;

/**
 * The one of several hubs that can answer: the hub of the session, of the worker's link, of the job's session, or of an
 * agent's session of /mcp.
 */
export type Owner = "session" | "worker" | "kept link" | "job" | "mcp";

/** What a route declares. The gate, the relay between hubs, the notices of changes and the documentation read it. */
export interface RouteRules {
  readonly access: Access;
  /** For `worker`: what the handler itself requires instead of WORKER_SECRET. */
  readonly proof?: "upload token" | "registration";
  /** For `admin`: the access while no administrator's password is set. Absent: no one has access then. */
  readonly until_password?: "operate";
  /** For `link`: the kind that its link must have. */
  readonly opens?: LinkKind;
  /**
   * Calls of the route for which a token needs the role admin: those that run commands or read secrets. Its handler has
   * `trustedOnly`.
   */
  readonly admin_for?: string;
  /** For `submit`: calls of the route for which a token needs the role operator. It asks `operatorsOnly`. */
  readonly operator_for?: string;
  /** Also open to a worker with its secret, and to anyone while workers have none: tasks of plugins need it. */
  readonly also?: "worker";
  /** Absent: any hub answers. */
  readonly owner?: Owner;
  /** What open pages should read again after it. */
  readonly changes?: readonly Topic[];
  /**
   * Paths of a GET that create something: for people who visit them and for programs, but not for what a page loads by
   * itself.
   */
  readonly by_visit?: RegExp;
  /** Makes work that has to be stored: refused while a disk is short (rules/storage#disk-reserve). */
  readonly new_work?: true;
  /** A socket that steers a browser: it is recorded, unless it asks only to watch. */
  readonly takes_over?: true;
  /** It changes nothing but by calls of other routes, each of which is recorded: as such it is not. */
  readonly calls_others?: true;
  /** It is one of many commands of a client whose beginning was recorded: as such it is not. */
  readonly of_client?: true;
  /** A token may also be the user or the password of `Authorization: Basic`: some clients take no more than an address. */
  readonly token_in_basic?: true;
  /** A token may also be shown as `token` of the query: clients of CDP often take no more than an address. */
  readonly token_in_query?: true;
  /** `never`: no page of another origin, even one that CORS allows. `extensions`: also pages of browser extensions. */
  readonly origins?: "never" | "extensions";
}

/** Every method except GET declares what it changes, even if it changes nothing. */
export type RulesFor<M> = RouteRules & (M extends "get" ? unknown : { changes: readonly Topic[] });

export interface TableRow {
  readonly method: string;
  /** As Hono writes it: `/jobs/:id`. */
  readonly path: string;
  readonly rules: RouteRules;
}

const declared = new WeakMap<object, RouteRules>();

/** Declares the rules of a route, before its handlers. The gate has applied them by the time it runs. */
export function access(rules: RouteRules): MiddlewareHandler<HttpEnv> {
  const line: MiddlewareHandler<HttpEnv> = (_c, next) => next();
  declared.set(line, rules);
  return line;
}

/** The route that answers this call: its rules, and its path as Hono writes it; null when there is none. */
export function matchOf(c: Context): Omit<TableRow, "method"> | null {
  for (const { handler, path } of matchedRoutes(c)) {
    const rules = declared.get(handler);
    if (rules !== undefined) return { rules, path };
  }
  return null;
}

interface Routes {
  readonly routes: readonly { method: string; path: string; handler: object }[];
}

/**
 * Every route of the app with its rules, each once.
 * @throws Error naming the routes that declare no rules.
 */
export function routeTable({ routes }: Routes): TableRow[] {
  const table = new Map<string, TableRow>();
  const silent = new Set<string>();
  for (const { method, path, handler } of routes) {
    // Middleware and the answer 405 are not routes.
    if (method === "ALL") continue;
    const name = `${method} ${path}`;
    if (table.has(name)) continue;
    const rules = declared.get(handler);
    if (rules === undefined) silent.add(name);
    else table.set(name, { method, path, rules });
  }
  if (silent.size > 0) throw new Error(`routes without an access line: ${[...silent].join(", ")}`);
  return [...table.values()];
}
