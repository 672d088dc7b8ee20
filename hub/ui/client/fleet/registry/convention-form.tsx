import { Switch, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Convention } from "#shared/protocol/schema/convention.ts";
import { RegistryForm } from "./registry-form.tsx";
import type { FormProps } from "./registry-page.tsx";

/** Every field of a convention. */
export function ConventionForm(props: FormProps<Convention>) {
  const { record } = props;
  const [values, setValues] = useState({
    title: record?.title ?? "",
    text: record?.text ?? "",
    enabled: record?.enabled ?? true,
  });
  const set = (changed: Partial<typeof values>) =>
    setValues((before) => ({ ...before, ...changed }));
  return (
    <RegistryForm
      {...props}
      noun="convention"
      path="/conventions"
      body={values}
      deleteText="The planner no longer receives it. To keep it for later, switch it off instead."
    >
      {(said) => (
        <>
          <TextInput
            label="Title"
            value={values.title}
            onChange={(event) => set({ title: event.currentTarget.value })}
            error={said("title")}
          />
          <Textarea
            label="Text"
            description="The rule, as the planner reads it"
            required
            autosize
            minRows={6}
            maxRows={20}
            classNames={{ input: "code-input" }}
            value={values.text}
            onChange={(event) => set({ text: event.currentTarget.value })}
            error={said("text")}
          />
          <Switch
            label="Enabled"
            description="When off, it is kept but not given to the planner"
            checked={values.enabled}
            onChange={(event) => set({ enabled: event.currentTarget.checked })}
          />
        </>
      )}
    </RegistryForm>
  );
}
