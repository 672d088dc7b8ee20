import { Button, Group, Stack, Text, TextInput, Title } from "@mantine/core";
import type { Preset } from "#shared/protocol/schema/preset.ts";
import type { Faults } from "../../forms/faults.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { useApiForm } from "../../forms/use-api-form.ts";
import { call } from "../../lib/http.ts";
import { FormErrors } from "../../parts/form-errors.tsx";
import { OPTION_RULES, type Options } from "../options/fields.ts";
import { OptionsForm } from "../options/options-form.tsx";
import { changedPaths, givenOf, issuesIn } from "../options/values.ts";
import { optionsBody } from "../submit/body.ts";

const RULES = { ...rulesOf("PutPreset"), ...OPTION_RULES };

interface PresetEditorProps {
  /** Undefined creates a new one. */
  preset?: Preset;
  /** Slugs in use: a new preset must not silently replace another one. */
  taken: readonly string[];
  onDone: () => void;
}

/** Names options of a job (rules/library#presets); the form is that of the submit page. */
export function PresetEditor({ preset, taken, onDone }: PresetEditorProps) {
  const { form, saving, props } = useApiForm({
    initial: {
      slug: preset?.slug ?? "",
      name: preset?.name ?? "",
      description: preset?.description ?? "",
      given: givenOf(preset?.options ?? {}),
    },
    rules: RULES,
    bodyOf: ({ given, ...rest }) => ({ ...rest, options: optionsBody(given) }),
    check: ({ slug }): Faults =>
      !preset && taken.includes(slug)
        ? { slug: "there is a preset of this name: edit that one" }
        : {},
    send: (json) => call("PUT /presets/{slug}", { params: { slug: json.slug }, json }),
    done: ({ slug }) => `Preset ${slug} is saved`,
    failed: "The preset was not saved",
    onDone,
  });
  const { given } = form.values;
  const issues = issuesIn(form.errors);
  const change = (next: Options) => {
    changedPaths(given, next).forEach(form.clearFieldError);
    form.setFieldValue("given", next);
  };
  return (
    <form {...props}>
      <Stack maw={860}>
        <Title order={2} size="h4" className="page-title">
          {preset ? `Preset ${preset.slug}` : "New preset"}
        </Title>
        {!preset && (
          <TextInput
            label="Slug"
            description="How jobs name it. It cannot be changed later."
            required
            {...form.getInputProps("slug")}
          />
        )}
        <TextInput label="Name" {...form.getInputProps("name")} />
        <TextInput label="Description" {...form.getInputProps("description")} />
        <OptionsForm given={given} issues={issues} onChange={change} />
        {issues.size > 0 && (
          <Text size="sm" c="red" role="alert">
            Not saved: see {[...issues.keys()].join(", ")}.
          </Text>
        )}
        <FormErrors
          error={saving.error}
          title="The preset was not saved"
          fields={["slug", "name", "description", "options"]}
        />
        <Group>
          <Button type="submit" loading={saving.isPending}>
            Save the preset
          </Button>
          <Button variant="default" onClick={onDone} disabled={saving.isPending}>
            Back without saving
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
