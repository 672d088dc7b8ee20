import { Badge, Button, Code, Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { type FormEvent, useRef, useState } from "react";
import type { FleetSettings } from "#shared/protocol/schema/fleet-settings.ts";
import { useFocusOnRefusal } from "../forms/use-api-form.ts";
import { call } from "../lib/http.ts";
import { useChange, useGet } from "../lib/query.ts";
import { bytesText } from "../lib/units.ts";
import { FormErrors, issueAt } from "../parts/form-errors.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Loadable } from "../parts/states.tsx";
import { boundsOf, type KeySchema, SettingField, valueText } from "./fleet-settings/field.tsx";

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

export function Page() {
  const query = useGet("/settings");
  return (
    <>
      <PageHead
        title="Fleet settings"
        note="They take effect on every hub within a second of being saved. What a job sets itself takes precedence."
      />
      <Loadable query={query} lines={12}>
        {(data) => <SettingsForm data={data} />}
      </Loadable>
    </>
  );
}

function SettingsForm({ data }: { data: FleetSettings }) {
  const schemas = (data.schema.properties ?? {}) as Record<string, KeySchema>;
  const keys = Object.keys(schemas);
  /** What was changed here and not saved, by key; the others follow the server. */
  const [draft, setDraft] = useState<Record<string, unknown>>({});
  const changed = keys.filter(
    (key) => Object.hasOwn(draft, key) && !same(draft[key], data.settings[key]),
  );
  const save = useChange(
    () =>
      call("PATCH /settings", {
        json: Object.fromEntries(changed.map((key) => [key, draft[key]])),
      }),
    {
      done: `Saved ${changed.join(", ")}`,
      failed: "The settings were not saved",
      onDone: () => setDraft({}),
      quiet: true,
    },
  );
  const reset = useChange((key: string) => call("PATCH /settings", { json: { [key]: null } }), {
    done: (_, key) => `${key} has its default value again`,
    failed: "The setting was not reset",
    onDone: (_, key) => setDraft(({ [key]: __, ...rest }) => rest),
  });
  const element = useRef<HTMLFormElement>(null);
  const refused = useFocusOnRefusal(element);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (changed.length > 0) save.mutate(undefined, { onError: refused });
  };
  return (
    <form ref={element} onSubmit={submit} noValidate>
      <Stack gap={0} maw={980}>
        {keys.map((key) => {
          const schema = schemas[key] as KeySchema;
          const stored = data.settings[key];
          const value = Object.hasOwn(draft, key) ? draft[key] : stored;
          return (
            <SimpleGrid
              key={key}
              cols={{ base: 1, sm: 2 }}
              spacing="md"
              verticalSpacing={4}
              className="setting"
            >
              <Stack gap={2}>
                <Group gap="xs">
                  <Title order={2} size="h6" ff="monospace" className="page-title">
                    {key}
                  </Title>
                  {changed.includes(key) && (
                    <Badge variant="light" color="orange" className="status">
                      not saved
                    </Badge>
                  )}
                </Group>
                <Text size="sm" c="dimmed">
                  {schema.description}
                </Text>
              </Stack>
              <Stack gap={4}>
                <Group gap="xs" align="flex-start" wrap="nowrap">
                  <div className="setting-field">
                    <SettingField
                      name={key}
                      schema={schema}
                      value={value}
                      error={changed.includes(key) ? issueAt(save.error, key) : undefined}
                      onChange={(next) => setDraft((before) => ({ ...before, [key]: next }))}
                    />
                  </div>
                  <Button
                    variant="default"
                    aria-label={`Reset ${key}`}
                    disabled={same(stored, schema.default) && !changed.includes(key)}
                    loading={reset.isPending && reset.variables === key}
                    onClick={() => reset.mutate(key)}
                  >
                    Reset
                  </Button>
                </Group>
                <Text size="xs" c="dimmed">
                  {boundsOf(schema)}. Default: <Code>{valueText(schema.default)}</Code>
                  {key.endsWith("_bytes") && typeof value === "number" && value >= 1_000
                    ? `. Now ${bytesText(value)}`
                    : ""}
                </Text>
              </Stack>
            </SimpleGrid>
          );
        })}
        <Stack gap="sm" mt="md">
          <FormErrors error={save.error} title="The settings were not saved" fields={changed} />
          <Group gap="xs">
            <Button type="submit" disabled={changed.length === 0} loading={save.isPending}>
              {changed.length < 2 ? "Save" : `Save ${changed.length} changes`}
            </Button>
            <Button
              variant="default"
              disabled={changed.length === 0}
              onClick={() => {
                setDraft({});
                save.reset();
              }}
            >
              Discard
            </Button>
          </Group>
        </Stack>
      </Stack>
    </form>
  );
}
