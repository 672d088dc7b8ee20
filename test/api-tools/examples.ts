import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { Finding } from "./finding.ts";

type Node = Record<string, unknown>;
const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null;
const BASE = "https://api.test/openapi.json";

/** Every example beside or within a schema, judged by that schema. */
export function examplesThatDoNotFit(document: Node): Finding[] {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats(ajv);
  ajv.addSchema(document, BASE);
  const found: Finding[] = [];
  const judge = (at: string, schema_at: string, example: unknown) => {
    const fits = ajv.getSchema(`${BASE}${schema_at}`);
    if (fits === undefined) throw new Error(`no schema at ${schema_at}`);
    if (fits(example)) return;
    const message = ajv.errorsText(fits.errors, { dataVar: "example" });
    found.push({ tool: "ajv", error: true, rule: "example", message, at });
  };
  const visit = (node: Node, at: string) => {
    for (const [name, example] of examplesOf(node)) {
      // Of a parameter, a header or a media type; else of the schema that it is in.
      const schema_at = isNode(node.schema) ? `${at}/schema` : at;
      judge(`${at}/${name}`, schema_at, example);
    }
    for (const [key, child] of Object.entries(node))
      if (isNode(child) && !/^(example|examples|default|const|enum)$/.test(key))
        visit(
          child,
          `${at}/${encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))}`,
        );
  };
  visit(document, "#");
  return found;
}

function examplesOf(node: Node): [string, unknown][] {
  const is_named = isNode(node.schema);
  const own: [string, unknown][] = "example" in node ? [["example", node.example]] : [];
  if (!isNode(node.examples)) return own;
  const more = Object.entries(node.examples).map(([name, example]): [string, unknown] => [
    `examples/${name}`,
    is_named ? (example as Node).value : example,
  ]);
  return [...own, ...more];
}
