import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { API_TOOLS, installApiTools, run } from "#test/support/rigs/api-tools.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

/** The API's descriptions, as the linters that others use judge them. */

setDefaultTimeout(300_000);

interface Finding {
  tool: string;
  error: boolean;
  rule: string;
  message: string;
  at: string;
}
// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document has no type here
type Document = any;

let dir: string;
let hubs: TestHub[] = [];
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-lint-"));
  await installApiTools();
  hubs = [await startTestHub(), await startTestHub({ mode: "control" })];
});
afterAll(async () => {
  await Promise.all(hubs.map((hub) => hub.close()));
  rmSync(dir, { recursive: true });
});

async function lint(document: Document): Promise<Finding[]> {
  const file = join(dir, `${crypto.randomUUID()}.json`);
  await Bun.write(file, JSON.stringify(document));
  return JSON.parse(await run([process.execPath, "lint.ts", file], API_TOOLS));
}
const documentOf = async (mode: "hub" | "control", path: string): Promise<Document> =>
  (await hubs[mode === "hub" ? 0 : 1]?.call("GET", path))?.body;

/** A WebSocket's only success is 101, which the rules for a success do not know. */
const isSocket = (document: Document, { rule, at }: Finding): boolean => {
  const [, , path = "", method = ""] = at.split("/").map((part) => part.replaceAll("~1", "/"));
  const is_about_success = ["operation-2xx-response", "operation-success-response"].includes(rule);
  return is_about_success && document.paths[path]?.[method]?.responses[101] !== undefined;
};

describe("the API's descriptions pass the recommended rules of Redocly and Spectral", () => {
  test.each([
    ["hub", "/openapi.json"],
    ["hub", "/api/v1/openapi.json"],
    ["control", "/openapi.json"],
  ] as const)(
    "in %s mode %s has no error, no warning and no example that does not fit",
    async (mode, path) => {
      const document = await documentOf(mode, path);
      const found = await lint(document);
      expect(found.filter((one) => !isSocket(document, one))).toEqual([]);
    },
  );

  test("the judges see what is wrong: an operation without a name, an example that does not fit", async () => {
    const document = await documentOf("control", "/api/v1/openapi.json");
    const { post } = document.paths["/api/v1/workloads"];
    delete post.operationId;
    post.requestBody.content["application/json"].example.slug = 7;
    const found = await lint(document);
    expect(new Set(found.map(({ tool }) => tool))).toEqual(new Set(["redocly", "spectral", "ajv"]));
  });
});

describe("/api/v1/openapi.json is the pipeline's part of /openapi.json", () => {
  test("it has every path below /api/v1/ and no other, with the components that they use", async () => {
    const [whole, part] = await Promise.all(
      ["/openapi.json", "/api/v1/openapi.json"].map((path) => documentOf("hub", path)),
    );
    const paths = Object.keys(whole.paths).filter((path) => path.startsWith("/api/v1/"));
    expect(Object.keys(part.paths)).toEqual(paths);
    for (const path of paths) expect(part.paths[path]).toEqual(whole.paths[path]);
    expect(part.components.schemas).toHaveProperty("Workload");
    expect(part.components.schemas).not.toHaveProperty("Session");
    expect(part.tags.map(({ name }: { name: string }) => name)).not.toContain("jobs");
    expect(part.info.version).toBe(whole.info.version);
  });
});
