import fc from "fast-check";
import { z } from "zod";

/** Hostile input for every operation of /openapi.json, and what each may answer. */

export interface Operation {
  method: string;
  path: string;
  parameters: { name: string; in: string }[];
  has_body: boolean;
  /** Status → check of its JSON body; null where the body is no JSON. */
  /** Schemas of JSON answers; `others`: it may be no JSON. */
  answers: Map<number, { schema: z.ZodType; others: boolean } | null>;
}

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document has no type here
type Document = any;

/** Answers that any call may get; described once for the whole API. */
export const ANYWHERE = [400, 401, 403, 405, 421];
/** As everything is refused, and as WebDriver's clients are told. */
export const Detail = z.union([
  z.object({ detail: z.unknown() }),
  z.object({ value: z.object({ error: z.string(), message: z.string() }) }),
]);
/** Paths whose protocol answers 500 to mistakes of the caller. */
export const ANSWERS_500 = /^\/session(\/|$)/;

export function readOperations(document: Document): Operation[] {
  const $defs = JSON.parse(
    JSON.stringify(document.components.schemas).replaceAll("#/components/schemas/", "#/$defs/"),
  );
  const check = (schema: unknown) => {
    const text = JSON.stringify(schema).replaceAll("#/components/schemas/", "#/$defs/");
    return z.fromJSONSchema({ ...JSON.parse(text), $defs });
  };
  return Object.entries<Document>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Document>(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      parameters: operation.parameters ?? [],
      has_body: operation.requestBody !== undefined,
      answers: new Map(
        Object.entries<Document>(operation.responses).map(([status, { content }]) => {
          const schema = content?.["application/json"]?.schema;
          const others = Object.keys(content ?? {}).length > 1;
          return [Number(status), schema ? { schema: check(schema), others } : null];
        }),
      ),
    })),
  );
}

const NAMES = [
  "..",
  "../..",
  "../../etc/passwd",
  "..\\..\\x",
  "%2e%2e",
  "%252e%252e%252f",
  ".",
  "",
  " ",
  "a\u0000b",
  "\u0000",
  "con",
  "nul.txt",
  "a/b/c",
  "*",
  "?",
  "#",
  "%",
  "%zz",
  "'; drop table jobs; --",
  "$(x)`x`",
  "\ud800",
  "ＡＢＣ",
  "é́",
  "💥".repeat(40),
  "x".repeat(5_000),
  "-1",
  "1e309",
  "9007199254740993",
  "null",
  "undefined",
  "__proto__",
  "constructor",
  "file:///etc/passwd",
  "javascript:alert(1)",
  "http://site.test/",
  "https://[::1",
  "http://%00/",
  "http://site.test:99999/",
  "//site.test",
  "data:text/html,x",
  "https:/a b",
  `http://site.test/${"y".repeat(3_000)}`,
];
export const name = fc.oneof(
  fc.constantFrom(...NAMES),
  fc.string({ unit: "binary", maxLength: 40 }),
);
export const value = fc.oneof(
  name,
  fc.anything({ withNullPrototype: false, maxDepth: 2 }),
  fc.constantFrom<unknown>(
    -1,
    0,
    1.5,
    1e308,
    -1e308,
    2 ** 53,
    Number.MAX_VALUE,
    true,
    [],
    {},
    null,
  ),
  fc.constantFrom("x".repeat(100_000), `http://site.test/${"a".repeat(100_000)}`),
);
const OPTION_KEYS = [
  "mode",
  "goal",
  "max_codegen_attempts",
  "attempt_timeout_s",
  "rerun_from",
  "code",
  "wait_seconds",
  "scroll",
  "scroll_step",
  "referer",
  "cookies_from",
  "use_profile",
  "attach",
  "fetch_recipe",
  "keep_session",
  "headless",
  "min_asset_size_bytes",
  "toString",
  "__proto__",
];
const json = fc.oneof(
  fc.record(
    {
      url: fc.oneof(value, fc.constant("http://site.test/")),
      options: fc.oneof(
        value,
        fc.dictionary(fc.constantFrom(...OPTION_KEYS), value, { maxKeys: 4 }),
      ),
      status: fc.oneof(value, fc.constantFrom("active", "drain")),
      extra: value,
    },
    { requiredKeys: [] },
  ),
  value,
);
export const toText = (v: unknown): string => {
  try {
    return JSON.stringify(v) ?? "undefined";
  } catch {
    return "unserialisable"; // bigint, cycles
  }
};
export const asText = value.map((v) => (typeof v === "string" ? v : toText(v)));
export const body = fc.oneof(
  { weight: 6, arbitrary: json.map(toText) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      "",
      "{",
      "nope",
      "[".repeat(50_000),
      '{"url":"http://x/","url":1}',
      '{"__proto__":{"url":1}}',
      "\u0000",
      "\ufeff{}",
      '{"url":"\\ud800"}',
      '{"url":"http://x/\\u0000"}',
      "1e999",
      '"',
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 200 }) },
);
export const contentType = fc.oneof(
  { weight: 8, arbitrary: fc.constant("application/json") },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "",
      "text/plain",
      "application/json; charset=utf-16",
      "multipart/form-data; boundary=x",
      "APPLICATION/JSON",
      "x",
      "application/x-www-form-urlencoded",
    ),
  },
);
/** What a header can carry at all. */
export const headerValue = fc.oneof(
  fc.constantFrom(
    "*",
    "bytes=0-0",
    "bytes=-1",
    "bytes=99999999999999999999-",
    'W/"x"',
    "a".repeat(2_000),
    "ÿ",
    "1",
  ),
  fc.string({ maxLength: 30 }).map((s) => s.replace(/[^\x20-\x7e]/g, "").trim()),
);

export const encode = (text: string) => encodeURIComponent(text.toWellFormed());
