import {
  Alert,
  Button,
  Code,
  Group,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { SubmitResult } from "#shared/protocol/schema/queue.ts";
import type { Workload } from "#shared/protocol/schema/workload.ts";
import { useParams } from "../../lib/filters.ts";
import { call, seg } from "../../lib/http.ts";
import { errorText, useChange } from "../../lib/query.ts";
import { countText } from "../../lib/units.ts";
import { Command } from "../../parts/copy.tsx";
import { EXAMPLES } from "../workloads/examples.ts";
import { readTasks } from "./submit-tasks.ts";

/** Keys that were rejected are shown up to so many. */
const SHOWN = 20;

function Result({ result }: { result: SubmitResult }) {
  const { submitted, duplicates, pks_rejected } = result;
  const all = pks_rejected.length === 0 && duplicates === 0;
  return (
    <Alert
      color={all ? "teal" : "yellow"}
      role="status"
      title={`${countText(submitted)} submitted`}
    >
      <Text size="sm">
        {countText(duplicates)} duplicates: tasks with these keys already wait, run or have failed,
        and were left alone. {countText(pks_rejected.length)} rejected.
      </Text>
      {pks_rejected.length > 0 && (
        <Code block className="wrap" mt="xs">
          {pks_rejected.slice(0, SHOWN).join("\n")}
        </Code>
      )}
    </Alert>
  );
}

/** Tasks by hand: keys or JSON, a line each. */
export function Submit({ workload }: { workload: Workload }) {
  const params = useParams();
  const { slug, executor_type, enabled } = workload;
  const [text, setText] = useState(params.get("pk") ?? "");
  const [defaults, setDefaults] = useState({ extra: "", priority: "", run_at: "" });
  const [wrong, setWrong] = useState<string | null>(null);
  const path = `/api/v1/workloads/${seg(slug)}/tasks`;
  const submit = useChange(
    () =>
      call<SubmitResult>("POST", `${path}/batch`, { json: { items: readTasks(text, defaults) } }),
    { failed: "The tasks were not submitted", quiet: true, onDone: () => setText("") },
  );
  const send = (event: FormEvent) => {
    event.preventDefault();
    try {
      readTasks(text, defaults);
      setWrong(null);
      submit.mutate(undefined);
    } catch (err) {
      setWrong(errorText(err));
    }
  };
  const field = (name: keyof typeof defaults) => ({
    value: defaults[name],
    onChange: (event: { currentTarget: { value: string } }) =>
      setDefaults({ ...defaults, [name]: event.currentTarget.value }),
  });
  const example = EXAMPLES[executor_type].pks;
  return (
    <form onSubmit={send} noValidate>
      <Stack maw={820}>
        {!enabled && (
          <Alert color="yellow" role="note">
            The workload is off: tasks wait until it is switched on.
          </Alert>
        )}
        <Textarea
          label="Tasks"
          description='One per line: a key, or JSON such as {"pk": "a", "extra": {"n": 1}}; or a JSON list of them'
          placeholder={example.join("\n")}
          autosize
          minRows={6}
          maxRows={18}
          spellCheck={false}
          styles={{ input: { fontFamily: "var(--app-mono)" } }}
          value={text}
          error={wrong ?? (submit.error && errorText(submit.error))}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <SimpleGrid cols={{ base: 1, sm: 3 }}>
          <TextInput label="Extra of each" placeholder='{"width": 320}' {...field("extra")} />
          <TextInput
            label="Priority"
            placeholder={String(workload.priority)}
            {...field("priority")}
          />
          <TextInput label="Not before" type="datetime-local" {...field("run_at")} />
        </SimpleGrid>
        <Group>
          <Button type="submit" loading={submit.isPending}>
            Submit
          </Button>
          {text === "" && (
            <Button variant="default" onClick={() => setText(example.join("\n"))}>
              Fill in an example
            </Button>
          )}
        </Group>
        {submit.data && <Result result={submit.data} />}
        <div>
          <Text size="sm" c="dimmed" mb={4}>
            The same in a shell:
          </Text>
          <Command
            text={`curl ${location.origin}${path} -H 'content-type: application/json' -d '{"pk": "first"}'`}
          />
        </div>
      </Stack>
    </form>
  );
}
