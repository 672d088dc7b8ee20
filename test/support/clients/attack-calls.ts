import type { HubMode } from "#hub/platform/config.ts";
import { routeTable, type TableRow } from "#hub/platform/http/access.ts";
import { createControlApp, createHubApp } from "#hub/program/app.ts";
import { startTestHub, type TestHub } from "../rigs/hub.ts";

/** A running program, and what its routes say of themselves. */
export interface Attacked {
  readonly hub: TestHub;
  readonly rows: readonly TableRow[];
}

export async function startAttacked(
  mode: HubMode,
  env: Record<string, string> = {},
): Promise<Attacked> {
  const hub = await startTestHub({ mode, env });
  if (mode !== "control") return { hub, rows: routeTable(createHubApp(hub.ctx)) };
  // The control plane alone shows nobody its context; that of a hub has all of it.
  const other = await startTestHub();
  const rows = routeTable(createControlApp(other.ctx));
  await other.close();
  return { hub, rows };
}

const WILD: Record<string, string> = {
  "/*": "/https://127.0.0.1:9/",
  "/ui/*": "/ui/captures",
  "/demo/*": "/demo/",
};

/** An address that this route answers; nothing is there. */
export const addressOf = (path: string): string =>
  WILD[path] ?? path.replace(/:\w+(\{[^}]*\})?/g, "x");

export interface Verdict {
  readonly status: number;
  /** Who turned the call away before its route was reached; null: nobody. */
  readonly refused_by:
    | "token"
    | "password"
    | "no password"
    | "role"
    | "secret"
    | "origin"
    | "host"
    | "link"
    | null;
}

const REFUSALS: [number, RegExp, NonNullable<Verdict["refused_by"]>][] = [
  [401, /a bearer token is required/, "token"],
  [401, /the administrator password is required/, "password"],
  [403, /there is no administrator password/, "no password"],
  [403, /this needs a token of the role/, "role"],
  [401, /bad worker secret/, "secret"],
  [403, /may not (call|load) this/, "origin"],
  [403, /this link was not made here/, "link"],
  [421, /this server is not called/, "host"],
];

/** Makes the call with an empty object as its body, where it may have one. */
export async function attack(
  hub: TestHub,
  { method, path }: Pick<TableRow, "method" | "path">,
  headers: Record<string, string> = {},
): Promise<Verdict> {
  const has_body = !["GET", "DELETE"].includes(method);
  const response = await fetch(hub.url + addressOf(path), {
    method,
    headers: { ...(has_body && { "content-type": "application/json" }), ...headers },
    ...(has_body && { body: "{}" }),
    redirect: "manual",
    signal: AbortSignal.timeout(60_000),
  });
  const { status } = response;
  if (status !== 401 && status !== 403 && status !== 421) {
    // An event stream has no end.
    await response.body?.cancel();
    return { status, refused_by: null };
  }
  const text = await response.text();
  const found = REFUSALS.find(([code, words]) => code === status && words.test(text));
  return { status, refused_by: found?.[2] ?? null };
}

/** The same for many routes, some at a time. */
export async function attackAll<T>(
  rows: readonly TableRow[],
  each: (row: TableRow) => Promise<T>,
): Promise<(readonly [string, T])[]> {
  const left = [...rows];
  const done: (readonly [string, T])[] = [];
  const next = async () => {
    for (let row = left.shift(); row !== undefined; row = left.shift())
      done.push([`${row.method} ${row.path}`, await each(row)]);
  };
  await Promise.all(Array.from({ length: 8 }, next));
  return done.sort(([a], [b]) => a.localeCompare(b));
}
