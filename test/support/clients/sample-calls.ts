/** A call of every operation of an OpenAPI document, with the document's own examples. */
export interface SampleCall {
  method: string;
  path: string;
  body?: string;
  /** Of the body. */
  type?: string;
}

interface Schema {
  $ref?: string;
  type?: string;
  example?: unknown;
  examples?: unknown[];
  enum?: unknown[];
  default?: unknown;
}
interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  example?: unknown;
  schema?: Schema;
}
interface Operation {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { example?: unknown; schema?: Schema }> };
}
export interface OpenApi {
  components: { schemas: Record<string, Schema> };
  paths: Record<string, Record<string, Operation>>;
}

const METHODS = ["get", "post", "put", "patch", "delete"];

const sampleOf = ({ example, schema = {} }: Parameter): string =>
  String(
    example ?? schema.example ?? schema.examples?.[0] ?? schema.enum?.[0] ?? schema.default ?? 1,
  );

export const callsOf = (document: OpenApi): SampleCall[] =>
  Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => METHODS.includes(method))
      .map(([method, operation]) => callOf(document, method, path, operation)),
  );

function callOf(
  { components }: OpenApi,
  method: string,
  template: string,
  operation: Operation,
): SampleCall {
  let path = template;
  const query = new URLSearchParams();
  for (const parameter of operation.parameters ?? []) {
    if (parameter.in === "path")
      path = path.replace(`{${parameter.name}}`, encodeURIComponent(sampleOf(parameter)));
    else if (parameter.in === "query" && parameter.required)
      query.set(parameter.name, sampleOf(parameter));
  }
  const [type, media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const call = { method: method.toUpperCase(), path: query.size > 0 ? `${path}?${query}` : path };
  if (type === undefined) return call;
  if (!type.includes("json")) return { ...call, type, body: "x" };
  const schema = components.schemas[media?.schema?.$ref?.split("/").at(-1) ?? ""];
  return { ...call, type, body: JSON.stringify(media?.example ?? schema?.example ?? {}) };
}
