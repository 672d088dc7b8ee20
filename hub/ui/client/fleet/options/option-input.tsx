import {
  MultiSelect,
  NumberInput,
  SegmentedControl,
  Select,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { countText } from "../../lib/units.ts";
import { FieldHelp } from "../../parts/field-help.tsx";
import {
  BlockFields,
  GeolocationFields,
  HeadersField,
  LoginFields,
  ScriptsField,
  ViewportFields,
} from "./browser-fields.tsx";
import {
  type BrowserKind,
  browserValueOf,
  browserValueText,
  isBrowserKind,
} from "./browser-values.ts";
import type { OptionField, OptionValue } from "./fields.ts";
import type { Pick } from "./picks.ts";
import { egressOf, egressText, proxyOf } from "./way-out.ts";
import { EgressFields, FieldGroup, ProxyFields } from "./way-out-fields.tsx";

export interface OptionInputProps {
  field: OptionField;
  /** Undefined: what holds without it. */
  value: OptionValue | undefined;
  /** What holds without it: the preset's value or the default. */
  base: OptionValue;
  fromPreset: boolean;
  error?: string;
  pick?: Pick;
  onChange: (value: OptionValue | undefined) => void;
}

const MODE_NAMES: Record<string, string> = {
  fetch: "Fetch",
  "codegen-loop": "AI investigation",
  rerun: "Rerun a script",
};
const LONG = new Set(["goal", "code", "certificate_authorities"]);

const MAX_SHOWN = 60;

function valueText({ kind, unit }: OptionField, value: OptionValue): string {
  if (value === null) return "none";
  if (typeof value === "boolean") return value ? "on" : "off";
  if (typeof value === "number") return `${countText(value)} ${unit}`.trim();
  if (typeof value === "string")
    return value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value;
  if (kind === "proxy") return proxyOf(value)?.server ?? "none";
  const egress = kind === "egress" ? egressOf(value) : null;
  if (egress) return egressText(egress);
  return isBrowserKind(kind) ? browserValueText(kind, value) : String(value);
}

/** "Default 20 s, from 0 to 3,600 s". */
function factsOf({ field, base, fromPreset, value, pick }: OptionInputProps): string {
  const { kind, min, max, unit, max_length } = field;
  const facts = [`${fromPreset ? "Preset" : "Default"} ${valueText(field, base)}`];
  if (min !== undefined && max !== undefined)
    facts.push(`from ${countText(min)} to ${`${countText(max)} ${unit}`.trim()}`);
  else if (min !== undefined) facts.push(`at least ${countText(min)}`);
  if (max_length !== undefined && kind === "text" && !pick)
    facts.push(`at most ${countText(max_length)} characters`);
  return `${value === undefined ? "" : "Changed. "}${facts.join(", ")}.`;
}

function Describe(props: OptionInputProps) {
  const { field, pick } = props;
  return (
    <>
      {field.description} <span className="option-facts">{factsOf(props)}</span>
      {pick && pick.choices.length === 0 && <span> {pick.none}</span>}
      <FieldHelp of="JobOptions" field={field.name} />
    </>
  );
}

function Label({ field }: { field: OptionField }) {
  return (
    <>
      {field.label} <span className="option-name">{field.name}</span>
    </>
  );
}

function ModeInput({ field, value, base, error, onChange }: OptionInputProps) {
  return (
    <Stack gap={4}>
      <Text size="sm" fw="var(--mantine-font-weight-medium)" id="option-mode">
        <Label field={field} />
      </Text>
      <SegmentedControl
        aria-labelledby="option-mode"
        fullWidth
        data={field.choices.map((choice) => ({
          value: choice,
          label: MODE_NAMES[choice] ?? choice,
        }))}
        value={String(value ?? base)}
        onChange={onChange}
      />
      <Text size="xs" c="dimmed">
        <FieldHelp of="JobOptions" field={field.name}>
          {field.description}
        </FieldHelp>
      </Text>
      {error && (
        <Text size="xs" c="red" role="alert">
          {error}
        </Text>
      )}
    </Stack>
  );
}

type GroupKind = "egress" | "proxy" | BrowserKind;

const isGroup = (kind: OptionField["kind"]): kind is GroupKind =>
  kind === "egress" || kind === "proxy" || isBrowserKind(kind);

/** Several fields make up one option. */
function GroupInput(props: OptionInputProps & { kind: GroupKind }) {
  return (
    <FieldGroup label={<Label field={props.field} />} description={<Describe {...props} />}>
      <GroupFields {...props} />
    </FieldGroup>
  );
}

/** What is said here, null included: emptied, nothing of a preset's is left either. */
const shownValue = ({ value, base }: OptionInputProps): OptionValue =>
  value === undefined ? base : value;

function GroupFields({ kind, ...props }: OptionInputProps & { kind: GroupKind }) {
  const { error, onChange } = props;
  const common = { error, onChange };
  const shown = shownValue(props);
  switch (kind) {
    case "egress":
      return <EgressFields value={egressOf(shown)} {...common} />;
    case "proxy":
      return <ProxyFields value={proxyOf(shown)} {...common} />;
    case "viewport":
      return <ViewportFields value={browserValueOf(kind, shown)} {...common} />;
    case "geolocation":
      return <GeolocationFields value={browserValueOf(kind, shown)} {...common} />;
    case "extra_headers":
      return <HeadersField value={browserValueOf(kind, shown)} {...common} />;
    case "init_scripts":
      return <ScriptsField value={browserValueOf(kind, shown)} {...common} />;
    case "http_credentials":
      return <LoginFields value={browserValueOf(kind, shown)} {...common} />;
    case "block":
      return <BlockFields value={browserValueOf(kind, shown)} {...common} />;
  }
}

const YES_NO = [
  { value: "", label: "Not set" },
  { value: "true", label: "Yes" },
  { value: "false", label: "No" },
];

/** The control that fits the kind of an option, with everything that its schema says about it. */
export function OptionInput(props: OptionInputProps) {
  const { field, value, base, error, pick, onChange } = props;
  const common = {
    label: <Label field={field} />,
    description: <Describe {...props} />,
    error,
  };
  const placeholder = valueText(field, base);
  if (field.name === "mode") return <ModeInput {...props} />;
  if (isGroup(field.kind)) return <GroupInput {...props} kind={field.kind} />;
  if (field.kind === "switch")
    return (
      <Switch
        {...common}
        // Mantine's label holds the description too, which is not part of the name.
        aria-label={`${field.label} ${field.name}`}
        checked={Boolean(value ?? base)}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  if (field.kind === "yes-no") {
    const said = shownValue(props);
    return (
      <Select
        {...common}
        data={YES_NO}
        allowDeselect={false}
        value={said === null ? "" : String(said)}
        onChange={(next) => onChange(next ? next === "true" : null)}
      />
    );
  }
  if (field.kind === "choices") {
    const chosen = shownValue(props);
    return (
      <MultiSelect
        {...common}
        placeholder={placeholder}
        data={field.choices}
        searchable
        clearable
        value={Array.isArray(chosen) ? chosen : []}
        onChange={(next) => onChange(next.length === 0 ? null : next)}
        clearButtonProps={{ "aria-label": `Clear ${field.name}` }}
      />
    );
  }
  if (field.kind === "number")
    return (
      <NumberInput
        {...common}
        // The API reports a value that is out of bounds, with the bound; the field does not change it while it is typed.
        clampBehavior="none"
        min={field.min}
        max={field.max}
        allowDecimal={!field.integer}
        suffix={field.unit && ` ${field.unit}`}
        placeholder={placeholder}
        value={typeof value === "number" ? value : ""}
        onChange={(next) => onChange(typeof next === "number" ? next : undefined)}
      />
    );
  if (field.kind === "choice" || pick) {
    const choices = pick?.choices ?? field.choices.map((one) => ({ value: one, label: one }));
    const text = typeof value === "string" ? value : null;
    const known = text === null || choices.some((choice) => choice.value === text);
    return (
      <Select
        {...common}
        placeholder={placeholder}
        data={known ? choices : [...choices, { value: text, label: `${text} (not there)` }]}
        value={text ?? (field.kind === "choice" ? String(base) : null)}
        clearable={value !== undefined}
        searchable={choices.length > 8}
        onChange={(next) => onChange(next ?? undefined)}
        clearButtonProps={{ "aria-label": `Clear ${field.name}` }}
      />
    );
  }
  const text = {
    ...common,
    placeholder,
    value: typeof value === "string" ? value : "",
    onChange: (event: { currentTarget: { value: string } }) =>
      onChange(event.currentTarget.value === "" ? undefined : event.currentTarget.value),
  };
  return LONG.has(field.name) ? (
    <Textarea
      {...text}
      autosize
      minRows={3}
      maxRows={20}
      classNames={field.name === "code" ? { input: "code-input" } : {}}
    />
  ) : (
    <TextInput {...text} />
  );
}
