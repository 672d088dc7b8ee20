import {
  Button,
  Group,
  Paper,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
} from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { LlmEngine, Setting } from "#shared/protocol/schema/operations.ts";
import { Tested, useEngineTest } from "../../fleet/registry/engine-test.tsx";

const HERE = "(described here)";

/** POST /settings/llm/test: one that is configured, or one described here. */
export function LlmPanel({ settings }: { settings: Setting[] }) {
  const engines = (settings.find(({ key }) => key === "llm_engines")?.value ?? []) as LlmEngine[];
  const [chosen, setEngine] = useState<string | null>(null);
  const [values, setValues] = useState({ url: "", model: "", api_key_env: "", prompt: "" });
  // One that was chosen may have been removed since.
  const there = chosen === HERE || engines.some(({ name }) => name === chosen);
  const engine = (there ? chosen : engines[0]?.name) ?? HERE;
  const test = useEngineTest();
  const field = (name: keyof typeof values) => ({
    value: values[name],
    onChange: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget;
      setValues((before) => ({ ...before, [name]: value }));
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const { url, model, api_key_env, prompt } = values;
    const what = engine === HERE ? { url, model, api_key_env } : { engine };
    const given = Object.entries({ ...what, prompt }).filter(([, value]) => value !== "");
    test.mutate(Object.fromEntries(given));
  };
  return (
    <Paper withBorder p="md" component="form" onSubmit={submit}>
      <Stack gap="sm">
        <Title order={2} size="h4">
          Test an engine
        </Title>
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" verticalSpacing="xs">
          <Select
            label="Engine"
            description="One of llm_engines, or one described here"
            data={[...engines.map(({ name }) => name), HERE]}
            allowDeselect={false}
            value={engine}
            onChange={setEngine}
          />
          <TextInput
            label="Prompt"
            description="Empty: asks for one word"
            placeholder="Reply with the word: ok"
            {...field("prompt")}
          />
          {engine === HERE && (
            <>
              <TextInput label="URL" placeholder="http://127.0.0.1:11434/v1" {...field("url")} />
              <TextInput label="Model" {...field("model")} />
              <TextInput
                label="Variable with its key"
                description="Only the administrator may have a key sent to an address given here"
                autoComplete="off"
                {...field("api_key_env")}
              />
            </>
          )}
        </SimpleGrid>
        <Group gap="xs">
          <Button
            type="submit"
            variant="default"
            disabled={engine === HERE && values.url === ""}
            loading={test.isPending}
          >
            Test
          </Button>
          <Text size="xs" c="dimmed">
            The server calls the engine, not this browser.
          </Text>
        </Group>
        {test.data && <Tested tested={test.data} />}
      </Stack>
    </Paper>
  );
}
