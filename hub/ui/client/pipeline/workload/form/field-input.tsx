import { Input, Select, Switch, Textarea, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { FieldHelp } from "../../../parts/field-help.tsx";
import { CodeEditor } from "../code/code-editor.tsx";
import { isLanguage, Signature } from "../code/language.tsx";
import type { Draft } from "./draft.ts";
import { type Field, kindOf, rulesAt } from "./fields.ts";

interface FieldInputProps {
  field: Field;
  form: UseFormReturnType<Draft>;
}

const MONO = new Set(["json", "lines", "env"]);

export function FieldInput({ field, form }: FieldInputProps) {
  const { path, label, hint } = field;
  const kind = kindOf(field);
  const common = {
    label,
    description: (
      <FieldHelp of="WorkloadUpdate" field={path}>
        {hint ?? rulesAt(field).description}
      </FieldHelp>
    ),
    ...form.getInputProps(path, { type: kind === "switch" ? "checkbox" : "input" }),
  };
  if (kind === "switch") return <Switch {...common} aria-label={label} />;
  if (kind === "code") return <CodeInput field={field} form={form} />;
  if (kind === "choice")
    return <Select {...common} data={rulesAt(field).choices ?? []} allowDeselect={false} />;
  if (kind === "long" || MONO.has(kind))
    return (
      <Textarea
        {...common}
        autosize
        minRows={2}
        maxRows={12}
        spellCheck={!MONO.has(kind)}
        styles={MONO.has(kind) ? { input: { fontFamily: "var(--mono)" } } : {}}
      />
    );
  return <TextInput {...common} inputMode={kind === "number" ? "decimal" : undefined} />;
}

function CodeInput({ field, form }: FieldInputProps) {
  const { path, label } = field;
  const { value, onChange, error } = form.getInputProps(path);
  const type = String(form.values.executor_type);
  const language = isLanguage(type) ? type : "python_module";
  return (
    <div className="whole-row">
      <Signature language={language} />
      <Input.Description>
        <FieldHelp of="WorkloadUpdate" field={path}>
          {rulesAt(field).description}
        </FieldHelp>
      </Input.Description>
      <CodeEditor
        label={label}
        language={language}
        value={String(value ?? "")}
        onChange={onChange}
        error={typeof error === "string" ? error : undefined}
      />
    </div>
  );
}
