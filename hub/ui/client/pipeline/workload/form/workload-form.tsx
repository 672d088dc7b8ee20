import { Fieldset, SimpleGrid, Stack } from "@mantine/core";
import { FormErrors, issueAt } from "../../../parts/form-errors.tsx";
import { type Draft, type Errors, isOf } from "./draft.ts";
import { FieldInput } from "./field-input.tsx";
import { ALL_FIELDS, FIELDS } from "./fields.ts";

interface WorkloadFormProps {
  draft: Draft;
  onChange: (draft: Draft) => void;
  /** What is wrong before it is sent, and what the API said. */
  errors: Errors;
  error: unknown;
  sections?: readonly string[];
}

/** Fields whose errors the API names by their first part, so that the note above need not. */
const OWN = [...new Set(ALL_FIELDS.map(({ path }) => path.split(".")[0] ?? ""))];

/** Settings of a workload, with what is wrong at each field. */
export function WorkloadForm({ draft, onChange, errors, error, sections }: WorkloadFormProps) {
  return (
    <Stack>
      <FormErrors error={error} title="The settings were not saved" fields={[...OWN, "slug"]} />
      {Object.entries(FIELDS)
        .filter(([title]) => sections?.includes(title) ?? true)
        .map(([title, fields]) => (
          <Fieldset key={title} legend={title}>
            <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
              {fields
                .filter((field) => isOf(field, draft))
                .map((field) => (
                  <FieldInput
                    key={field.path}
                    field={field}
                    value={draft[field.path] ?? ""}
                    error={errors[field.path] ?? issueAt(error, ...field.path.split("."))}
                    onChange={(value) => onChange({ ...draft, [field.path]: value })}
                  />
                ))}
            </SimpleGrid>
          </Fieldset>
        ))}
    </Stack>
  );
}
