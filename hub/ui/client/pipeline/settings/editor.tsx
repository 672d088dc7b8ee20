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
import type { UseFormReturnType } from "@mantine/form";
import { IconTrash } from "@tabler/icons-react";
import { LOG_LEVELS } from "#shared/kit/log.ts";
import type { LlmEngine, Setting } from "#shared/protocol/schema/operations.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };

type SettingForm = UseFormReturnType<{ value: unknown }>;

interface EditorProps {
  setting: Setting;
  form: SettingForm;
  /** An entry of a list is taken out. */
  onRemove: () => void;
}

const RULES = rulesOf("LlmEngine");
const NEW_ENGINE: LlmEngine = {
  name: "",
  url: "",
  model: RULES.model.default as LlmEngine["model"],
  api_key_env: RULES.api_key_env.default as LlmEngine["api_key_env"],
};

function EnginesEditor({ form, onRemove }: Omit<EditorProps, "setting">) {
  const engines = form.values.value as LlmEngine[];
  const field = (at: number, name: keyof LlmEngine) => {
    const path = `value.${at}.${name}`;
    // What is empty is unset.
    const set = (text: string) => form.setFieldValue(path, (text || NEW_ENGINE[name]) as never);
    return {
      ...form.getInputProps(path),
      value: engines[at]?.[name] ?? "",
      onChange: (event: { currentTarget: { value: string } }) => set(event.currentTarget.value),
    };
  };
  return (
    <Stack gap="sm">
      {engines.map((engine, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: its name is being typed
        <Fieldset key={at} legend={engine.name || `Engine ${at + 1}`} p="sm">
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" verticalSpacing="xs">
            <TextInput label="Name" required {...field(at, "name")} />
            <TextInput
              label="URL"
              required
              placeholder="http://127.0.0.1:11434/v1"
              {...field(at, "url")}
            />
            <TextInput label="Model" {...field(at, "model")} />
            <TextInput
              label="Variable with its key"
              description="Name of a variable on the server; never the key itself"
              autoComplete="off"
              {...field(at, "api_key_env")}
            />
          </SimpleGrid>
          <Group justify="flex-end" mt="xs">
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Remove engine ${engine.name || at + 1}`}
              onClick={() => {
                form.removeListItem("value", at);
                onRemove();
              }}
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
          onClick={() => form.insertListItem("value", { ...NEW_ENGINE })}
        >
          Add an engine
        </Button>
      </Group>
    </Stack>
  );
}

/** The control that fits a setting: by its key where that says more than the value. */
export function SettingEditor({ setting, form, onRemove }: EditorProps) {
  const { key } = setting;
  const common = { label: key, ...form.getInputProps("value") };
  if (key === "llm_engines") return <EnginesEditor form={form} onRemove={onRemove} />;
  if (key.endsWith("_level"))
    return <Select {...common} data={[...LOG_LEVELS]} allowDeselect={false} />;
  if (typeof setting.value === "number") return <NumberInput {...common} clampBehavior="none" />;
  return (
    <TextInput
      {...common}
      description="Empty: unset"
      value={(form.values.value as string | null) ?? ""}
      onChange={(event) => form.setFieldValue("value", event.currentTarget.value || null)}
    />
  );
}
