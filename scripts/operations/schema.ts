/** As much of a schema as its type is read from: zod's own `_zod.def`. */
export interface Schema {
  readonly _zod: {
    readonly def: SchemaDef;
    /** Whether its key may be missing in what is given, and in what comes out. */
    readonly optin?: "optional" | "defaulted" | undefined;
    readonly optout?: "optional" | "defaulted" | undefined;
  };
}

type SchemaDef =
  | { type: "string" | "number" | "boolean" | "null" | "unknown" | "any" | "never" | "transform" }
  | { type: "enum"; entries: Record<string, string | number> }
  | { type: "literal"; values: (string | number | boolean | null)[] }
  | { type: "object"; shape: Record<string, Schema>; catchall?: Schema }
  | { type: "array"; element: Schema }
  | { type: "tuple"; items: Schema[]; rest: Schema | null }
  | { type: "record"; keyType: Schema; valueType: Schema }
  | { type: "union"; options: Schema[] }
  | { type: "intersection"; left: Schema; right: Schema }
  | { type: "pipe"; in: Schema; out: Schema }
  | {
      type: "optional" | "nullable" | "default" | "prefault" | "catch" | "readonly";
      innerType: Schema;
    };

export const isSchema = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && "_zod" in value;
