import type { RouteConfig } from "@hono/zod-openapi";
import { createHubApp } from "#hub/program/app.ts";
import { ErrorBody } from "#shared/protocol/schema/error.ts";
import { startTestHub } from "#test/support/rigs/hub.ts";
import { generatedFile, writeOrCheck } from "./generated-page.ts";
import { namedSchemas } from "./operations/named-schemas.ts";
import { isSchema } from "./operations/schema.ts";
import { createTypeWriter, type TypeWriter } from "./operations/type-text.ts";

/** Writes shared/client/operations.gen.ts: what every route takes and answers, as its definition says; `--check` only compares. */

const FILE = "shared/client/operations.gen.ts";

/** As much of a parameter as /openapi.json says of it. */
interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  schema: { type?: string; enum?: unknown[] };
}
type Content = Record<string, { schema?: unknown } | undefined>;
type Field = [name: string, type: string];

const contentOf = (answer: object): Content =>
  "content" in answer ? ((answer.content as Content | undefined) ?? {}) : {};
const isJson = (media: string): boolean => media === "application/json";

/** A segment of a path is text on the wire, and so is a number there. */
function textOf({ schema: { type = "string", enum: values }, in: place }: Parameter): string {
  if (place === "path") return "string | number";
  if (values) return values.map((value) => JSON.stringify(value)).join(" | ");
  // A query has one of them, or the same name several times.
  if (type === "array") return "string | readonly string[]";
  return type === "integer" ? "number" : type;
}

function parametersOf(all: readonly Parameter[], place: "path" | "query"): Field[] {
  const given = all.filter((one) => one.in === place);
  if (given.length === 0) return [];
  const some_needed = given.some(({ required }) => required);
  const fields = given.map((one) => `${one.name}${one.required ? "" : "?"}: ${textOf(one)}`);
  const name = place === "path" ? "params" : "query";
  return [[some_needed ? name : `${name}?`, `{ ${fields.join("; ")} }`]];
}

function bodyOf(
  body: { required?: boolean; content: Content } | undefined,
  w: TypeWriter,
): Field[] {
  if (body === undefined) return [];
  const media = Object.keys(body.content);
  const schema = body.content["application/json"]?.schema;
  const needed = media.length === 1 && body.required !== false;
  const fields: Field[] = [];
  if (isSchema(schema)) fields.push([needed ? "json" : "json?", w.typeOf(schema, "input")]);
  if (media.some((type) => !isJson(type))) fields.push([needed ? "body" : "body?", "CallBody"]);
  return fields;
}

/** The JSON of every 2xx answer; `never` where there is none to parse. */
function answerOf(responses: RouteConfig["responses"], w: TypeWriter): string {
  const types = new Set<string>();
  for (const [status, answer] of Object.entries(responses)) {
    if (!/^2/.test(status)) continue;
    const content = contentOf(answer);
    const json = content["application/json"]?.schema;
    if (isSchema(json)) types.add(w.typeOf(json, "output"));
    else if (Object.keys(content).length === 0) types.add("null");
  }
  return types.size === 0 ? "never" : [...types].join(" | ");
}

/** The bodies of its refusals by their status: `Plain` are those with a `detail` and nothing else. */
function refusalsOf(responses: RouteConfig["responses"], w: TypeWriter): Field[] {
  const plain: string[] = [];
  const others: string[] = [];
  for (const [status, answer] of Object.entries(responses)) {
    const { schema } = contentOf(answer)["application/json"] ?? {};
    if (Number(status) < 400 || !isSchema(schema)) continue;
    if (schema === (ErrorBody as unknown)) plain.push(status);
    else others.push(`${status}: ${w.typeOf(schema, "output")}`);
  }
  const types = [
    ...(plain.length > 0 ? [`Plain<${plain.join(" | ")}>`] : []),
    ...(others.length > 0 ? [`{ ${others.join("; ")} }`] : []),
  ];
  return types.length === 0 ? [] : [["refusals", types.join(" & ")]];
}

function operationText(
  route: RouteConfig,
  parameters: readonly Parameter[],
  w: TypeWriter,
): string {
  const body = route.request?.body as Parameters<typeof bodyOf>[0];
  const fields: Field[] = [
    ...parametersOf(parameters, "path"),
    ...parametersOf(parameters, "query"),
    ...bodyOf(body, w),
    ["answer", answerOf(route.responses, w)],
    ...refusalsOf(route.responses, w),
  ];
  return [
    `  /** ${route.summary} */`,
    `  "${route.method.toUpperCase()} ${route.path}": {`,
    ...fields.map(([name, type]) => `    ${name}: ${type};`),
    "  };",
  ].join("\n");
}

async function operationsText(): Promise<string> {
  const hub = await startTestHub({ alone: true });
  try {
    const { definitions } = createHubApp(hub.ctx).openAPIRegistry;
    const { paths } = (await hub.call("GET", "/openapi.json")).body;
    const writer = createTypeWriter(await namedSchemas());
    const plain = `type Plain<S extends number> = Record<S, ${writer.typeOf(ErrorBody as never, "output")}>;`;
    const operations = definitions.flatMap((one) => {
      if (one.type !== "route") return [];
      const { method, path } = one.route;
      return [operationText(one.route, paths[path][method].parameters ?? [], writer)];
    });
    return [
      "/**",
      " * Every operation of the API, as its route defines it; written by `bun run gen` (scripts/gen-operations.ts). `answer` is the",
      " * JSON of a success, null where it has none, never where it is no JSON.",
      " */",
      'import type { z } from "zod";',
      ...writer.imports(),
      'import type { CallBody } from "./body.ts";',
      "",
      "/** Refusals that say why in `detail`, and no more. */",
      plain,
      "",
      "export interface Operations {",
      ...operations,
      "}",
      "",
    ].join("\n");
  } finally {
    await hub.close();
  }
}

if (import.meta.main) await writeOrCheck([await generatedFile(FILE, await operationsText())]);
