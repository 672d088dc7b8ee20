import { Button, Group, Stack, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { IconTrash } from "@tabler/icons-react";
import type { ReactNode } from "react";
import type { Faults } from "../../forms/faults.ts";
import type { Rules } from "../../forms/rules.ts";
import { useApiForm } from "../../forms/use-api-form.ts";
import { useChange } from "../../lib/query.ts";
import { FormErrors } from "../../parts/form-errors.tsx";
import { MoreMenu } from "../../parts/more-menu.tsx";
import type { FormProps, Named } from "./registry-page.tsx";

interface RegistryFormProps<T extends Named, V extends object, B extends object>
  extends FormProps<T> {
  noun: string;
  rules: Rules;
  initial: V;
  /** What is sent besides the slug. */
  bodyOf: (values: V) => B;
  /** Stores it under the slug. */
  store: (slug: string, body: B) => Promise<unknown>;
  forget: (slug: string) => Promise<unknown>;
  /** Next to save and delete. */
  actions?: ReactNode;
  deleteText: string;
  children: (form: UseFormReturnType<V & Named>) => ReactNode;
}

const IN_USE = "One with this name already exists: close this and open it from the list.";
/** As the API says it of a field that is left out; of an empty text it would name the pattern. */
const REQUIRED = "is required";

/** The frame of the form of a named record: its slug, save, delete, and what was wrong. */
export function RegistryForm<T extends Named, V extends object, B extends object>(
  props: RegistryFormProps<T, V, B>,
) {
  const { noun, rules, record, initial, bodyOf, store, forget, taken, onDone, children } = props;
  const named = `${noun[0]?.toUpperCase()}${noun.slice(1)}`;
  // Storing one replaces what has its name, so a new one must not take the name of another.
  const inUse = (slug: string) => record === null && taken(slug.trim());
  const fields = { ...initial, slug: record?.slug ?? "" };
  const {
    form,
    saving,
    props: own,
  } = useApiForm<V & Named, B & Named, unknown>({
    initial: fields,
    rules,
    bodyOf: (values) => ({ ...bodyOf(values), slug: values.slug.trim() }),
    check: ({ slug }): Faults => {
      if (slug.trim() === "") return { slug: REQUIRED };
      return inUse(slug) ? { slug: IN_USE } : {};
    },
    send: (body) => store(body.slug, body),
    done: (_, { slug }) => `${named} ${slug} stored`,
    failed: `The ${noun} was not stored`,
    onDone,
  });
  const { slug } = form.values;
  const remove = useChange(() => forget(slug), {
    done: `${named} ${slug} deleted`,
    failed: `The ${noun} was not deleted`,
    onDone,
  });
  return (
    <form {...own}>
      <Stack gap="sm">
        {record === null && (
          <TextInput
            label="Slug"
            description="Its name in the API: a-z, 0-9, dot, hyphen and underscore"
            required
            data-autofocus
            {...form.getInputProps("slug")}
            error={inUse(slug) ? IN_USE : form.errors.slug}
          />
        )}
        {children(form)}
        <FormErrors
          error={saving.error}
          title={`The ${noun} was not stored`}
          fields={[...Object.keys(fields), ...Object.keys(bodyOf(form.values))]}
        />
        <Group justify="space-between" className="panel-end">
          <Group gap="xs">
            <Button type="submit" loading={saving.isPending}>
              Save {noun}
            </Button>
            {props.actions}
          </Group>
          {record !== null && (
            <MoreMenu
              label={`More for ${record.slug}`}
              loading={remove.isPending}
              actions={[
                {
                  label: `Delete ${noun}…`,
                  icon: <IconTrash size={16} />,
                  danger: true,
                  onClick: () => remove.mutate(undefined),
                  ask: {
                    question: `Delete ${noun} ${record.slug}?`,
                    text: props.deleteText,
                    confirm: "Delete it",
                  },
                },
              ]}
            />
          )}
        </Group>
      </Stack>
    </form>
  );
}
