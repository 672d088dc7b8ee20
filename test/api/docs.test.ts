import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { z } from "zod";
import { startTestHub } from "#test/support/rigs/hub.ts";

/** What /docs shows of each call: enough to try it from the page. */

// Every schema is read anew for each of a hundred bodies.
setDefaultTimeout(180_000);

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document has no type here
type Document = any;

/** Calls that the contract of either service names. */
const FLEET = `
POST /jobs|GET /{target_url}|GET /jobs|GET /jobs/{id}|GET /jobs/{id}/result|GET /jobs/{id}/assets.json
GET /jobs/{id}/assets/{name}|GET /jobs/{id}/page.html|GET /jobs/{id}/log.txt|POST /jobs/{id}/cancel
DELETE /jobs/{id}|POST /jobs/{id}/screenshot/capture|GET /jobs/{id}/events|POST /sessions
POST /sessions/{sid}/navigate|POST /sessions/{sid}/click|POST /sessions/{sid}/evaluate
POST /sessions/{sid}/set_input_files|GET /sessions/{sid}/state|GET /sessions/{sid}/cookies
GET /sessions/{sid}/network|DELETE /sessions/{sid}|GET /sessions/{sid}/novnc/
GET /sessions/{sid}/novnc/websockify|GET /workers|GET /workers/{worker_id}/link|POST /workers/{id}/status
GET /health|GET /hosts|GET /hosts/{host}|PUT /hosts/{host}|POST /hosts/{host}/recipes
PUT /hosts/{host}/login_recipe|GET /profiles|GET /profiles/{name}|POST /profiles/{name}
DELETE /profiles/{name}|POST /profiles/{name}/default|GET /profiles/default|DELETE /profiles/default
GET /profiles/extension/install|GET /engines|GET /engines/{slug}|PUT /engines/{slug}|DELETE /engines/{slug}
POST /engines/{slug}/promote|GET /engines/{slug}/resolve|GET /presets|PUT /presets/{slug}|GET /skills
PUT /skills/{slug}|GET /conventions|PUT /conventions/{slug}|GET /settings|PATCH /settings`;
const PIPELINE = `
GET /health|GET /status|GET /runs|GET /workloads|POST /workloads|GET /workloads/{slug}|PUT /workloads/{slug}
PATCH /workloads/{slug}/enabled|PATCH /workloads/{slug}/supervisor_enabled|DELETE /workloads/{slug}
POST /workloads/{slug}/tasks|POST /workloads/{slug}/tasks/batch|GET /workloads/{slug}/queue
GET /workloads/{slug}/queue/peek|POST /workloads/{slug}/queue/reset-failed|GET /workloads/{slug}/runs
GET /workers|GET /workers/cpu|GET /workers/metrics|POST /workers/{id}/restart|POST /workers/{id}/filter
GET /workers/elastic/inventory|POST /workers/elastic/spawn|POST /workers/elastic/stop
GET /dashboard/overview|GET /dashboard/workloads-runs-summary|GET /flow/snapshot|GET /flow/rates
POST /flow/layout|GET /plugins/available|GET /plugins/{slug}/state/{key}|PUT /plugins/{slug}/state/{key}
DELETE /plugins/{slug}/state/{key}|GET /plugins/{slug}/blob/{key}|PUT /plugins/{slug}/blob/{key}
DELETE /plugins/{slug}/blob/{key}|GET /plugins/{slug}/web/{path}|GET /agents|POST /agents/{host}/sync
GET /settings|POST /settings/llm/test|GET /service-logs|POST /admin/deploy|GET /admin/deploy
GET /minio/{key}`;
const rowsOf = (table: string) => table.trim().split(/[|\n]/);

let document: Document;
let control: Document;
let close: () => Promise<unknown>;
beforeAll(async () => {
  const hubs = [await startTestHub(), await startTestHub({ mode: "control" })] as const;
  close = () => Promise.all(hubs.map((hub) => hub.close()));
  [document, control] = await Promise.all(
    hubs.map(async (hub) => (await hub.call("GET", "/openapi.json")).body),
  );
});
afterAll(() => close());

const operationsOf = (of: Document) =>
  Object.entries<Document>(of.paths).flatMap(([path, methods]) =>
    Object.entries<Document>(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );
/** Names of the operations for which `lacks` says what they lack. */
const gaps = (lacks: (operation: Document, name: string) => string[]): string[] =>
  operationsOf(document).flatMap(({ name, operation }) =>
    lacks(operation, name).map((what) => `${name}: ${what}`),
  );
const missing = (rows: string[], of: Document): string[] => {
  const names = operationsOf(of).map(({ name }) => name);
  // A path with a slash at its end is described without: linters refuse it, and the hub leads from one to the other.
  return rows.filter((row) => !names.includes(row.replace(/\/$/, "")));
};
/** A call that makes what its path names does not miss it; an unknown job's events are closed with 4404. */
const mayMiss = (name: string) => /^(GET|DELETE|PATCH) /.test(name) && !name.endsWith("/events");
const bodies = (operation: Document): [string, Document][] =>
  Object.entries<Document>(operation.requestBody?.content ?? {}).filter(
    ([, { schema }]) => schema.format !== "binary",
  );

describe("/openapi.json and /docs (rules/http#the-description-of-the-api)", () => {
  test("every call of the fleet's contract is there", () => {
    expect(missing(rowsOf(FLEET), document)).toEqual([]);
  });

  test("every call of the pipeline's contract is there, in hub and in control mode", () => {
    const rows = rowsOf(PIPELINE).map((row) => row.replace(" ", " /api/v1"));
    expect(missing(rows, document)).toEqual([]);
    expect(missing(rows, control)).toEqual([]);
  });

  test("every call has a summary and a description that says more", () => {
    expect(
      gaps(({ summary, description }) => [
        ...(summary ? [] : ["no summary"]),
        ...(description && description !== summary ? [] : ["no description"]),
      ]),
    ).toEqual([]);
  });

  test("every call has a name of its own, in camelCase", () => {
    const ids = operationsOf(document).map(({ operation }) => operation.operationId);
    expect(ids.filter((id) => !/^[a-z]+([A-Z][a-z]+|V\d)*$/.test(id))).toEqual([]);
    expect(ids.length).toBe(new Set(ids).size);
  });

  test("every path parameter has an example", () => {
    expect(
      gaps(({ parameters = [] }) =>
        parameters
          .filter((p: Document) => p.in === "path")
          .filter((p: Document) => (p.example ?? p.schema?.example) === undefined)
          .map((p: Document) => p.name),
      ),
    ).toEqual([]);
  });

  test("every request body has an example that its schema takes", () => {
    const text = (schema: unknown) =>
      JSON.stringify(schema).replaceAll("#/components/schemas/", "#/$defs/");
    const $defs = JSON.parse(text(document.components.schemas));
    expect(
      gaps((operation) =>
        bodies(operation).flatMap(([type, { schema, ...content }]) => {
          const named = document.components.schemas[String(schema.$ref).split("/").pop() ?? ""];
          const example = content.example ?? schema.example ?? named?.example;
          if (example === undefined) return [`no example of ${type}`];
          const judge = z.fromJSONSchema({ ...JSON.parse(text(schema)), $defs });
          const { error } = judge.safeParse(example);
          return error ? [error.message] : [];
        }),
      ),
    ).toEqual([]);
  });

  test("every call says which errors it may be answered with, all as {detail}", () => {
    expect(
      gaps(({ responses, parameters = [], ...operation }, name) => {
        const takesJson = bodies(operation).some(([type]) => type === "application/json");
        const needed = [
          ...(parameters.some((p: Document) => p.in === "path") && mayMiss(name) ? [404] : []),
          // WebDriver has statuses of its own.
          ...(takesJson && !name.includes(" /session") ? [400, 415, 422] : []),
          ...(parameters.some((p: Document) => p.in === "query" && p.name === "limit")
            ? [422]
            : []),
        ];
        return needed.filter((status) => !responses[status]).map((status) => `no ${status}`);
      }),
    ).toEqual([]);
  });
});
