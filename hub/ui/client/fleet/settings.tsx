import { Badge, Button, Code, Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { type FormEvent, useEffect, useRef, useState } from "react";
import type { FleetSettings } from "#shared/protocol/schema/fleet-settings.ts";
import { useFocusOnRefusal } from "../forms/use-api-form.ts";
import { useParams } from "../lib/filters.ts";
import { call } from "../lib/http.ts";
import { useChange, useGet } from "../lib/query.ts";
import { bytesText } from "../lib/units.ts";
import { FieldHelp } from "../parts/field-help.tsx";
import { FormErrors, issueAt } from "../parts/form-errors.tsx";
import { Loadable } from "../parts/states.tsx";
import { FLEET_NAMES } from "../system/setting-names.ts";
import { boundsOf, type KeySchema, SettingField, valueText } from "./fleet-settings/field.tsx";

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/** Settings that every hub of the fleet follows. */
export function FleetSettingsForm() {
  const query = useGet("/settings");
  return (
    <>
      <Text size="sm" c="dimmed" mb="md">
        They take effect on every hub within a second of being saved. What a job sets itself takes
        precedence.
      </Text>
      <Loadable query={query} lines={12}>
        {(data) => <SettingsForm data={data} />}
      </Loadable>
    </>
  );
}

const nameOf = (key: string): string => FLEET_NAMES[key]?.name ?? key;

/** Keys by their group, in the order of the names; those without one come last. */
function groupsOf(keys: readonly string[]): [group: string, keys: string[]][] {
  const order = Object.keys(FLEET_NAMES);
  const rank = (key: string) => (order.includes(key) ? order.indexOf(key) : order.length);
  const sorted = [...keys].sort((a, b) => rank(a) - rank(b));
  return Object.entries(Object.groupBy(sorted, (key) => FLEET_NAMES[key]?.group ?? "Others")).map(
    ([group, of]) => [group, of ?? []],
  );
}

interface SettingRowProps {
  name: string;
  schema: KeySchema;
  value: unknown;
  changed: boolean;
  usual: boolean;
  error: string | undefined;
  resetting: boolean;
  onChange: (value: unknown) => void;
  onReset: () => void;
}

/** Scrolls to the field of the setting that the address names, and gives it the keyboard. */
function useFocusWhenNamed(key: string) {
  const field = useRef<HTMLDivElement>(null);
  const named = useParams().get("setting") === key;
  useEffect(() => {
    if (!named) return;
    field.current?.scrollIntoView({ block: "center" });
    field.current?.querySelector<HTMLElement>("input, textarea")?.focus({ preventScroll: true });
  }, [named]);
  return field;
}

/** A setting: its name and what it does, its value with its unit, its bounds and its default. */
function SettingRow({ name: key, schema, value, changed, ...props }: SettingRowProps) {
  const name = nameOf(key);
  const field = useFocusWhenNamed(key);
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md" verticalSpacing={4} className="setting">
      <Stack gap={2}>
        <Group gap={4}>
          <Title order={3} size="h5" className="setting-name">
            {name}
          </Title>
          {changed && (
            <Badge variant="light" color="orange" className="status">
              not saved
            </Badge>
          )}
        </Group>
        <Text size="sm" c="dimmed">
          <FieldHelp of="FleetSettings" field={key}>
            {schema.description}
          </FieldHelp>
        </Text>
        <Text size="xs" c="dimmed" ff="monospace">
          {key}
        </Text>
      </Stack>
      <Stack gap={4}>
        <Group gap="xs" align="flex-start" wrap="nowrap">
          <div className="setting-field" ref={field}>
            <SettingField
              name={key}
              label={name}
              unit={FLEET_NAMES[key]?.unit ?? ""}
              schema={schema}
              value={value}
              error={props.error}
              onChange={props.onChange}
            />
          </div>
          <Button
            variant="default"
            aria-label={`Reset ${name}`}
            disabled={props.usual && !changed}
            loading={props.resetting}
            onClick={props.onReset}
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
      done: `Saved ${changed.map(nameOf).join(", ")}`,
      failed: "The settings were not saved",
      onDone: () => setDraft({}),
      quiet: true,
    },
  );
  const reset = useChange((key: string) => call("PATCH /settings", { json: { [key]: null } }), {
    done: (_, key) => `${nameOf(key)} has its default value again`,
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
        {groupsOf(keys).map(([group, of]) => (
          <section key={group} aria-label={group} className="setting-group">
            <Title order={2}>{group}</Title>
            {of.map((key) => (
              <SettingRow
                key={key}
                name={key}
                schema={schemas[key] as KeySchema}
                value={Object.hasOwn(draft, key) ? draft[key] : data.settings[key]}
                changed={changed.includes(key)}
                usual={same(data.settings[key], schemas[key]?.default)}
                error={changed.includes(key) ? issueAt(save.error, key) : undefined}
                resetting={reset.isPending && reset.variables === key}
                onChange={(next) => setDraft((before) => ({ ...before, [key]: next }))}
                onReset={() => reset.mutate(key)}
              />
            ))}
          </section>
        ))}
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
