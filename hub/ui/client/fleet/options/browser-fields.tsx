import {
  Button,
  Group,
  Input,
  MultiSelect,
  NumberInput,
  Stack,
  Switch,
  Textarea,
  TextInput,
} from "@mantine/core";
import { type ReactNode, useState } from "react";
import { RESOLUTION } from "#shared/protocol/limits.ts";
import { placeholderOf } from "#shared/protocol/recipe-secrets.ts";
import { numberProps } from "../../forms/number-props.ts";
import { linesOf } from "../../lib/lines.ts";
import {
  type BrowserKind,
  type BrowserValues,
  headersOf,
  headersText,
  withPart,
} from "./browser-values.ts";
import { PART_RULES } from "./fields.ts";
import { useTyped } from "./use-typed.ts";
import { EntriesInput } from "./way-out-fields.tsx";

interface FieldProps<Value> {
  value: Value | null;
  error?: string | undefined;
  onChange: (value: Value | null) => void;
}
type OptionProps<Kind extends BrowserKind> = FieldProps<BrowserValues[Kind]>;

interface PartProps<Value> extends FieldProps<Value> {
  /** The option and its part: "viewport.width". */
  path: string;
  label: string;
  placeholder?: string;
}

/** One number of an option that has several. */
function NumberPart<Value extends object>({
  path,
  value,
  error,
  onChange,
  ...input
}: PartProps<Value>) {
  const name = path.split(".")[1] as keyof Value;
  const rules = PART_RULES[path];
  const typed = value?.[name];
  return (
    <NumberInput
      description={rules?.description}
      {...input}
      {...(rules && numberProps(rules))}
      error={error !== undefined}
      value={typeof typed === "number" ? typed : ""}
      onChange={(next) => onChange(withPart(value, name, numberTyped(next) as Value[keyof Value]))}
    />
  );
}

const numberTyped = (next: number | string): number | undefined =>
  typeof next === "number" ? next : undefined;

/** Parts of one option, with what is wrong with any of them below. */
function Parts({ error, children }: { error?: string | undefined; children: ReactNode }) {
  return (
    <Stack gap="sm">
      {children}
      {error && <Input.Error role="alert">{error}</Input.Error>}
    </Stack>
  );
}

export function ViewportFields(props: OptionProps<"viewport">) {
  const { width, height } = RESOLUTION;
  return (
    <Parts error={props.error}>
      <Group grow align="flex-start">
        <NumberPart
          path="viewport.width"
          label="Width of the page, px"
          placeholder={String(width)}
          {...props}
        />
        <NumberPart
          path="viewport.height"
          label="Height of the page, px"
          placeholder={String(height)}
          {...props}
        />
      </Group>
    </Parts>
  );
}

export function GeolocationFields(props: OptionProps<"geolocation">) {
  return (
    <Parts error={props.error}>
      <Group grow align="flex-start">
        <NumberPart path="geolocation.latitude" label="Latitude" {...props} />
        <NumberPart path="geolocation.longitude" label="Longitude" {...props} />
        <NumberPart path="geolocation.accuracy" label="Accuracy" placeholder="0" {...props} />
      </Group>
    </Parts>
  );
}

interface LinesInputProps<Value> extends FieldProps<Value> {
  "aria-label"?: string;
  label?: string;
  description?: string | undefined;
  placeholder: string;
  read: (text: string) => Value | null;
  write: (value: Value | null) => string;
}

/** A value with a line for each of its parts. */
function LinesInput<Value>({ value, read, write, onChange, ...input }: LinesInputProps<Value>) {
  const { shown, type } = useTyped(value, read, write);
  return (
    <Textarea
      {...input}
      autosize
      minRows={2}
      maxRows={12}
      classNames={{ input: "code-input" }}
      value={shown}
      onChange={(event) => onChange(type(event.currentTarget.value))}
    />
  );
}

export const HeadersField = (props: OptionProps<"extra_headers">) => (
  <LinesInput
    aria-label="Extra headers, one in each line"
    placeholder={"X-Team: research\nX-Trial: 7"}
    read={headersOf}
    write={headersText}
    {...props}
  />
);

export function ScriptsField({ value, error, onChange }: OptionProps<"init_scripts">) {
  const scripts = value ?? [];
  const [empty, setEmpty] = useState(scripts.length === 0);
  const shown = empty ? [...scripts, ""] : scripts;
  const change = (at: number, text: string) => {
    if (at === scripts.length) setEmpty(text === "");
    const next = shown.map((script, i) => (i === at ? text : script)).filter(Boolean);
    onChange(next.length === 0 ? null : next);
    if (next.length === 0) setEmpty(true);
  };
  return (
    <Parts error={error}>
      {shown.map((script, at) => (
        <Textarea
          // biome-ignore lint/suspicious/noArrayIndexKey: a script has no name but its place
          key={at}
          aria-label={`Script ${at + 1}`}
          placeholder="globalThis.ready = true;"
          autosize
          minRows={2}
          maxRows={12}
          classNames={{ input: "code-input" }}
          error={error !== undefined}
          value={script}
          onChange={(event) => change(at, event.currentTarget.value)}
        />
      ))}
      {!empty && (
        <Group>
          <Button size="compact-sm" variant="default" onClick={() => setEmpty(true)}>
            Add a script
          </Button>
        </Group>
      )}
    </Parts>
  );
}

export function LoginFields({ value, error, onChange }: OptionProps<"http_credentials">) {
  const text = (name: keyof BrowserValues["http_credentials"]) => ({
    autoComplete: "off",
    error: error !== undefined,
    value: value?.[name] ?? "",
    onChange: (event: { currentTarget: { value: string } }) =>
      onChange(withPart(value, name, event.currentTarget.value)),
  });
  return (
    <Parts error={error}>
      <Group grow align="flex-start">
        <TextInput label="User at the server" {...text("username")} />
        <TextInput
          label="Password placeholder"
          placeholder={placeholderOf("SHOP_PASSWORD")}
          {...text("password")}
        />
      </Group>
      <TextInput
        label="Only for"
        description={PART_RULES["http_credentials.origin"]?.description}
        placeholder="https://shop.example.com"
        {...text("origin")}
      />
    </Parts>
  );
}

export function BlockFields({ value, error, onChange }: OptionProps<"block">) {
  const wrong = error !== undefined;
  return (
    <Parts error={error}>
      <Switch
        label="Ads and analytics"
        aria-label="Ads and analytics"
        description={PART_RULES["block.ads"]?.description}
        checked={value?.ads === true}
        onChange={(event) => onChange(withPart(value, "ads", event.currentTarget.checked))}
      />
      <MultiSelect
        label="Kinds of requests"
        placeholder={value?.types ? "" : "None"}
        data={PART_RULES["block.types"]?.items?.choices ?? []}
        clearable
        value={value?.types ?? []}
        onChange={(types) =>
          onChange(withPart(value, "types", types as BrowserValues["block"]["types"]))
        }
        clearButtonProps={{ "aria-label": "Clear Kinds of requests" }}
      />
      <EntriesInput
        label="Hosts"
        description="With everything below them, separated by commas"
        placeholder="ads.example.com, tracker.example"
        entries={value?.hosts ?? []}
        error={wrong && value?.hosts !== undefined}
        onChange={(hosts) => onChange(withPart(value, "hosts", hosts))}
      />
      <LinesInput
        label="Patterns"
        description={`${PART_RULES["block.patterns"]?.description} One in each line.`}
        placeholder="*://*/banner/*"
        value={value?.patterns ?? null}
        read={linesOf}
        write={(patterns) => (patterns ?? []).join("\n")}
        onChange={(patterns) => onChange(withPart(value, "patterns", patterns ?? []))}
      />
    </Parts>
  );
}
