import { Fieldset, SimpleGrid, Stack } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { FormErrors } from "../../../parts/form-errors.tsx";
import { type Draft, isOf } from "./draft.ts";
import { FieldInput } from "./field-input.tsx";
import { ALL_FIELDS, FIELDS, type Field } from "./fields.ts";

interface WorkloadFormProps {
  form: UseFormReturnType<Draft>;
  /** What came of sending it. */
  error: unknown;
  sections?: readonly string[];
  /** Which of their fields; every one of the form's kind by default. */
  where?: (field: Field) => boolean;
  kind?: "create" | "settings";
}

/** Fields whose errors the API names by their first part, so that the note above need not. */
const OWN = [...new Set(ALL_FIELDS.map(({ path }) => path.split(".")[0] ?? ""))];

/** Settings of a workload, with what is wrong at each field. */
export function WorkloadForm({
  form,
  error,
  sections,
  where = () => true,
  kind = "settings",
}: WorkloadFormProps) {
  const shown = (field: Field) =>
    isOf(field, form.values) && (field.only ?? kind) === kind && where(field);
  return (
    <Stack>
      <FormErrors error={error} title="The settings were not saved" fields={[...OWN, "slug"]} />
      {Object.entries(FIELDS)
        .filter(([title, fields]) => (sections?.includes(title) ?? true) && fields.some(shown))
        .map(([title, fields]) => (
          <Fieldset key={title} legend={title}>
            <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
              {fields.filter(shown).map((field) => (
                <FieldInput key={field.path} field={field} form={form} />
              ))}
            </SimpleGrid>
          </Fieldset>
        ))}
    </Stack>
  );
}
