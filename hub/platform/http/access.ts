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
  view: "Who may look: where there is a token, its holder, of any role.",
  submit: "Who may put work in: where there is a token, one of the role submitter or above.",
  operate:
    "Who may work with the fleet: where there is a token, one of the role operator or above.",
  admin: "The administrator, by the password or a token of the role admin.",
  worker: "A worker or an agent, by its secret; never a page.",
  capability: "Whoever knows the id in the path.",
  link: "Whoever has a signed link to it, for as long as that holds.",
} as const;
export type Access = keyof typeof ACCESS;

/** Of several hubs the one that alone can answer: that of the session, of the worker's link, or of the job's session. */
export type Owner = "session" | "worker" | "kept link" | "job";

/** What a route says of itself. The gate, the passing-on between hubs, the notices of changes and the documentation read it. */
export interface RouteRules {
  readonly access: Access;
  /** Of `worker`: what the handler itself asks for in the place of WORKER_SECRET. */
  readonly proof?: "upload token" | "registration";
  /** Of `admin`: what it is while no administrator's password is set. Absent: nobody's. */
  readonly until_password?: "operate";
  /** Of `link`: what its link must be for. */
  readonly opens?: LinkKind;
  /** Calls of it that ask a token for the role admin: what runs commands or reads secrets. Its handler has `trustedOnly`. */
  readonly admin_for?: string;
  /** Also a worker's by its secret, and anybody's while workers have none: what tasks of plugins need. */
  readonly also?: "worker";
  /** Absent: any hub answers. */
  readonly owner?: Owner;
  /** What open pages should read again after it. */
  readonly changes?: readonly Topic[];
  /** Paths of a GET that make something: for people who go there and for programs, for nothing that a page loads by itself. */
  readonly by_visit?: RegExp;
  /** A socket by which a browser is steered: recorded, unless it asks to watch. */
  readonly takes_over?: true;
  /** `never`: no page of another origin, also of those that CORS allows. `extensions`: those of browsers' extensions too. */
  readonly origins?: "never" | "extensions";
}

/** Every method but GET says what it changes, be it nothing. */
export type RulesFor<M> = RouteRules & (M extends "get" ? unknown : { changes: readonly Topic[] });

export interface TableRow {
  readonly method: string;
  /** As Hono writes it: `/jobs/:id`. */
  readonly path: string;
  readonly rules: RouteRules;
}

const declared = new WeakMap<object, RouteRules>();

/** The rules of a route; comes before its handlers. The gate has acted on them when it is reached. */
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

/** Every route of the app with its rules, each once. @throws Error naming the routes that say nothing of themselves. */
export function routeTable({ routes }: Routes): TableRow[] {
  const table = new Map<string, TableRow>();
  const silent = new Set<string>();
  for (const { method, path, handler } of routes) {
    // Middleware, and the answer 405: no route of its own.
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
