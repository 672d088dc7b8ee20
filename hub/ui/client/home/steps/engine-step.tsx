import { Button, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { Tested, testEngine } from "../../fleet/registry/engine-test.tsx";
import { call } from "../../lib/http.ts";
import { errorText, useChange } from "../../lib/query.ts";
import { slugOf } from "../home-words.ts";

const NEW = { endpoint: "", model: "", api_key_env: "" };
type Values = typeof NEW;

const store = ({ endpoint, model, api_key_env }: Values) =>
  call("PUT /engines/{slug}", {
    params: { slug: slugOf(model) },
    json: { endpoint, model, api_key_env: api_key_env || null, use_for_codegen: true },
  });

const trimmed = ({ endpoint, model, api_key_env }: Values): Values => ({
  endpoint: endpoint.trim(),
  model: model.trim(),
  api_key_env: api_key_env.trim(),
});

interface EngineStepProps {
  onEngine: (slug: string) => void;
}

/** Asks an engine for one word, and keeps it when it answers. */
export function EngineStep({ onEngine }: EngineStepProps) {
  const [values, setValues] = useState(NEW);
  const [asked, setAsked] = useState(false);
  const add = useChange(store, {
    failed: "The engine was not added",
    quiet: true,
    onDone: ({ slug }) => onEngine(slug),
  });
  const test = useChange(
    ({ endpoint, model, api_key_env }: Values) =>
      testEngine({ url: endpoint, model, ...(api_key_env ? { api_key_env } : {}) }),
    {
      failed: "The engine was not tested",
      quiet: true,
      onDone: ({ ok }, tested) => (ok ? add.mutateAsync(tested) : undefined),
    },
  );
  const given = trimmed(values);
  const go = (event: FormEvent) => {
    event.preventDefault();
    setAsked(true);
    if (given.endpoint !== "" && given.model !== "") test.mutate(given);
  };
  const field = (name: keyof Values) => ({
    value: values[name],
    onChange: (event: { currentTarget: { value: string } }) =>
      setValues({ ...values, [name]: event.currentTarget.value }),
    ...(asked && name !== "api_key_env" && given[name] === "" && { error: "This is needed" }),
  });
  const error = add.error ?? test.error;
  return (
    <form onSubmit={go} noValidate className="first-engine">
      <TextInput
        label="Endpoint"
        description="An OpenAI-compatible address"
        placeholder="http://127.0.0.1:11434"
        required
        {...field("endpoint")}
      />
      <TextInput label="Model" placeholder="qwen3:8b" required {...field("model")} />
      <TextInput
        label="Variable with its key"
        description="Its name in the server's environment, never the key; empty for none"
        placeholder="OPENAI_API_KEY"
        autoComplete="off"
        {...field("api_key_env")}
      />
      <div className="first-line">
        <Button type="submit" loading={test.isPending || add.isPending}>
          Test and add
        </Button>
        {test.data?.ok === false && (
          <Button variant="default" loading={add.isPending} onClick={() => add.mutate(given)}>
            Add it anyway
          </Button>
        )}
      </div>
      {test.data && <Tested tested={test.data} />}
      {add.data && (
        <p className="first-status" role="status">
          <span>The engine {add.data.slug} was added.</span>
        </p>
      )}
      {error && <p className="first-error">{errorText(error)}</p>}
    </form>
  );
}
