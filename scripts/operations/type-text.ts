import type { SchemaName } from "./named-schemas.ts";
import type { Schema } from "./schema.ts";

/** What callers give, or what they are answered. */
export type Side = "input" | "output";

export interface TypeWriter {
  /** The type of a schema as TypeScript; a schema that has a name is referred to by it. */
  typeOf(schema: Schema, side: Side): string;
  /** The imports of all that was referred to. */
  imports(): string[];
}

const quoted = (value: unknown): string => JSON.stringify(value);
const keyOf = (name: string): string => (/^[a-z_]\w*$/i.test(name) ? name : quoted(name));
const oneOf = (types: string[]): string => [...new Set(types)].join(" | ");
/** For a place that binds closer than `|`. */
const bracketed = (type: string): string => (/[|&]/.test(type) ? `(${type})` : type);

/** A schema as short as its name is written out. */
const isPlain = ({ _zod: { def } }: Schema): boolean =>
  /^(string|number|boolean|null|unknown|any|never|literal|transform)$/.test(def.type) ||
  ("innerType" in def && isPlain(def.innerType)) ||
  (def.type === "pipe" && isPlain(def.in) && isPlain(def.out));

export function createTypeWriter(names: ReadonlyMap<Schema, SchemaName>): TypeWriter {
  const used = new Map<string, Set<string>>();

  const refer = ({ from, name, path }: SchemaName, side: Side): string => {
    used.set(from, (used.get(from) ?? new Set()).add(name));
    return `z.${side}<${path === "" ? `typeof ${name}` : `(typeof ${name})${path}`}>`;
  };
  const fieldsOf = (shape: Record<string, Schema>, side: Side): string[] =>
    Object.entries(shape).map(([key, field]) => {
      const { optin, optout } = field._zod;
      const is_optional = (side === "input" ? optin : optout) !== undefined;
      return `${keyOf(key)}${is_optional ? "?" : ""}: ${typeOf(field, side)}`;
    });
  const typeOf = (schema: Schema, side: Side): string => {
    const named = isPlain(schema) ? undefined : names.get(schema);
    return named === undefined ? written(schema, side) : refer(named, side);
  };
  const written = ({ _zod: { def } }: Schema, side: Side): string => {
    switch (def.type) {
      case "string":
      case "number":
      case "boolean":
      case "null":
      case "unknown":
      case "never":
        return def.type;
      case "any":
        return "unknown";
      case "enum":
        return oneOf(Object.values(def.entries).map(quoted));
      case "literal":
        return oneOf(def.values.map(quoted));
      case "array":
        return `${bracketed(typeOf(def.element, side))}[]`;
      case "tuple": {
        const rest = def.rest === null ? [] : [`...${bracketed(typeOf(def.rest, side))}[]`];
        return `[${[...def.items.map((item) => typeOf(item, side)), ...rest].join(", ")}]`;
      }
      case "record":
        return recordOf(def.keyType, def.valueType, side);
      case "object": {
        const { catchall, shape } = def;
        const others =
          catchall && catchall._zod.def.type !== "never" ? ["[key: string]: unknown"] : [];
        return `{ ${[...fieldsOf(shape, side), ...others].join("; ")} }`;
      }
      case "union":
        return oneOf(def.options.map((option) => typeOf(option, side)));
      case "intersection":
        return `${bracketed(typeOf(def.left, side))} & ${bracketed(typeOf(def.right, side))}`;
      case "nullable":
        return oneOf([typeOf(def.innerType, side), "null"]);
      case "pipe":
        return typeOf(partOf(def.in, def.out, side), side);
      case "transform":
        throw new Error(
          "a schema whose answer is made by a function has no type to write: use .pipe()",
        );
      default:
        return typeOf(def.innerType, side);
    }
  };
  const recordOf = (key: Schema, value: Schema, side: Side): string => {
    const record = `Record<${typeOf(key, side)}, ${typeOf(value, side)}>`;
    return key._zod.def.type === "string" ? record : `Partial<${record}>`;
  };
  return {
    typeOf,
    imports: () =>
      [...used]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([from, what]) => `import type { ${[...what].sort().join(", ")} } from "${from}";`),
  };
}

/** Of what is judged in two steps: what goes into the first that is no function, or comes out of the last. */
function partOf(first: Schema, last: Schema, side: Side): Schema {
  if (side === "output") return last;
  return first._zod.def.type === "transform" ? last : first;
}
