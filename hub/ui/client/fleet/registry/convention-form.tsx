import { Switch, Textarea, TextInput } from "@mantine/core";
import type { Convention } from "#shared/protocol/schema/convention.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { call } from "../../lib/http.ts";
import { RegistryForm } from "./registry-form.tsx";
import type { FormProps } from "./registry-page.tsx";

const RULES = rulesOf("PutConvention");

/** Every field of a convention. */
export function ConventionForm(props: FormProps<Convention>) {
  const { record } = props;
  return (
    <RegistryForm
      {...props}
      noun="convention"
      rules={RULES}
      initial={{
        title: record?.title ?? "",
        text: record?.text ?? "",
        enabled: record?.enabled ?? RULES.enabled.default === true,
      }}
      bodyOf={(values) => values}
      store={(slug, json) => call("PUT /conventions/{slug}", { params: { slug }, json })}
      forget={(slug) => call("DELETE /conventions/{slug}", { params: { slug } })}
      deleteText="The planner no longer receives it. To keep it for later, switch it off instead."
    >
      {({ getInputProps }) => (
        <>
          <TextInput label="Title" {...getInputProps("title")} />
          <Textarea
            label="Text"
            description="The rule, as the planner reads it"
            required
            autosize
            minRows={6}
            maxRows={20}
            classNames={{ input: "code-input" }}
            {...getInputProps("text")}
          />
          <Switch
            label="Enabled"
            description="When off, it is kept but not given to the planner"
            {...getInputProps("enabled", { type: "checkbox" })}
          />
        </>
      )}
    </RegistryForm>
  );
}
