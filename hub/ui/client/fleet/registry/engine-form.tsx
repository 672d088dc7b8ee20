import { NumberInput, Select, SimpleGrid, Switch, Textarea, TextInput } from "@mantine/core";
import type { Engine, PutEngine } from "#shared/protocol/schema/engine.ts";
import { numberOf, numberProps } from "../../forms/number-props.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { call } from "../../lib/http.ts";
import { countText } from "../../lib/units.ts";
import { EngineTest } from "./engine-test.tsx";
import { RegistryForm } from "./registry-form.tsx";
import type { FormProps } from "./registry-page.tsx";

const RULES = rulesOf("PutEngine");

/** The text for each kind; the schema knows which kinds there are. */
const KINDS: Record<string, string> = {
  chat: "reads and writes text",
  "vision-chat": "looks at pictures too",
  reasoning: "thinks before it answers",
} satisfies Record<Engine["kind"], string>;

const NEW = {
  name: "",
  endpoint: "",
  model: "",
  api_key_env: "",
  notes: "",
  kind: RULES.kind.default as Engine["kind"],
  protocol: RULES.protocol.default as PutEngine["protocol"],
  timeout_s: RULES.timeout_s.default as number | string,
  supports_tools: RULES.supports_tools.default === true,
  use_for_codegen: RULES.use_for_codegen.default === true,
};
type Values = typeof NEW;

function valuesOf(record: Engine | null): Values {
  if (record === null) return NEW;
  const { slug: _, promoted: __, updated_at: ___, api_key_env, ...fields } = record;
  return { ...fields, protocol: NEW.protocol, api_key_env: api_key_env ?? "" };
}

const bodyOf = ({ slug: _, ...values }: Values & { slug?: string }) => ({
  ...values,
  endpoint: values.endpoint.trim(),
  model: values.model.trim(),
  timeout_s: numberOf(values.timeout_s),
  api_key_env: values.api_key_env.trim() || null,
});

/** Every field of an engine (rules/engines#engine-record). */
export function EngineForm(props: FormProps<Engine>) {
  return (
    <RegistryForm
      {...props}
      noun="engine"
      rules={RULES}
      initial={valuesOf(props.record)}
      bodyOf={bodyOf}
      store={(slug, json) => call("PUT /engines/{slug}", { params: { slug }, json })}
      forget={(slug) => call("DELETE /engines/{slug}", { params: { slug } })}
      deleteText="Jobs that name it will fail. If it is the promoted engine, none will be promoted."
    >
      {({ values, getInputProps }) => (
        <>
          <TextInput label="Name" {...getInputProps("name")} />
          <TextInput
            label="Endpoint"
            description="Base URL of an OpenAI-compatible API; /v1/chat/completions is added unless it already ends that way"
            placeholder="http://127.0.0.1:11434"
            required
            classNames={{ input: "code-input" }}
            {...getInputProps("endpoint")}
          />
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
            <TextInput label="Model" required {...getInputProps("model")} />
            <Select
              label="Kind"
              data={RULES.kind.choices?.map((kind) => ({
                value: kind,
                label: `${kind}: ${KINDS[kind]}`,
              }))}
              allowDeselect={false}
              {...getInputProps("kind")}
            />
            <TextInput
              label="Protocol"
              description="There is only one so far"
              readOnly
              {...getInputProps("protocol")}
            />
            <NumberInput
              label="Timeout"
              description={`For one answer, ${RULES.timeout_s.min} to ${countText(RULES.timeout_s.max ?? 0)} s`}
              suffix=" s"
              {...numberProps(RULES.timeout_s)}
              {...getInputProps("timeout_s")}
            />
          </SimpleGrid>
          <TextInput
            label="Variable with its key"
            description="Name of a variable in the server's environment; never the key itself. Empty: no key is sent"
            placeholder="OPENAI_API_KEY"
            classNames={{ input: "code-input" }}
            autoComplete="off"
            {...getInputProps("api_key_env")}
          />
          <Switch
            label="Calls tools"
            description="The backend supports tools in chat completions"
            {...getInputProps("supports_tools", { type: "checkbox" })}
          />
          <Switch
            label="Writes scripts"
            description="Offered where AI writes a job's scripts"
            {...getInputProps("use_for_codegen", { type: "checkbox" })}
          />
          <Textarea label="Notes" autosize minRows={2} maxRows={8} {...getInputProps("notes")} />
          <EngineTest
            url={values.endpoint.trim()}
            model={values.model.trim()}
            api_key_env={values.api_key_env.trim()}
          />
        </>
      )}
    </RegistryForm>
  );
}
