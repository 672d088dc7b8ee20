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
import { EXECUTORS } from "#shared/protocol/executors.ts";
import type { SubmitResult } from "#shared/protocol/schema/queue.ts";
import type { Workload } from "#shared/protocol/schema/workload.ts";
import { useApiForm } from "../../forms/use-api-form.ts";
import { useParams } from "../../lib/filters.ts";
import { call, seg } from "../../lib/http.ts";
import { countText } from "../../lib/units.ts";
import { Command } from "../../parts/copy.tsx";
import { FormErrors } from "../../parts/form-errors.tsx";
import { ImportFile } from "./import/import-file.tsx";
import { readTasks, type Typed } from "./submit-tasks.ts";

/** Keys that were rejected are shown up to so many. */
const SHOWN = 20;

const EMPTY: Typed = { text: "", extra: "", priority: "", run_at: "" };

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
  const path = `/api/v1/workloads/${seg(slug)}/tasks`;
  const { form, saving, props } = useApiForm({
    initial: { ...EMPTY, text: params.get("pk") ?? "" },
    rules: {},
    bodyOf: (typed) => ({ items: readTasks(typed).value }),
    check: (typed) => readTasks(typed).faults,
    send: (json) => call("POST /api/v1/workloads/{slug}/tasks/batch", { params: { slug }, json }),
    // The API's error for one task is shown for the tasks.
    fieldAt: () => "text",
    failed: "The tasks were not submitted",
    onDone: (): void => form.setFieldValue("text", ""),
  });
  const { text } = form.values;
  const example = EXECUTORS[executor_type].pks;
  return (
    <form {...props}>
      <Stack maw={820}>
        <ImportFile slug={slug} />
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
          styles={{ input: { fontFamily: "var(--mono)" } }}
          {...form.getInputProps("text")}
        />
        <SimpleGrid cols={{ base: 1, sm: 3 }}>
          <TextInput
            label="Extra data for every task"
            placeholder='{"width": 320}'
            {...form.getInputProps("extra")}
          />
          <TextInput
            label="Priority"
            placeholder={String(workload.priority)}
            {...form.getInputProps("priority")}
          />
          <TextInput label="Not before" type="datetime-local" {...form.getInputProps("run_at")} />
        </SimpleGrid>
        <Group>
          <Button type="submit" loading={saving.isPending}>
            Submit
          </Button>
          {text === "" && (
            <Button
              variant="default"
              onClick={() => form.setFieldValue("text", example.join("\n"))}
            >
              Fill in an example
            </Button>
          )}
        </Group>
        <FormErrors error={saving.error} title="The tasks were not submitted" fields={["items"]} />
        {saving.data && <Result result={saving.data} />}
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
