import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TableRow } from "#hub/platform/http/access.ts";
import { routeTable } from "#hub/platform/http/access.ts";
import { createHubApp } from "#hub/program/app.ts";
import { rawUntil } from "#test/support/clients/raw-request.ts";
import type { OpenApi } from "#test/support/clients/sample-calls.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { type Attempts, attempting } from "#test/support/rigs/attempts.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { HOSTILE_NAMES, IN_PATHS, IN_QUERIES } from "./lists/hostile-names.ts";

/** Names that lead out of a directory, end a header or break a statement, byte for byte on every route that takes one. */

setDefaultTimeout(300_000);

const CANARY = "attack-canary-beside-the-data-directory";

let hub: TestHub;
let worker: FakeWorker;
let rows: readonly TableRow[];
/** What is there, so that a hostile name behind it is looked at. */
let known: Record<string, string>;
beforeAll(async () => {
  hub = await startTestHub({ alone: true, env: { SVC_SUBMIT_WAIT_S: "0" } });
  rows = routeTable(createHubApp(hub.ctx));
  await writeFile(join(hub.root, "canary"), CANARY);
  worker = await hub.worker({ lanes: 2, on_call: () => ({ ok: true, kind: null, result: null }) });
  const job_id = (await hub.call("POST", "/jobs", { url: TARGET })).body.job_id;
  await worker.assigned.next();
  const session_id = (await hub.call("POST", "/sessions", {})).body.session_id;
  known = { "/jobs": job_id, "/sessions": session_id, "/workers": "w11" };
}, 180_000);
afterAll(() => hub?.close());

/** The routes with a parameter at each of its places in turn: `hole` is where the name goes. */
const holesOf = (path: string): ((name: string) => string)[] => {
  const parts = path.replace(/\{[^}]*\}/g, "").split("/");
  return parts.flatMap((part, at) =>
    part.startsWith(":")
      ? [
          (name: string) =>
            parts
              .map((other, i) =>
                i === at ? name : other.startsWith(":") ? sampleAt(parts, i) : other,
              )
              .join("/"),
        ]
      : [],
  );
};
const sampleAt = (parts: readonly string[], at: number): string =>
  known[`/${parts[at - 1]}`] ?? "x";

const BODY: Record<string, string> = { GET: "", DELETE: "" };

/** What is wrong with the answer; null when nothing is. */
async function judge(method: string, path: string): Promise<string | null> {
  const body = BODY[method] ?? "{}";
  const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n`;
  const of_body = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  // An event stream has no end: what would be wrong is in its beginning.
  const enough = /\r\n\r\n[\s\S]{4096}|text\/event-stream[\s\S]*\r\n\r\n/;
  const answer = await rawUntil(hub.url, `${head}${body && of_body}\r\n${body}`, enough);
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
  if (status === 0 || status === 500) return `${status}`;
  if (answer.includes("root:x:0:0") || answer.includes(CANARY)) return "shows another file";
  if (/^x-evil:/im.test(answer.split("\r\n\r\n")[0] ?? "")) return "has a header of the caller's";
  return null;
}

/** Makes every call, some at a time; what was wrong. */
async function judgeAll(
  calls: readonly { method: string; path: string; attempt: string }[],
  tried: Attempts,
): Promise<string[]> {
  const left = [...calls];
  const wrong: string[] = [];
  const next = async () => {
    for (let call = left.shift(); call !== undefined; call = left.shift()) {
      if (left.length % 100 === 0) worker.heartbeat();
      const found = await judge(call.method, call.path);
      if (found === null) tried.refused(call.attempt);
      else wrong.push(`${call.method} ${call.path.slice(0, 200)} (${call.attempt}): ${found}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, next));
  return wrong;
}

/** Files that no name may have made, and errors that no name may have caused. */
async function demandWhole(): Promise<void> {
  expect(hub.log.filter(({ level }) => level === "error")).toEqual([]);
  expect((await readdir(hub.root)).sort()).toEqual(["canary", "data"]);
  expect(existsSync("/evil")).toBeFalse();
  expect((await hub.call("GET", "/health")).status).toBe(200);
}

test("no name in a path leads to another file, another header or an error", async () => {
  const tried = attempting(IN_PATHS);
  const calls = rows.flatMap(({ method, path }) =>
    holesOf(path).flatMap((at) =>
      Object.entries(HOSTILE_NAMES).map(([attempt, name]) => ({ method, path: at(name), attempt })),
    ),
  );
  expect(calls.length).toBeGreaterThan(3_000);
  expect(await judgeAll(calls, tried)).toEqual([]);
  await demandWhole();
  expect(tried.left()).toEqual([]);
});

test("nor in a query", async () => {
  const tried = attempting(IN_QUERIES);
  const { paths } = (await hub.call("GET", "/openapi.json")).body as OpenApi;
  const calls = Object.entries(paths).flatMap(([template, operations]) =>
    Object.entries(operations).flatMap(([method, { parameters = [] }]) =>
      parameters
        .filter((parameter) => parameter.in === "query")
        .flatMap(({ name }) => {
          const parts = template.replaceAll(/\{(\w+)\}/g, ":$1").split("/");
          const path = parts
            .map((part, i) => (part.startsWith(":") ? sampleAt(parts, i) : part))
            .join("/");
          const of = (attempt: string, query: string) => ({
            method: method.toUpperCase(),
            attempt,
            path: `${path}?${query}`,
          });
          return [
            ...Object.entries(HOSTILE_NAMES).map(([attempt, value]) =>
              of(attempt, `${name}=${value}`),
            ),
            of("a parameter that is given twice", `${name}=1&${name}=..%2f..&${name}[]=2`),
          ];
        }),
    ),
  );
  expect(calls.length).toBeGreaterThan(1_000);
  expect(await judgeAll(calls, tried)).toEqual([]);
  await demandWhole();
  expect(tried.left()).toEqual([]);
});
