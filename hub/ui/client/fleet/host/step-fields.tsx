import { NumberInput, Textarea, TextInput } from "@mantine/core";
import type { Issue } from "#shared/client/errors.ts";
import { numberProps } from "../../forms/number-props.ts";
import type { FieldRules } from "../../forms/rules.ts";
import { messageAt, type RawAction } from "./draft.ts";
import { type Field, fieldsOf, ruleOf } from "./recipe-fields.ts";

interface StepFieldsProps {
  action: RawAction;
  /** Put before the name of every field for screen readers: "Step 2". */
  name: string;
  /** Of this step. */
  issues: readonly Issue[];
  onChange: (action: RawAction) => void;
}

/** A field for each property that the schema has for this kind of step. */
export function StepFields({ action, name, issues, onChange }: StepFieldsProps) {
  const set = (key: string, value: unknown) => {
    const { [key]: _, ...rest } = action;
    onChange((value === undefined ? rest : { ...action, [key]: value }) as RawAction);
  };
  return (
    <div className="step-fields">
      {fieldsOf(action.kind)
        .filter(([key, { rare }]) => !rare || action[key] !== undefined)
        .map(([key, field]) => (
          <StepField
            key={key}
            field={field}
            rules={ruleOf(action.kind, key)}
            name={name}
            value={action[key]}
            error={messageAt(issues, key)}
            onChange={(value) => set(key, value)}
          />
        ))}
    </div>
  );
}

interface StepFieldProps {
  field: Field;
  rules: FieldRules | undefined;
  name: string;
  value: unknown;
  error: string | null;
  onChange: (value: unknown) => void;
}

function StepField({ field, rules, name, value, error, onChange }: StepFieldProps) {
  const label = field.unit ? `${field.label} (${field.unit})` : field.label;
  const common = { label, error, "aria-label": `${name}: ${label}`, size: "xs" as const };
  if (field.input === "number")
    return (
      <NumberInput
        {...common}
        className="step-number"
        {...(rules && numberProps(rules))}
        placeholder={rules?.required ? undefined : "the rest"}
        title={field.hint}
        value={typeof value === "number" ? value : ""}
        onChange={(next) => onChange(next === "" ? undefined : Number(next))}
      />
    );
  if (field.input === "list")
    return (
      <Textarea
        {...common}
        autosize
        minRows={1}
        maxRows={8}
        placeholder={field.hint}
        title={field.hint}
        value={Array.isArray(value) ? value.join("\n") : ""}
        onChange={({ currentTarget }) =>
          onChange(currentTarget.value === "" ? [] : currentTarget.value.split("\n"))
        }
      />
    );
  const text = typeof value === "string" ? value : value === undefined ? "" : String(value);
  if (field.input === "code")
    return (
      <Textarea
        {...common}
        autosize
        minRows={2}
        maxRows={16}
        styles={{ input: { fontFamily: "var(--mono)" } }}
        value={text}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  return (
    <TextInput
      {...common}
      placeholder={field.hint}
      title={field.hint}
      value={text}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
