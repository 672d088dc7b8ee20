import { NumberInput, Select, Switch, TagsInput, TextInput } from "@mantine/core";
import { useGet } from "../../lib/query.ts";

/** What PATCH accepts for one key, as the JSON schema of GET /settings describes it. */
export interface KeySchema {
  type?: string;
  description?: string;
  default?: unknown;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
  enum?: unknown[];
  anyOf?: KeySchema[];
}

/** JavaScript's largest safe integer: it means "no bound". */
const NO_BOUND = Number.MAX_SAFE_INTEGER;

/** The kind of the value when it is set; null is the other branch of `anyOf`. */
const kindOf = (schema: KeySchema): KeySchema =>
  schema.anyOf?.find(({ type }) => type !== "null") ?? schema;

/** "integer, 1 to 50" */
export function boundsOf(schema: KeySchema): string {
  const { type, minimum, exclusiveMinimum, maximum, maxItems } = kindOf(schema);
  const most = maximum === undefined || maximum === NO_BOUND ? null : maximum;
  const least = exclusiveMinimum === undefined ? minimum : `more than ${exclusiveMinimum}`;
  const range =
    least === undefined
      ? null
      : most === null
        ? exclusiveMinimum === undefined
          ? `${least} or more`
          : least
        : `${least} to ${most}`;
  return [
    type === "array" ? "list of texts" : type === "string" ? "text" : type,
    range,
    maxItems && `at most ${maxItems}`,
    schema.anyOf && "may be empty",
  ]
    .filter(Boolean)
    .join(", ");
}

export const valueText = (value: unknown): string => {
  if (value === null || value === undefined || value === "") return "none";
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
};

interface FieldProps {
  /** Its key. */
  name: string;
  /** Its name for people. */
  label: string;
  unit: string;
  schema: KeySchema;
  value: unknown;
  error: string | undefined;
  onChange: (value: unknown) => void;
}

function EngineSelect({ label, value, error, onChange }: FieldProps) {
  const { data } = useGet("/engines");
  const slugs = data?.engines.map(({ slug }) => slug) ?? [];
  const all = typeof value === "string" && !slugs.includes(value) ? [value, ...slugs] : slugs;
  return (
    <Select
      aria-label={label}
      placeholder="none named"
      clearable
      searchable
      data={all}
      value={(value as string | null) ?? null}
      onChange={onChange}
      error={error}
    />
  );
}

/** The control that fits the type of a key. */
export function SettingField(props: FieldProps) {
  const { name, label, unit, schema, value, error, onChange } = props;
  const { type, enum: choices } = kindOf(schema);
  const common = { "aria-label": label, error };
  if (name.endsWith("_engine")) return <EngineSelect {...props} />;
  if (choices)
    return (
      <Select
        {...common}
        data={choices.map(String)}
        allowDeselect={false}
        value={String(value)}
        onChange={onChange}
      />
    );
  if (type === "integer" || type === "number")
    return (
      <NumberInput
        {...common}
        thousandSeparator=" "
        allowDecimal={type === "number"}
        clampBehavior="none"
        rightSection={unit && <span className="setting-unit">{unit}</span>}
        rightSectionWidth={unit ? 80 : undefined}
        rightSectionPointerEvents={unit ? "none" : undefined}
        value={value as number | string}
        onChange={onChange}
      />
    );
  if (type === "boolean")
    return (
      <Switch
        {...common}
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  if (type === "object")
    return (
      <TextInput
        {...common}
        readOnly
        description="Changed with PATCH /settings"
        value={valueText(value)}
      />
    );
  if (type === "array")
    return (
      <TagsInput
        {...common}
        placeholder={(value as string[]).length === 0 ? "none; Enter adds one" : ""}
        value={value as string[]}
        onChange={onChange}
      />
    );
  return (
    <TextInput
      {...common}
      placeholder="none"
      value={(value as string | null) ?? ""}
      onChange={(event) =>
        onChange(
          event.currentTarget.value === "" && schema.anyOf ? null : event.currentTarget.value,
        )
      }
    />
  );
}
