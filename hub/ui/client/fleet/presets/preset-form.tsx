import { Button, Text, TextInput } from "@mantine/core";
import { Link } from "wouter";
import type { Preset } from "#shared/protocol/schema/preset.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { call, seg } from "../../lib/http.ts";
import { OPTION_RULES, type Options } from "../options/fields.ts";
import { OptionsForm } from "../options/options-form.tsx";
import { givenOf, issuesIn, optionsBody, outdatedErrors } from "../options/values.ts";
import { RegistryForm } from "../registry/registry-form.tsx";
import type { FormProps } from "../registry/registry-page.tsx";

const RULES = { ...rulesOf("PutPreset"), ...OPTION_RULES };

/** Which fields below are wrong: they may be in a group that is folded. */
function Refused({ names }: { names: string[] }) {
  if (names.length === 0) return null;
  return (
    <Text size="sm" c="red" role="alert">
      Not saved: see {names.join(", ")}.
    </Text>
  );
}

/** Names options of a job (rules/library#presets); the fields are those of a new capture. */
export function PresetForm(props: FormProps<Preset>) {
  const { record } = props;
  return (
    <RegistryForm
      {...props}
      noun="preset"
      rules={RULES}
      initial={{
        name: record?.name ?? "",
        description: record?.description ?? "",
        given: givenOf(record?.options ?? {}),
      }}
      bodyOf={({ name, description, given }) => ({
        name,
        description,
        options: optionsBody(given),
      })}
      store={(slug, json) => call("PUT /presets/{slug}", { params: { slug }, json })}
      forget={(slug) => call("DELETE /presets/{slug}", { params: { slug } })}
      deleteText="Jobs that were submitted with it stay as they are."
      actions={
        record && (
          <Button
            variant="default"
            component={Link}
            href={`/ui/captures/new?preset=${seg(record.slug)}`}
          >
            Use preset
          </Button>
        )
      }
    >
      {(form) => {
        const issues = issuesIn(form.errors);
        const { given } = form.values;
        const change = (next: Options) => {
          outdatedErrors(form.errors, given, next).forEach(form.clearFieldError);
          form.setValues((values) => ({ ...values, given: next }));
        };
        return (
          <>
            <TextInput label="Name" {...form.getInputProps("name")} />
            <TextInput label="Description" {...form.getInputProps("description")} />
            <OptionsForm given={given} issues={issues} onChange={change} />
            <Refused names={[...issues.keys()]} />
          </>
        );
      }}
    </RegistryForm>
  );
}
