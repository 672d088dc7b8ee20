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
import { useState } from "react";
import type { LlmEngine, Setting } from "#shared/protocol/schema/operations.ts";
import {
  NOT_TESTED,
  Tested,
  type TestInput,
  testEngine,
} from "../../fleet/registry/engine-test.tsx";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { useApiForm } from "../../forms/use-api-form.ts";

const RULES = rulesOf("LlmTest");
const HERE = "(described here)";

/** POST /settings/llm/test: one that is configured, or one described here. */
export function LlmPanel({ settings }: { settings: Setting[] }) {
  const engines = (settings.find(({ key }) => key === "llm_engines")?.value ?? []) as LlmEngine[];
  const [chosen, setEngine] = useState<string | null>(null);
  // One that was chosen may have been removed since.
  const there = chosen === HERE || engines.some(({ name }) => name === chosen);
  const engine = (there ? chosen : engines[0]?.name) ?? HERE;
  const {
    form,
    saving: test,
    props,
  } = useApiForm({
    initial: { url: "", model: "", api_key_env: "", prompt: "" },
    rules: RULES,
    bodyOf: ({ url, model, api_key_env, prompt }): TestInput => {
      const what = engine === HERE ? { url, model, api_key_env } : { engine };
      const given = Object.entries({ ...what, prompt }).filter(([, value]) => value !== "");
      return Object.fromEntries(given);
    },
    send: testEngine,
    failed: NOT_TESTED,
    quiet: false,
  });
  return (
    <Paper withBorder p="md" component="form" {...props}>
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
            placeholder={String(RULES.prompt.default)}
            {...form.getInputProps("prompt")}
          />
          {engine === HERE && (
            <>
              <TextInput
                label="URL"
                placeholder="http://127.0.0.1:11434/v1"
                {...form.getInputProps("url")}
              />
              <TextInput label="Model" {...form.getInputProps("model")} />
              <TextInput
                label="Variable with its key"
                description="Only the administrator may have a key sent to an address given here"
                autoComplete="off"
                {...form.getInputProps("api_key_env")}
              />
            </>
          )}
        </SimpleGrid>
        <Group gap="xs">
          <Button
            type="submit"
            variant="default"
            disabled={engine === HERE && form.values.url === ""}
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
