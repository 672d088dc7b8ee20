import { Button, Group, Stack, TextInput } from "@mantine/core";
import { type FormEvent, type ReactNode, useState } from "react";
import { call, seg } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { FormErrors, issueAt } from "../../parts/form-errors.tsx";
import type { FormProps, Named } from "./registry-page.tsx";

interface RegistryFormProps<T extends Named> extends FormProps<T> {
  noun: string;
  path: string;
  /** What is sent; the slug is in the path. */
  body: Record<string, unknown>;
  /** Next to save and delete. */
  actions?: ReactNode;
  deleteText: string;
  /** `said(field)`: what the API said of a field of the body. */
  children: (said: (field: string) => string | undefined) => ReactNode;
}

/** The frame of the form of a named record: its slug, save, delete, and what was wrong. */
export function RegistryForm<T extends Named>(props: RegistryFormProps<T>) {
  const { noun, path, record, body, taken, onDone, children } = props;
  const [slug, setSlug] = useState(record?.slug ?? "");
  const at = `${path}/${seg(slug.trim())}`;
  const save = useChange(() => call("PUT", at, { json: body }), {
    done: `${noun[0]?.toUpperCase()}${noun.slice(1)} ${slug.trim()} stored`,
    failed: `The ${noun} was not stored`,
    onDone,
    quiet: true,
  });
  const remove = useChange(() => call("DELETE", at), {
    done: `${noun[0]?.toUpperCase()}${noun.slice(1)} ${slug} deleted`,
    failed: `The ${noun} was not deleted`,
    onDone,
  });
  // Storing one replaces what has its name, so a new one must not take the name of another.
  const inUse = record === null && taken(slug.trim());
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!inUse) save.mutate(undefined);
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm">
        {record === null && (
          <TextInput
            label="Slug"
            description="Its name in the API: a-z, 0-9, dot, hyphen and underscore"
            required
            value={slug}
            onChange={(event) => setSlug(event.currentTarget.value)}
            error={
              inUse
                ? `One with this name already exists: close this and open it from the list.`
                : issueAt(save.error, "slug")
            }
            data-autofocus
          />
        )}
        {children((field) => issueAt(save.error, field))}
        <FormErrors
          error={save.error}
          title={`The ${noun} was not stored`}
          fields={["slug", ...Object.keys(body)]}
        />
        <Group justify="space-between" className="panel-end">
          <Group gap="xs">
            <Button type="submit" disabled={slug.trim() === ""} loading={save.isPending}>
              Save
            </Button>
            {props.actions}
          </Group>
          {record !== null && (
            <ConfirmButton
              question={`Delete ${noun} ${record.slug}?`}
              text={props.deleteText}
              confirm="Delete it"
              color="red"
              variant="light"
              loading={remove.isPending}
              onConfirm={() => remove.mutate(undefined)}
            >
              Delete
            </ConfirmButton>
          )}
        </Group>
      </Stack>
    </form>
  );
}
