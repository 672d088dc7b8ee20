import { Select, Switch, Textarea, TextInput } from "@mantine/core";
import type { Field } from "./fields.ts";

interface FieldInputProps {
  field: Field;
  value: string | boolean;
  error: string | undefined;
  onChange: (value: string | boolean) => void;
}

const MONO = new Set(["json", "lines", "env"]);

export function FieldInput({ field, value, error, onChange }: FieldInputProps) {
  const { label, hint, kind, choices } = field;
  const common = { label, description: hint, error };
  if (kind === "switch")
    return (
      <Switch
        {...common}
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  const text = String(value);
  if (kind === "choice")
    return (
      <Select
        {...common}
        data={choices ?? []}
        value={text}
        allowDeselect={false}
        onChange={(chosen) => chosen && onChange(chosen)}
      />
    );
  if (kind === "long" || MONO.has(kind))
    return (
      <Textarea
        {...common}
        autosize
        minRows={2}
        maxRows={12}
        value={text}
        spellCheck={!MONO.has(kind)}
        styles={MONO.has(kind) ? { input: { fontFamily: "var(--app-mono)" } } : {}}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  return (
    <TextInput
      {...common}
      value={text}
      inputMode={kind === "int" || kind === "number" ? "decimal" : undefined}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
