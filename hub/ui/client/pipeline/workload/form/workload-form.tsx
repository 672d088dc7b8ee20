import { Fieldset, SimpleGrid, Stack } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { FormErrors } from "../../../parts/form-errors.tsx";
import { type Draft, isOf } from "./draft.ts";
import { FieldInput } from "./field-input.tsx";
import { ALL_FIELDS, FIELDS } from "./fields.ts";

interface WorkloadFormProps {
  form: UseFormReturnType<Draft>;
  /** What came of sending it. */
  error: unknown;
  sections?: readonly string[];
}

/** Fields whose errors the API names by their first part, so that the note above need not. */
const OWN = [...new Set(ALL_FIELDS.map(({ path }) => path.split(".")[0] ?? ""))];

/** Settings of a workload, with what is wrong at each field. */
export function WorkloadForm({ form, error, sections }: WorkloadFormProps) {
  return (
    <Stack>
      <FormErrors error={error} title="The settings were not saved" fields={[...OWN, "slug"]} />
      {Object.entries(FIELDS)
        .filter(([title]) => sections?.includes(title) ?? true)
        .map(([title, fields]) => (
          <Fieldset key={title} legend={title}>
            <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
              {fields
                .filter((field) => isOf(field, form.values))
                .map((field) => (
                  <FieldInput key={field.path} field={field} form={form} />
                ))}
            </SimpleGrid>
          </Fieldset>
        ))}
    </Stack>
  );
}
