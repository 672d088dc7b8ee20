import { NumberInput, Select, SimpleGrid, Switch, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Engine } from "#shared/protocol/schema/engine.ts";
import { EngineTest } from "./engine-test.tsx";
import { RegistryForm } from "./registry-form.tsx";
import type { FormProps } from "./registry-page.tsx";

const NEW = {
  name: "",
  kind: "chat" as Engine["kind"],
  protocol: "openai",
  endpoint: "",
  model: "",
  timeout_s: 120 as number | string,
  supports_tools: false,
  use_for_codegen: false,
  api_key_env: "",
  notes: "",
};

const KINDS = [
  { value: "chat", label: "chat: reads and writes text" },
  { value: "vision-chat", label: "vision-chat: looks at pictures too" },
  { value: "reasoning", label: "reasoning: thinks before it answers" },
];

/** Every field of an engine (rules/engines#engine-record). */
export function EngineForm(props: FormProps<Engine>) {
  const { record } = props;
  const [values, setValues] = useState({
    ...NEW,
    ...record,
    api_key_env: record?.api_key_env ?? "",
  });
  const set = (changed: Partial<typeof NEW>) => setValues((before) => ({ ...before, ...changed }));
  const { name, kind, endpoint, model, timeout_s, supports_tools, use_for_codegen, notes } = values;
  const api_key_env = values.api_key_env.trim();
  const body = {
    ...{ name, kind, protocol: values.protocol, endpoint: endpoint.trim(), model: model.trim() },
    ...{ timeout_s, supports_tools, use_for_codegen, notes },
    api_key_env: api_key_env === "" ? null : api_key_env,
  };
  return (
    <RegistryForm
      {...props}
      noun="engine"
      path="/engines"
      body={body}
      deleteText="Jobs that name it will fail. If it is the promoted engine, none will be promoted."
    >
      {(said) => (
        <>
          <TextInput
            label="Name"
            value={name}
            onChange={(event) => set({ name: event.currentTarget.value })}
            error={said("name")}
          />
          <TextInput
            label="Endpoint"
            description="Base URL of an OpenAI-compatible API; /v1/chat/completions is added unless it already ends that way"
            placeholder="http://127.0.0.1:11434"
            required
            classNames={{ input: "code-input" }}
            value={endpoint}
            onChange={(event) => set({ endpoint: event.currentTarget.value })}
            error={said("endpoint")}
          />
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
            <TextInput
              label="Model"
              required
              value={model}
              onChange={(event) => set({ model: event.currentTarget.value })}
              error={said("model")}
            />
            <Select
              label="Kind"
              data={KINDS}
              allowDeselect={false}
              value={kind}
              onChange={(value) => set({ kind: value as Engine["kind"] })}
              error={said("kind")}
            />
            <TextInput
              label="Protocol"
              description="There is only one so far"
              readOnly
              value={values.protocol}
              error={said("protocol")}
            />
            <NumberInput
              label="Timeout"
              description="For one answer, 1 to 3600 s"
              suffix=" s"
              min={1}
              max={3_600}
              clampBehavior="none"
              value={timeout_s}
              onChange={(value) => set({ timeout_s: value })}
              error={said("timeout_s")}
            />
          </SimpleGrid>
          <TextInput
            label="Variable with its key"
            description="Name of a variable in the server's environment; never the key itself. Empty: no key is sent"
            placeholder="OPENAI_API_KEY"
            classNames={{ input: "code-input" }}
            autoComplete="off"
            value={values.api_key_env}
            onChange={(event) => set({ api_key_env: event.currentTarget.value })}
            error={said("api_key_env")}
          />
          <Switch
            label="Calls tools"
            description="The backend supports tools in chat completions"
            checked={supports_tools}
            onChange={(event) => set({ supports_tools: event.currentTarget.checked })}
          />
          <Switch
            label="Writes scripts"
            description="Offered where AI writes a job's scripts"
            checked={use_for_codegen}
            onChange={(event) => set({ use_for_codegen: event.currentTarget.checked })}
          />
          <Textarea
            label="Notes"
            autosize
            minRows={2}
            maxRows={8}
            value={notes}
            onChange={(event) => set({ notes: event.currentTarget.value })}
            error={said("notes")}
          />
          <EngineTest url={body.endpoint} model={body.model} api_key_env={api_key_env} />
        </>
      )}
    </RegistryForm>
  );
}
