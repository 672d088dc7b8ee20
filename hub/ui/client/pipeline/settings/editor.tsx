import {
  ActionIcon,
  Button,
  Fieldset,
  Group,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  TextInput,
} from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import type { LlmEngine, Setting } from "#shared/protocol/schema/operations.ts";
import { issueAt } from "../../parts/form-errors.tsx";

interface EditorProps {
  setting: Setting;
  value: unknown;
  error: unknown;
  onChange: (value: unknown) => void;
}

const LEVELS = ["debug", "info", "warn", "error"];
const NEW_ENGINE: LlmEngine = { name: "", url: "", model: null, api_key_env: null };

function EnginesEditor({ value, error, onChange }: EditorProps) {
  const engines = value as LlmEngine[];
  const change = (at: number, changed: Partial<LlmEngine>) =>
    onChange(engines.map((engine, i) => (i === at ? { ...engine, ...changed } : engine)));
  const said = (at: number, field: string) => issueAt(error, "value", at, field);
  return (
    <Stack gap="sm">
      {engines.map((engine, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: its name is being typed
        <Fieldset key={at} legend={engine.name || `Engine ${at + 1}`} p="sm">
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" verticalSpacing="xs">
            <TextInput
              label="Name"
              required
              value={engine.name}
              onChange={(event) => change(at, { name: event.currentTarget.value })}
              error={said(at, "name")}
            />
            <TextInput
              label="URL"
              required
              placeholder="http://127.0.0.1:11434/v1"
              value={engine.url}
              onChange={(event) => change(at, { url: event.currentTarget.value })}
              error={said(at, "url")}
            />
            <TextInput
              label="Model"
              value={engine.model ?? ""}
              onChange={(event) => change(at, { model: event.currentTarget.value || null })}
              error={said(at, "model")}
            />
            <TextInput
              label="Variable with its key"
              description="Name of a variable on the server; never the key itself"
              autoComplete="off"
              value={engine.api_key_env ?? ""}
              onChange={(event) => change(at, { api_key_env: event.currentTarget.value || null })}
              error={said(at, "api_key_env")}
            />
          </SimpleGrid>
          <Group justify="flex-end" mt="xs">
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Remove engine ${engine.name || at + 1}`}
              onClick={() => onChange(engines.filter((_, i) => i !== at))}
            >
              <IconTrash size={16} />
            </ActionIcon>
          </Group>
        </Fieldset>
      ))}
      <Group>
        <Button
          size="xs"
          variant="default"
          onClick={() => onChange([...engines, { ...NEW_ENGINE }])}
        >
          Add an engine
        </Button>
      </Group>
    </Stack>
  );
}

/** The control that fits a setting: by its key where that says more than the value. */
export function SettingEditor(props: EditorProps) {
  const { setting, value, error, onChange } = props;
  const said = issueAt(error, "value");
  if (setting.key === "llm_engines") return <EnginesEditor {...props} />;
  if (setting.key.endsWith("_level"))
    return (
      <Select
        label={setting.key}
        data={LEVELS}
        allowDeselect={false}
        value={value as string}
        onChange={onChange}
        error={said}
      />
    );
  if (typeof setting.value === "number")
    return (
      <NumberInput
        label={setting.key}
        clampBehavior="none"
        value={value as number | string}
        onChange={onChange}
        error={said}
      />
    );
  return (
    <TextInput
      label={setting.key}
      description="Empty: unset"
      value={(value as string | null) ?? ""}
      onChange={(event) => onChange(event.currentTarget.value || null)}
      error={said}
    />
  );
}
